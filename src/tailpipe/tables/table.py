"""A table is data: columns with DuckDB types, where each comes from, and how the tp_ columns are filled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tailpipe.errors import Position


@dataclass(frozen=True)
class Column:
    """One column.

    `type` is DuckDB's. `source` is a dotted path into the record's fields (default: the name itself).
    `expression` is Spark SQL over the fields (built-in tables); `transform` is DuckDB SQL (users' tables).
    Values in `null_if` become null. `default` replaces null. A row with null in a `required` column is rejected.
    `timestamp_formats` are tried in order (Spark patterns) where the text is not ISO 8601.
    `members` describe a struct's fields where their names differ from the record's.
    """

    name: str
    type: str = "varchar"
    source: str | None = None
    expression: str | None = None
    transform: str | None = None
    null_if: tuple[str, ...] = ()
    default: Any = None
    required: bool = False
    description: str = ""
    timestamp_formats: tuple[str, ...] = ()
    members: tuple[Column, ...] = ()
    position: Position | None = None


@dataclass(frozen=True)
class Table:
    """`standard` maps tp_ columns to Spark SQL over the table's own columns; tp_timestamp must be among them.

    `default_format` is a (type, preset) pair. `default_layouts` maps a source type to its file_layout.
    `map_fields` lists globs of source fields that become varchar columns of their own.
    """

    name: str
    columns: tuple[Column, ...]
    standard: Mapping[str, str] = field(default_factory=dict)
    default_format: tuple[str, str] | None = None
    default_layouts: Mapping[str, str] = field(default_factory=dict)
    map_fields: tuple[str, ...] = ()
    null_if: tuple[str, ...] = ()
    description: str = ""
