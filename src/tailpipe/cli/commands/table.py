"""`tailpipe table`: which tables there are, their columns, and how much of them is collected."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace

from tailpipe.cli.arguments import add_listing
from tailpipe.cli.listing import Entry, Facts, chosen_name, run_listing, unless_damaged
from tailpipe.cli.setup import Setup, load_setup
from tailpipe.cli.terminal import confirm, counted, say, size
from tailpipe.errors import EXIT_DONE, UsageError
from tailpipe.lake.catalog import list_tables, stored_columns
from tailpipe.lake.sizes import Contents, partition_contents
from tailpipe.lake.table_deletion import delete_table
from tailpipe.tables.describe import described_columns
from tailpipe.tables.standard import TP_NAMES
from tailpipe.tables.stored_schema import table_schema
from tailpipe.tables.table import Column, Table

HELP = "List and show tables, delete one, or rewrite what is stored of it to the types that are declared now."


def configure(parser: argparse.ArgumentParser) -> None:
    more = {"delete": "remove it and all its rows", "rewrite": "convert what is stored to the declared types"}
    add_listing(parser, "table", more)
    add = parser.add_argument
    add("--nulls", action="store_true", help="rewrite: null in place of values that cannot be converted")
    add("--force", action="store_true", help="delete, or rewrite with --nulls, without asking")


def run(arguments: argparse.Namespace) -> int:
    if arguments.action in ("delete", "rewrite"):
        if arguments.name is None:
            raise UsageError("which table is meant?", "tailpipe table list names them")
        return _delete(arguments) if arguments.action == "delete" else _rewrite(arguments)
    if arguments.nulls or arguments.force:
        raise UsageError("--nulls is for rewrite, --force for delete and rewrite.")
    return run_listing(arguments, "table", _entries)


def _delete(arguments: argparse.Namespace) -> int:
    """Needs no configuration of the table: it may be gone, or be the reason to delete."""
    setup = load_setup(arguments, needs_config=False)
    name = chosen_name(arguments.name, "collected table", list_tables(setup.lake))
    contents = unless_damaged(lambda: partition_contents(setup.lake, name))
    rows, size_bytes = (value or 0 for value in _totals(contents).values())
    what = f"{counted(len(contents), 'partition')}, {counted(rows, 'row')}, {size(size_bytes)}"
    confirm(f"Delete table {name} ({what})?", arguments.force)
    delete_table(setup.lake, name)
    if arguments.output == "json":
        facts = {"table": name, "partitions": len(contents), "rows": rows, "size_bytes": size_bytes}
        say(json.dumps(facts, indent=2))
        return EXIT_DONE
    say(f"{name}: deleted ({what})")
    return EXIT_DONE


def _rewrite(arguments: argparse.Namespace) -> int:
    from tailpipe.lake.log import TYPE_KEY, TableLog

    setup = load_setup(arguments)
    stored = [name for name in list_tables(setup.lake) if name in setup.tables]
    name = chosen_name(arguments.name, "collected and configured table", stored)
    if arguments.nulls:
        confirm(f"Store null in place of values of {name} that cannot be converted?", arguments.force)
    schema = table_schema(setup.tables[name], TYPE_KEY)
    done = TableLog(setup.lake.table(name), schema).rewrite(may_lose=arguments.nulls)
    lost = [str(each) for each in done.lost.values()]
    if arguments.output == "json":
        facts = {"table": name, "rows": done.rows, "files": len(done.added), "lost": lost}
        say(json.dumps(facts, indent=2))
        return EXIT_DONE
    for each in lost:
        say(f"{name}: {each}; null is stored")
    files = counted(len(done.added), "file")
    say(
        f"{name}: {counted(done.rows, 'row')} rewritten in {files}"
        if done.added
        else f"{name}: nothing to rewrite"
    )
    return EXIT_DONE


def _entries(setup: Setup) -> list[Entry]:
    """Known tables, and those that only the lake has, because their block or plugin is gone."""
    found = [(t.name, f"plugin {p.name}", t) for p in setup.registry.plugins for t in p.tables]
    found += [
        (name, str(table.position or ""), setup.tables[name])
        for name, table in setup.config.tables.items()
        if name in setup.tables
    ]
    known = {name for name, _, _ in found}
    found += [
        (name, "collected earlier", Table(name, columns=()))
        for name in list_tables(setup.lake)
        if name not in known
    ]
    return [_entry(setup, table, origin) for _, origin, table in sorted(found, key=lambda each: each[:2])]


def _entry(setup: Setup, table: Table, origin: str) -> Entry:
    name = table.name
    contents = unless_damaged(lambda: partition_contents(setup.lake, name))
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
    default = table.default_format
    stored = tuple(stored_columns(setup.lake.table(table.name)).items())
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
