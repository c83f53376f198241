"""Columns of a table as people read them: one line each, members of structs under their dotted names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tailpipe.tables.standard import TP_COLUMNS, TP_NAMES
from tailpipe.tables.table import Column, Table
from tailpipe.tables.types import DataType, ListOf, MapOf, Struct, duckdb_type, parse_type


@dataclass(frozen=True)
class DescribedColumn:
    """`type` is DuckDB's, but STRUCT alone where members follow. `source` is a path in the record."""

    name: str
    type: str
    source: str
    required: bool
    description: str


def described_columns(table: Table) -> list[DescribedColumn]:
    """The table's own columns, then the tp_ columns that every table has."""
    own = {column.name: column for column in table.columns}
    common = (own.get(column.name, column) for column in TP_COLUMNS)
    described = [line for name, column in own.items() if name not in TP_NAMES for line in _lines(column)]
    return described + [line for column in common for line in _lines(column, is_common=True)]


def _lines(
    column: Column, above: str = "", source_above: str = "", is_common: bool = False
) -> Iterator[DescribedColumn]:
    name = f"{above}{column.name}"
    source = "" if is_common and not column.source else f"{source_above}{column.source or column.name}"
    tree = parse_type(column.type)
    yield DescribedColumn(name, _short(tree), source, column.required, column.description)
    struct = _struct(tree)
    typed = (Column(member.name, duckdb_type(member.type)) for member in struct.members) if struct else ()
    for member in column.members or typed:
        yield from _lines(member, f"{name}.", f"{source}.")


def _struct(tree: DataType) -> Struct | None:
    match tree:
        case Struct():
            return tree
        case ListOf(element):
            return _struct(element)
        case MapOf(_, value):
            return _struct(value)
        case _:
            return None


def _short(tree: DataType) -> str:
    match tree:
        case Struct():
            return "STRUCT"
        case ListOf(element):
            return f"{_short(element)}[]"
        case MapOf(key, value):
            return f"MAP({_short(key)}, {_short(value)})"
        case _:
            return duckdb_type(tree)
