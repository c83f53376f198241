"""`tailpipe source`: the mechanisms that get logs, and those configured by name."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailpipe.cli.listing import Entry
    from tailpipe.cli.setup import Setup

HELP = "List and show sources: installed types and configured blocks."


def configure(parser: argparse.ArgumentParser) -> None:
    from tailpipe.cli.listing import add_arguments

    add_arguments(parser, "source")


def run(arguments: argparse.Namespace) -> int:
    from tailpipe.cli.listing import run_listing

    return run_listing(arguments, "source", _entries)


def _entries(setup: Setup) -> list[Entry]:
    from tailpipe.cli.blocks import block_entry, type_entries

    entries = type_entries(setup.registry.plugins, lambda plugin: plugin.sources)
    for source in setup.config.sources.values():
        connection = f"{source.connection.type}.{source.connection.name}" if source.connection else None
        format_ = f"{source.format.type}.{source.format.name}" if source.format else None
        schema = setup.registry.source_types[source.type]
        entries.append(block_entry(source, schema, connection=connection, format=format_))
    return entries
