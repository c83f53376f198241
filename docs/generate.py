"""Writes the generated part of the reference: `python docs/generate.py`. A test compares the result."""

from __future__ import annotations

from pathlib import Path

from tailpipe.plugins.contract import Plugin
from tailpipe.plugins.registry import load_registry
from tailpipe.tables.describe import DescribedColumn, described_columns
from tailpipe.tables.standard import TP_NAMES
from tailpipe.tables.table import Table

REFERENCE = Path(__file__).parent / "reference"

_INTRODUCTION = """# Tables

This page is generated from the declarations of the tables by `docs/generate.py`.

Every table has its own columns and, after them, the [common columns](#common-columns). "From" is the field of
the log record that a column is read from; a member of a struct is written with dots, as in SQL. Types are
[DuckDB's](types.md).

A table of your own needs no code: see [custom tables](../guides/custom-tables.md).
"""


def tables_page() -> str:
    plugins = sorted(load_registry().plugins, key=lambda plugin: plugin.name)
    tables = [(table, plugin) for plugin in plugins for table in plugin.tables]
    contents = "\n".join(f"- [{table.name}](#{table.name}): {table.description}" for table, _ in tables)
    sections = [_table_section(table, plugin) for table, plugin in tables]
    return "\n".join([_INTRODUCTION, contents, "", *sections, _common_section()])


def _table_section(table: Table, plugin: Plugin) -> str:
    facts = [f"{table.description} From plugin `{plugin.name}`."]
    if table.default_format:
        facts.append(f"Default format: `format.{'.'.join(table.default_format)}`.")
    facts += [f"Layout in source `{name}`: `{layout}`" for name, layout in table.default_layouts.items()]
    own = [column for column in described_columns(table) if column.name not in TP_NAMES]
    lines = ["| column | type | from | |", "|---|---|---|---|", *map(_own_line, own)]
    return "\n".join([f"## {table.name}", "", "\n\n".join(facts), "", *lines, ""])


def _own_line(column: DescribedColumn) -> str:
    words = [column.description, "Required." if column.required else ""]
    told = " ".join(word for word in words if word)
    return f"| `{column.name}` | {column.type} | `{column.source}` | {told} |"


def _common_section() -> str:
    common = described_columns(Table("", columns=()))
    lines = [f"| `{column.name}` | {column.type} | {column.description} |" for column in common]
    return "\n".join(["## Common columns", "", "| column | type | |", "|---|---|---|", *lines, ""])


if __name__ == "__main__":
    (REFERENCE / "tables.md").write_text(tables_page(), encoding="utf-8")
