"""A table is data: columns with DuckDB types, where each comes from, and how the tp_ columns are filled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tailpipe.errors import Position


@dataclass(frozen=True)
class Column:
    """One column.

    `type` is DuckDB's. `source` is a dotted path into the record's fields (default: the name itself), or with
    `is_field_name` the name of one field, dots and all.
    `expression` is Spark SQL in which `$`, unless it stands in a text, is the field at `source`, read as `read_type`
    where that is given (built-in tables); `transform` is DuckDB SQL over the record's fields (users' tables).
    Values in `null_if` become null. `default` replaces null. A row with null in a `required` column is rejected.
    `members` describe a struct's fields where their names differ from the record's.
    """

    name: str
    type: str = "varchar"
    source: str | None = None
    is_field_name: bool = False
    expression: str | None = None
    read_type: str | None = None
    transform: str | None = None
    null_if: tuple[str, ...] = ()
    default: Any = None
    required: bool = False
    description: str = ""
    members: tuple[Column, ...] = ()
    position: Position | None = None


@dataclass(frozen=True)
class Table:
    """`standard` maps tp_ columns to Spark SQL over the table's columns and its `helpers`, which are not stored.

    `timestamp_from` names the columns behind tp_timestamp, for the sentence about a row without a usable time.

    `default_format` is a (type, preset) pair. `default_layouts` maps a source type to its file_layout.
    `map_fields` lists globs of source fields that become varchar columns of their own.
    `is_custom` says that a user defined it: its columns and expressions may use any field, and the layout's captures.
    """

    name: str
    columns: tuple[Column, ...]
    standard: Mapping[str, str] = field(default_factory=dict)
    timestamp_from: tuple[str, ...] = ()
    helpers: tuple[Column, ...] = ()
    default_format: tuple[str, str] | None = None
    default_layouts: Mapping[str, str] = field(default_factory=dict)
    map_fields: tuple[str, ...] = ()
    null_if: tuple[str, ...] = ()
    description: str = ""
    is_custom: bool = False


def struct_column(name: str, *members: Column, source: str | None = None, description: str = "") -> Column:
    """A column of the struct type that its members make."""
    inside = ", ".join(f"{member.name} {member.type}" for member in members)
    return Column(name, f"struct({inside})", source=source, description=description, members=members)
