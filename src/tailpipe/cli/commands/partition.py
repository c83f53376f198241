"""`tailpipe partition`: what is collected from where, and how much of it is in the lake."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from tailpipe.errors import EXIT_DONE, UsageError

if TYPE_CHECKING:
    from tailpipe.cli.listing import Entry, Facts
    from tailpipe.cli.setup import Setup
    from tailpipe.config.values import PartitionConfig, SourceConfig
    from tailpipe.lake.sizes import Contents
    from tailpipe.times import Window

HELP = "List and show partitions and what is collected of them, or delete rows."

_NOT_CONFIGURED = "(not configured)"
_BROKEN = "(configured with problems)"
_NOTHING = dict.fromkeys(("rows", "days", "first_day", "last_day", "files", "size_bytes"))
_NO_RUN = dict.fromkeys(("last_run", "last_run_failed"))


def configure(parser: argparse.ArgumentParser) -> None:
    from tailpipe.cli.asked_window import add_window
    from tailpipe.cli.listing import add_arguments

    add_arguments(parser, "partition", {"delete": "take rows of a window, or all, out of it"})
    begin = "delete rows from this time on, such as T-7d"
    add_window(parser, begin, "delete rows before this time; a date includes its day")
    parser.add_argument("--force", action="store_true", help="delete without asking")


def run(arguments: argparse.Namespace) -> int:
    from tailpipe.cli.listing import run_listing

    if arguments.action == "delete":
        return _delete(arguments)
    if arguments.start or arguments.end or arguments.force:
        raise UsageError("--from, --to and --force are for delete.", "tailpipe coverage shows days")
    return run_listing(arguments, "partition", _entries, needs_config=True)


def _entries(setup: Setup) -> list[Entry]:
    """The configured ones, then those that only the lake knows."""
    from tailpipe.cli.damage import unless_damaged
    from tailpipe.cli.partition_facts import last_endings
    from tailpipe.lake.catalog import list_tables
    from tailpipe.lake.sizes import partition_contents

    tables = list_tables(setup.lake)
    stored: dict[tuple[str, str], Contents] = {}
    endings: dict[tuple[str, str], Facts] = {}
    for table in tables:
        contents = unless_damaged(partial(partition_contents, setup.lake, table))
        stored |= {(table, name): each for name, each in contents.items()}
        last = unless_damaged(partial(last_endings, setup.lake, table))
        endings |= {(table, name): each for name, each in last.items()}
    configured = (*setup.partitions, *setup.broken_partitions)
    keys = [*configured, *(key for key in stored if key not in configured)]
    return [_entry(setup, key, stored.get(key), endings.get(key, _NO_RUN)) for key in keys]


def _entry(setup: Setup, key: tuple[str, str], contents: Contents | None, ending: Facts) -> Entry:
    from tailpipe.cli.listing import Entry

    config = setup.partitions.get(key)
    sources = [source.type for source in config.sources] if config else [_absence(setup, key)]
    collected: dict[str, Any] = asdict(contents) if contents else dict(_NOTHING)
    return Entry(
        ".".join(key),
        {"sources": sources, **collected, **ending},
        lambda: _details(setup, key, config, collected),
    )


def _details(setup: Setup, key: tuple[str, str], config: PartitionConfig | None, collected: Facts) -> Facts:
    from tailpipe.cli.partition_facts import collection_facts

    asked = _asked(setup, config) if config else {"sources": [_absence(setup, key)]}
    return {**asked, **collected, **collection_facts(setup.lake, *key, setup.now)}


def _absence(setup: Setup, key: tuple[str, str]) -> str:
    return _BROKEN if key in setup.broken_partitions else _NOT_CONFIGURED


def _asked(setup: Setup, config: PartitionConfig) -> Facts:
    return {
        "origin": str(config.position or ""),
        "description": config.description,
        "filter": config.filter,
        "tp_index": config.tp_index,
        "lookback": str(config.lookback) if config.lookback else None,
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


def _delete(arguments: argparse.Namespace) -> int:
    """Rows leave in one commit. What is left of the sources' artifacts can be collected again."""
    from tailpipe.cli.asked_window import whole_window
    from tailpipe.cli.confirmation import confirm
    from tailpipe.cli.listing import chosen
    from tailpipe.cli.setup import load_setup
    from tailpipe.cli.terminal import counted, say
    from tailpipe.lake.deletion import delete_window

    if arguments.name is None:
        raise UsageError("which partition is meant?", "tailpipe partition list names them")
    setup = load_setup(arguments, needs_config=False, writes=True)
    window = whole_window(arguments, setup.now)
    table, name = chosen(arguments.name, "partition", _entries(setup)).name.split(".", 1)
    words = _window_words(window)
    confirm(f"Delete {words} of {table}.{name}?", arguments.force)
    deleted = delete_window(setup.lake, table, name, window)
    if arguments.output == "json":
        say(json.dumps({"partition": f"{table}.{name}", **asdict(deleted)}, indent=2))
        return EXIT_DONE
    rejects = f" and {counted(deleted.rejects, 'reject')}" if deleted.rejects else ""
    say(f"{table}.{name}: {counted(deleted.rows, 'row')}{rejects} deleted ({words})")
    return EXIT_DONE


def _window_words(window: Window) -> str:
    from tailpipe.collect.windows import ALWAYS

    start = f" from {window.start:%Y-%m-%d %H:%M}" if window.start != ALWAYS.start else ""
    end = f" before {window.end:%Y-%m-%d %H:%M}" if window.end != ALWAYS.end else ""
    return f"all rows{start}{end}"
