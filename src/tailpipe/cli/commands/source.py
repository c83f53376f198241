"""`tailpipe source`: source types of plugins, and sources of the configuration."""

from __future__ import annotations

import argparse
from functools import partial

from tailpipe.cli.arguments import add_listing
from tailpipe.cli.blocks import block_entry, type_entries, used_blocks
from tailpipe.cli.listing import Entry, run_listing
from tailpipe.cli.setup import Setup

HELP = "List and show sources: installed types and configured blocks."
configure = partial(add_listing, noun="source")


def run(arguments: argparse.Namespace) -> int:
    return run_listing(arguments, "source", _sources)


def _sources(setup: Setup) -> list[Entry]:
    entries = type_entries(setup, lambda plugin: plugin.sources)
    for source in setup.config.sources.values():
        schema = setup.registry.source_types[source.type]
        entries.append(block_entry(source, schema, **used_blocks(source)))
    return entries
