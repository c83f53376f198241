"""What a table looks like when it is stored: all its columns in order, and their Arrow schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailpipe.tables.standard import TP_COLUMNS, TP_NAMES
from tailpipe.tables.table import Column, Table
from tailpipe.tables.types import arrow_type, duckdb_type

if TYPE_CHECKING:
    import pyarrow as pa


def all_columns(table: Table) -> tuple[Column, ...]:
    """The table's own columns in alphabetical order, then the tp_ columns in theirs."""
    own = sorted((column for column in table.columns if column.name not in TP_NAMES), key=lambda c: c.name)
    return (*own, *TP_COLUMNS)


def column_types(table: Table) -> dict[str, str]:
    """Every column with its DuckDB type."""
    return {column.name: duckdb_type(column.type) for column in all_columns(table)}


def json_columns(table: Table) -> frozenset[str]:
    return frozenset(name for name, type_ in column_types(table).items() if type_ == "JSON")


def table_schema(table: Table, type_key: str) -> pa.Schema:
    """The schema of the lake table; each field keeps its DuckDB type under `type_key`."""
    import pyarrow as pa

    return pa.schema(
        pa.field(column.name, arrow_type(column.type), metadata=_metadata(column, type_key))
        for column in all_columns(table)
    )


def _metadata(column: Column, type_key: str) -> dict[str, str]:
    metadata = {type_key: duckdb_type(column.type)}
    return metadata | {"comment": column.description} if column.description else metadata
