"""`tailpipe format`: format types of plugins, their presets, and formats of the configuration."""

from __future__ import annotations

import argparse
from functools import partial

from tailpipe.cli.arguments import add_listing
from tailpipe.cli.blocks import block_entry, type_entries
from tailpipe.cli.listing import Entry, run_listing
from tailpipe.cli.setup import Setup
from tailpipe.config.values import FormatConfig

HELP = "List and show formats: installed types, their presets and configured blocks."
configure = partial(add_listing, noun="format")


def run(arguments: argparse.Namespace) -> int:
    return run_listing(arguments, "format", _formats)


def _formats(setup: Setup) -> list[Entry]:
    types = setup.registry.format_types
    entries = type_entries(setup, lambda plugin: plugin.formats)
    configured = setup.config.formats
    for (type_, name), arguments in setup.registry.format_presets.items():
        if (type_, name) not in configured:
            entries.append(block_entry(FormatConfig(type_, name, arguments), types[type_], origin="preset"))
    for format_ in configured.values():
        origin = None if format_.position else "preset"
        entries.append(block_entry(format_, types[format_.type], origin=origin))
    return entries
