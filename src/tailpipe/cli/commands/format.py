"""`tailpipe format`: how bytes become fields, by type, by preset and as configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailpipe.cli.listing import Entry, listing_command

if TYPE_CHECKING:
    from tailpipe.cli.setup import Setup

HELP = "List and show formats: installed types, their presets and configured blocks."


def _entries(setup: Setup) -> list[Entry]:
    from tailpipe.cli.blocks import block_entry, type_entries
    from tailpipe.config.values import FormatConfig

    types = setup.registry.format_types
    entries = type_entries(setup.registry.plugins, lambda plugin: plugin.formats)
    configured = setup.config.formats
    for (type_, name), arguments in setup.registry.format_presets.items():
        if (type_, name) not in configured:
            entries.append(block_entry(FormatConfig(type_, name, arguments), types[type_], origin="preset"))
    for format_ in configured.values():
        origin = None if format_.position else "preset"
        entries.append(block_entry(format_, types[format_.type], origin=origin))
    return entries


configure, run = listing_command("format", _entries)
