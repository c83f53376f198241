"""Values as text, made by DuckDB itself: SQL expressions per column type.

Python never sees the values, so nothing is lost on the way (nanoseconds, 128-bit integers, months of an
interval), and a row costs little more than its text.
"""

from __future__ import annotations

from duckdb.sqltypes import DuckDBPyType

from tailpipe.query.connection import quote_name, quote_text

SIGNED = frozenset(("tinyint", "smallint", "integer", "bigint", "hugeint", "bignum"))
UNSIGNED = frozenset(("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"))
FLOATS = frozenset(("float", "double"))
NUMBERS = SIGNED | UNSIGNED | FLOATS | {"decimal"}
_NESTED = frozenset(("struct", "list", "array", "map", "union"))


def is_number(type_: DuckDBPyType) -> bool:
    return _kind(type_) in NUMBERS


def text_cell(value: str, type_: DuckDBPyType) -> str:
    """For people and CSV: nested values are JSON, binary is base64, all else as DuckDB writes it."""
    kind = _kind(type_)
    if kind in _NESTED:
        return f"CAST(to_json({_json_value(value, type_)}) AS VARCHAR)"
    return f"base64({value})" if kind == "blob" else f"CAST({value} AS VARCHAR)"


def json_cell(value: str, type_: DuckDBPyType) -> str:
    """One line of JSON text; SQL null where JSON has nothing to say (null, NaN, infinity)."""
    kind = _kind(type_)
    if kind in FLOATS:
        return f"CASE WHEN isfinite({value}) THEN CAST({value} AS VARCHAR) END"
    if kind in NUMBERS or kind == "boolean":
        return f"CAST({value} AS VARCHAR)"
    if kind == "json":
        return f"translate(CAST({value} AS VARCHAR), chr(10) || chr(13), '  ')"
    if kind in _NESTED:
        return f"CAST(to_json({_json_value(value, type_)}) AS VARCHAR)"
    if kind == "variant":
        return f"CAST(CAST({value} AS JSON) AS VARCHAR)"
    return f"CAST(to_json(CAST({_json_value(value, type_)} AS VARCHAR)) AS VARCHAR)"


def _kind(type_: DuckDBPyType) -> str:
    """JSON and INET are DuckDB's own types under another name: only their spelling tells them apart."""
    spelled = str(type_).lower()
    return spelled if spelled in ("json", "inet") else type_.id


def _json_value(value: str, type_: DuckDBPyType, depth: int = 0) -> str:
    """The value with everything inside that `to_json` would write differently from `json_cell` replaced."""
    kind = _kind(type_)
    if kind in FLOATS:
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if kind.startswith("timestamp"):
        return _iso_timestamp(value, kind)
    if kind == "blob":
        return f"base64({value})"
    if kind == "inet":
        return f"CAST({value} AS VARCHAR)"
    if kind in ("list", "array"):
        return _json_list(value, _children(type_)["child"], depth)
    if kind == "map":
        return _json_map(value, _children(type_)["value"], depth)
    if kind == "struct":
        return _json_struct(value, _children(type_), depth)
    return value


def _iso_timestamp(value: str, kind: str) -> str:
    moment = f"({value} AT TIME ZONE 'UTC')" if kind == "timestamp with time zone" else value
    text = f"CAST({moment} AS VARCHAR)"
    return f"CASE WHEN isfinite({value}) THEN replace({text}, ' ', 'T') || 'Z' ELSE {text} END"


def _json_list(value: str, element: DuckDBPyType, depth: int) -> str:
    name = f"element_{depth}"
    inside = _json_value(name, element, depth + 1)
    return value if inside == name else f"list_transform({value}, lambda {name}: {inside})"


def _json_map(value: str, element: DuckDBPyType, depth: int) -> str:
    values = f"map_values({value})"
    inside = _json_list(values, element, depth)
    if inside == values:
        return value
    return f"CASE WHEN {value} IS NOT NULL THEN map(map_keys({value}), {inside}) END"


def _json_struct(value: str, members: dict[str, DuckDBPyType], depth: int) -> str:
    if "" in members:
        return value
    plain = {name: f"struct_extract({value}, {quote_text(name)})" for name in members}
    inside = {name: _json_value(plain[name], members[name], depth) for name in members}
    if inside == plain:
        return value
    packed = ", ".join(f"{quote_name(name)} := {expression}" for name, expression in inside.items())
    return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({packed}) END"


def _children(type_: DuckDBPyType) -> dict[str, DuckDBPyType]:
    return {name: child for name, child in type_.children if isinstance(child, DuckDBPyType)}
