"""`tailpipe plugin`: installed plugins and what they bring."""

from __future__ import annotations

import argparse
from functools import partial

from tailpipe.cli.arguments import add_listing
from tailpipe.cli.listing import Entry, run_listing
from tailpipe.cli.setup import Setup
from tailpipe.plugins.contract import Plugin
from tailpipe.plugins.registry import packages

HELP = "List and show installed plugins."
configure = partial(add_listing, noun="plugin")


def run(arguments: argparse.Namespace) -> int:
    return run_listing(arguments, "plugin", _plugins)


def _plugins(setup: Setup) -> list[Entry]:
    package_of = packages()
    return [_plugin_entry(plugin, package_of.get(plugin.name)) for plugin in setup.registry.plugins]


def _plugin_entry(plugin: Plugin, package: str | None) -> Entry:
    names = {
        "tables": [table.name for table in plugin.tables],
        "sources": [source.name for source in plugin.sources],
        "formats": [format_.name for format_ in plugin.formats],
        "connections": [connection.name for connection in plugin.connections],
    }
    counts = {kind: len(offered) for kind, offered in names.items()}
    return Entry(plugin.name, {"package": package, **counts}, lambda: {"package": package, **names})
