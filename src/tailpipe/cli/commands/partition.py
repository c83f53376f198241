"""`tailpipe partition`: what is collected from where, and how much of it is in the lake."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailpipe.cli.listing import Entry, Facts
    from tailpipe.cli.setup import Setup
    from tailpipe.config.values import PartitionConfig, SourceConfig
    from tailpipe.lake.contents import Contents

HELP = "List and show partitions, and what is collected of them."

_NOT_CONFIGURED = "(not configured)"
_NOTHING = dict.fromkeys(("rows", "days", "first_day", "last_day", "files", "size_bytes"))


def configure(parser: argparse.ArgumentParser) -> None:
    from tailpipe.cli.listing import add_arguments

    add_arguments(parser, "partition")


def run(arguments: argparse.Namespace) -> int:
    from tailpipe.cli.listing import run_listing

    return run_listing(arguments, "partition", _entries, needs_config=True)


def _entries(setup: Setup) -> list[Entry]:
    """The configured ones, then those that only the lake knows."""
    from tailpipe.lake.catalog import list_tables
    from tailpipe.lake.contents import partition_contents

    tables = list_tables(setup.data_dir)
    stored = {
        (table, name): contents
        for table in tables
        for name, contents in partition_contents(setup.data_dir, table).items()
    }
    keys = [*setup.partitions, *(key for key in stored if key not in setup.partitions)]
    return [_entry(setup, key, stored.get(key)) for key in keys]


def _entry(setup: Setup, key: tuple[str, str], contents: Contents | None) -> Entry:
    from tailpipe.cli.listing import Entry

    config = setup.partitions.get(key)
    sources = [source.type for source in config.sources] if config else [_NOT_CONFIGURED]
    collected: dict[str, Any] = asdict(contents) if contents else dict(_NOTHING)
    return Entry(
        ".".join(key), {"sources": sources, **collected}, lambda: _details(setup, key, config, collected)
    )


def _details(setup: Setup, key: tuple[str, str], config: PartitionConfig | None, collected: Facts) -> Facts:
    from tailpipe.lake.contents import partition_history

    history = partition_history(setup.data_dir, *key)
    asked = _asked(setup, config) if config else {"sources": [_NOT_CONFIGURED]}
    return {**asked, **collected, **(asdict(history) if history else {})}


def _asked(setup: Setup, config: PartitionConfig) -> Facts:
    return {
        "origin": str(config.position or ""),
        "description": config.description,
        "filter": config.filter,
        "tp_index": config.tp_index,
        "lookback": config.lookback,
        "sources": [_source(setup, source) for source in config.sources],
    }


def _source(setup: Setup, source: SourceConfig) -> Facts:
    from tailpipe.cli.blocks import shown_arguments

    return {
        "name": source.name,
        "type": source.type,
        "connection": f"{source.connection.type}.{source.connection.name}" if source.connection else None,
        "format": f"{source.format.type}.{source.format.name}" if source.format else None,
        "arguments": shown_arguments(source.arguments, setup.registry.source_types[source.type]),
    }
