"""`tailpipe source`: the mechanisms that get logs, and those configured by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailpipe.cli.listing import Entry, listing_command

if TYPE_CHECKING:
    from tailpipe.cli.setup import Setup

HELP = "List and show sources: installed types and configured blocks."


def _entries(setup: Setup) -> list[Entry]:
    from tailpipe.cli.blocks import block_entry, type_entries

    entries = type_entries(setup.registry.plugins, lambda plugin: plugin.sources)
    for source in setup.config.sources.values():
        connection = f"{source.connection.type}.{source.connection.name}" if source.connection else None
        format_ = f"{source.format.type}.{source.format.name}" if source.format else None
        schema = setup.registry.source_types[source.type]
        entries.append(block_entry(source, schema, connection=connection, format=format_))
    return entries


configure, run = listing_command("source", _entries)
