"""`tailpipe connection`: connection types of plugins, and connections of the configuration."""

from __future__ import annotations

import argparse
from functools import partial

from tailpipe.cli.arguments import add_listing
from tailpipe.cli.blocks import block_entry, type_entries
from tailpipe.cli.listing import Entry, run_listing
from tailpipe.cli.setup import Setup

HELP = "List and show connections: installed types and configured blocks."
configure = partial(add_listing, noun="connection")


def run(arguments: argparse.Namespace) -> int:
    return run_listing(arguments, "connection", _connections)


def _connections(setup: Setup) -> list[Entry]:
    entries = type_entries(setup, lambda plugin: plugin.connections)
    for connection in setup.config.connections.values():
        origin = None if connection.position else "default"
        schema = setup.registry.connection_types[connection.type]
        entries.append(block_entry(connection, schema, origin=origin))
    return entries
