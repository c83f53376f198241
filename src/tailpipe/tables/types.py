"""What a column's type is in DuckDB, in Spark and in stored files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tailpipe.tables.type_text import (
    SPARK_SCALARS,
    DataType,
    ListOf,
    MapOf,
    Member,
    Scalar,
    Struct,
    parse_type,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DataType",
    "ListOf",
    "MapOf",
    "Member",
    "Scalar",
    "Struct",
    "arrow_type",
    "duckdb_type",
    "parse_type",
    "spark_type",
    "stored_type",
]


# Arrow's names of stored types, where they are others.
_ARROW_SCALARS = {
    "BIGINT": "int64",
    "BLOB": "binary",
    "BOOLEAN": "bool",
    "DATE": "date32",
    "INTEGER": "int32",
    "SMALLINT": "int16",
    "TIMESTAMP": "timestamp[us]",
    "TINYINT": "int8",
    "VARCHAR": "string",
}


def duckdb_type(type_: DataType | str) -> str:
    """DuckDB's own spelling: `STRUCT(a VARCHAR, b BIGINT[])`."""
    match _tree(type_):
        case Scalar("DECIMAL", precision, scale):
            return f"DECIMAL({precision},{scale})"
        case Scalar(name):
            return name
        case ListOf(element):
            return f"{duckdb_type(element)}[]"
        case MapOf(key, value):
            return f"MAP({duckdb_type(key)}, {duckdb_type(value)})"
        case Struct(members):
            inside = (f"{_duckdb_name(member.name)} {duckdb_type(member.type)}" for member in members)
            return f"STRUCT({', '.join(inside)})"


def stored_type(type_: DataType) -> DataType:
    """The DuckDB type of the column in stored files."""
    match type_:
        case Scalar("DECIMAL" | "TIMESTAMPTZ" | "VARCHAR"):
            return type_
        case Scalar(name):
            return parse_type(SPARK_SCALARS[name])
        case ListOf(element):
            return ListOf(stored_type(element))
        case MapOf(key, value):
            return MapOf(key, stored_type(value))
        case Struct(members):
            return Struct(tuple(Member(member.name, stored_type(member.type)) for member in members))


def spark_type(type_: DataType | str) -> str:
    """Spark's DDL: `struct<a:string,b:array<bigint>>`. What Spark lacks is text, or a wider number."""
    match _tree(type_):
        case Scalar("DECIMAL", precision, scale):
            return f"decimal({precision},{scale})"
        case Scalar(name):
            return SPARK_SCALARS[name]
        case ListOf(element):
            return f"array<{spark_type(element)}>"
        case MapOf(key, value):
            return f"map<{spark_type(key)},{spark_type(value)}>"
        case Struct(members):
            inside = (f"{_spark_name(member.name)}:{spark_type(member.type)}" for member in members)
            return f"struct<{','.join(inside)}>"


def arrow_type(type_: DataType | str) -> pa.DataType:
    """The type in stored files, one that Delta knows: a timestamp has no zone (it is UTC), JSON is text."""
    import pyarrow as pa

    match stored_type(_tree(type_)):
        case Scalar("DECIMAL", precision, scale):
            return pa.decimal128(precision, scale)
        case Scalar("TIMESTAMPTZ"):
            return pa.timestamp("us", tz="UTC")
        case Scalar(name):
            return pa.type_for_alias(_ARROW_SCALARS.get(name, name.lower()))
        case ListOf(element):
            return pa.list_(arrow_type(element))
        case MapOf(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case Struct(members):
            return pa.struct([pa.field(member.name, arrow_type(member.type)) for member in members])


def _tree(type_: DataType | str) -> DataType:
    return parse_type(type_) if isinstance(type_, str) else type_


def _duckdb_name(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'


def _spark_name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else "`" + name.replace("`", "``") + "`"
