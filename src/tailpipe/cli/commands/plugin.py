"""`tailpipe plugin`: what is installed, and what each plugin brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailpipe.cli.listing import Entry, listing_command

if TYPE_CHECKING:
    from tailpipe.cli.setup import Setup
    from tailpipe.plugins.contract import Plugin

HELP = "List and show installed plugins."


def _entries(setup: Setup) -> list[Entry]:
    from tailpipe.plugins.registry import packages

    package_of = packages()
    return [_entry(plugin, package_of.get(plugin.name)) for plugin in setup.registry.plugins]


def _entry(plugin: Plugin, package: str | None) -> Entry:
    names = {
        "tables": [table.name for table in plugin.tables],
        "sources": [source.name for source in plugin.sources],
        "formats": [format_.name for format_ in plugin.formats],
        "connections": [connection.name for connection in plugin.connections],
    }
    counts = {kind: len(offered) for kind, offered in names.items()}
    return Entry(plugin.name, {"package": package, **counts}, lambda: {"package": package, **names})


configure, run = listing_command("plugin", _entries)
