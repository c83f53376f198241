"""`tailpipe format`: how bytes become fields, by type, by preset and as configured."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailpipe.cli.listing import Entry
    from tailpipe.cli.setup import Setup

HELP = "List and show formats: installed types, their presets and configured blocks."


def configure(parser: argparse.ArgumentParser) -> None:
    from tailpipe.cli.listing import add_arguments

    add_arguments(parser, "format")


def run(arguments: argparse.Namespace) -> int:
    from tailpipe.cli.listing import run_listing

    return run_listing(arguments, "format", _entries)


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
