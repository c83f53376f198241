"""Stored values become values of another type, by DuckDB's casts: exactly, or they are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tailpipe.lake.columns import as_stored
from tailpipe.tables.types import DataType, Scalar, arrow_type, duckdb_type, stored_type

if TYPE_CHECKING:
    import duckdb

_TEXTS = ("VARCHAR", "JSON", "UUID", "INET", "TIME", "INTERVAL")


@dataclass(frozen=True)
class Converted:
    """`values` has null where a value cannot become one of the type; `lost` counts those, `example` is one."""

    values: pa.ChunkedArray
    lost: int
    example: str | None


class Converter:
    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def convert(self, values: Any, old: DataType, new: DataType) -> Converted:
        """A value that comes out different, such as a rounded number, counts as lost."""
        self._connection.register("stored", pa.table({"v": values}))
        new_sql = _converted("v", old, new)
        lost = f"v IS NOT NULL AND (r IS NULL{_differs(old, new)})"
        rows = self._connection.sql(f"SELECT v, {new_sql} AS r FROM stored")
        told = rows.query("rows", f"SELECT count(*), any_value(v::VARCHAR) FROM rows WHERE {lost}").fetchone()
        kept = rows.query("rows", f"SELECT CASE WHEN NOT ({lost}) THEN r END AS r FROM rows").to_arrow_table()
        self._connection.unregister("stored")
        target = arrow_type(new)
        chunks = [as_stored(chunk, target) for chunk in kept.column("r").chunks]
        count, example = told or (0, None)
        return Converted(pa.chunked_array(chunks, target), count, example)


@contextmanager
def open_converter() -> Iterator[Converter]:
    import duckdb

    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield Converter(connection)


def _converted(value: str, old: DataType, new: DataType) -> str:
    if not isinstance(new, Scalar):
        source = f"TRY_CAST({value} AS JSON)" if isinstance(old, Scalar) else value
        return f"TRY_CAST({source} AS {duckdb_type(stored_type(new))})"
    if not isinstance(old, Scalar):
        text = f"CAST(to_json({value}) AS VARCHAR)"
        return text if new.name in ("VARCHAR", "JSON") else f"TRY_CAST({text} AS {duckdb_type(new)})"
    if new.name == "JSON":
        return value if old.name == "VARCHAR" else f"CAST(to_json({value}) AS VARCHAR)"
    if old.name == "JSON":
        is_text = f"json_valid({value}) AND json_type({value}) = 'VARCHAR'"
        value = f"CASE WHEN {is_text} THEN json_extract_string({value}, '$') ELSE {value} END"
    if new.name in _TEXTS:
        return _text(value, new)
    return f"TRY_CAST(TRY_CAST({value} AS {duckdb_type(new)}) AS {duckdb_type(stored_type(new))})"


def _text(value: str, new: Scalar) -> str:
    """Addresses are not looked at: that takes an extension, and they show as null where they are none."""
    text = f"CAST({value} AS VARCHAR)"
    if new.name in ("VARCHAR", "INET"):
        return text
    return f"CASE WHEN TRY_CAST({text} AS {new.name}) IS NOT NULL THEN {text} END"


def _differs(old: DataType, new: DataType) -> str:
    """Text has many spellings of a value; anything else must come back as it was."""
    if any(isinstance(type_, Scalar) and type_.name in _TEXTS for type_ in (old, new)):
        return ""
    if isinstance(old, Scalar) != isinstance(new, Scalar):
        return ""
    return f" OR TRY_CAST(r AS {duckdb_type(stored_type(old))}) IS DISTINCT FROM v"
