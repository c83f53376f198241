"""`tailpipe connection`: how services are reached; secrets are never printed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailpipe.cli.listing import Entry
    from tailpipe.cli.setup import Setup

HELP = "List and show connections: installed types and configured blocks."


def configure(parser: argparse.ArgumentParser) -> None:
    from tailpipe.cli.listing import add_arguments

    add_arguments(parser, "connection")


def run(arguments: argparse.Namespace) -> int:
    from tailpipe.cli.listing import run_listing

    return run_listing(arguments, "connection", _entries)


def _entries(setup: Setup) -> list[Entry]:
    from tailpipe.cli.blocks import block_entry, type_entries

    entries = type_entries(setup.registry.plugins, lambda plugin: plugin.connections)
    for connection in setup.config.connections.values():
        origin = None if connection.position else "default"
        schema = setup.registry.connection_types[connection.type]
        entries.append(block_entry(connection, schema, origin=origin))
    return entries
