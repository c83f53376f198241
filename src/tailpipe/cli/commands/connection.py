"""`tailpipe connection`: how services are reached; secrets are never printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailpipe.cli.listing import Entry, listing_command

if TYPE_CHECKING:
    from tailpipe.cli.setup import Setup

HELP = "List and show connections: installed types and configured blocks."


def _entries(setup: Setup) -> list[Entry]:
    from tailpipe.cli.blocks import block_entry, type_entries

    entries = type_entries(setup.registry.plugins, lambda plugin: plugin.connections)
    for connection in setup.config.connections.values():
        origin = None if connection.position else "default"
        schema = setup.registry.connection_types[connection.type]
        entries.append(block_entry(connection, schema, origin=origin))
    return entries


configure, run = listing_command("connection", _entries)
