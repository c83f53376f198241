"""`tailpipe table`: which tables there are, their columns, and how much of them is collected."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tailpipe.tables.standard import TP_NAMES
from tailpipe.tables.table import Column, Table

if TYPE_CHECKING:
    from tailpipe.cli.listing import Entry, Facts
    from tailpipe.cli.setup import Setup
    from tailpipe.lake.contents import Contents

HELP = "List and show tables: those of plugins and those of the configuration."


def configure(parser: argparse.ArgumentParser) -> None:
    from tailpipe.cli.listing import add_arguments

    add_arguments(parser, "table")


def run(arguments: argparse.Namespace) -> int:
    from tailpipe.cli.listing import run_listing

    return run_listing(arguments, "table", _entries)


def _entries(setup: Setup) -> list[Entry]:
    """Known tables, and those that only the lake has, because their block or plugin is gone."""
    from tailpipe.lake.catalog import list_tables

    found = [(t.name, f"plugin {p.name}", t) for p in setup.registry.plugins for t in p.tables]
    found += [
        (name, str(table.position or ""), setup.tables[name])
        for name, table in setup.config.tables.items()
        if name in setup.tables
    ]
    known = {name for name, _, _ in found}
    found += [
        (name, "collected earlier", Table(name, columns=()))
        for name in list_tables(setup.data_dir)
        if name not in known
    ]
    return [_entry(setup, table, origin) for _, origin, table in sorted(found, key=lambda each: each[:2])]


def _entry(setup: Setup, table: Table, origin: str) -> Entry:
    from tailpipe.cli.listing import Entry
    from tailpipe.lake.contents import partition_contents

    name = table.name
    contents = partition_contents(setup.data_dir, name)
    configured = (partition.name for partition in setup.partitions.values() if partition.table == name)
    partitions = list(dict.fromkeys([*configured, *contents]))
    totals = {"origin": origin, "partitions": len(partitions), **_totals(contents)}
    summary = {**totals, "description": table.description}
    return Entry(name, summary, lambda: {**summary, "partitions": partitions, **_details(setup, table)})


def _totals(contents: dict[str, Contents]) -> dict[str, int | None]:
    parts = contents.values()
    return {
        "rows": sum(part.rows for part in parts) if parts else None,
        "size_bytes": sum(part.size_bytes for part in parts) if parts else None,
    }


def _details(setup: Setup, table: Table) -> Facts:
    from tailpipe.lake.catalog import stored_columns
    from tailpipe.tables.describe import described_columns

    default = table.default_format
    stored = stored_columns(setup.data_dir, table.name) or ()
    columns = described_columns(with_stored_columns(table, stored))
    return {
        "format": f"{default[0]}.{default[1]}" if default else None,
        "columns": [vars(column) for column in columns],
    }


def with_stored_columns(table: Table, stored: Sequence[tuple[str, str]]) -> Table:
    """Columns in the lake that no declaration names: fields taken by map_fields, or declared earlier."""
    declared = {column.name for column in table.columns} | TP_NAMES
    more = tuple(Column(name, type_) for name, type_ in stored if name not in declared)
    return replace(table, columns=table.columns + more)
