"""A column's value as Spark SQL over the record, and what is said when the value is bad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailpipe.tables.fields import Shape, field_sql, source_path
from tailpipe.tables.reading import scalar_from_text
from tailpipe.tables.sql import literal, quoted, with_value
from tailpipe.tables.table import Column
from tailpipe.tables.types import DataType, ListOf, MapOf, Scalar, Struct, duckdb_type, parse_type, spark_type

_SHOWN_CHARACTERS = 200


@dataclass(frozen=True)
class ColumnValue:
    """`reasons` are Spark SQL texts, null unless the value is bad."""

    sql: str
    reasons: tuple[str, ...] = ()


def column_value(column: Column, shape: Shape, null_if: Sequence[str] = ()) -> ColumnValue:
    """How a column without an expression of its own is read. `null_if` holds for the whole table."""
    return _read(column, source_path(column), shape, tuple(null_if), column.name)


def _read(column: Column, path: list[str], shape: Shape, null_if: tuple[str, ...], label: str) -> ColumnValue:
    if column.expression:
        return ColumnValue(with_value(column.expression, field_sql(shape, path)))
    if column.members:
        return _read_struct(column, path, shape, null_if, label)
    type_ = parse_type(column.type)
    text = field_sql(shape, path)
    if not isinstance(type_, Scalar):
        return ColumnValue(_typed_items(text, type_), _item_reasons(label, text, type_))
    text = _nulled(text, (*null_if, *column.null_if))
    if type_.name == "JSON" and len(path) == 1:
        return ColumnValue(text)  # the writer makes sure of it, without a copy
    value = scalar(text, type_)
    reasons = () if value == text or type_.name == "JSON" else (bad_value_reason(label, text, value, type_),)
    if column.default is not None:
        value = f"coalesce({value}, {literal(column.default)})"
        if len(path) > 1:
            value = f"CASE WHEN {field_sql(shape, path[:-1])} IS NOT NULL THEN {value} END"
    return ColumnValue(value, reasons)


def _read_struct(
    column: Column, path: list[str], shape: Shape, null_if: tuple[str, ...], label: str
) -> ColumnValue:
    parts: list[str] = []
    reasons: list[str] = []
    for member in column.members:
        value = _read(member, [*path, *source_path(member)], shape, null_if, f"{label}.{member.name}")
        parts.append(f"{literal(member.name)}, {value.sql}")
        reasons += value.reasons
    # A struct of nothing but nulls is stored as null; saying so here would copy every member.
    return ColumnValue(f"named_struct({', '.join(parts)})", tuple(reasons))


def scalar(text: str, type_: Scalar) -> str:
    if type_.name == "JSON":
        return _json_text(text)
    return scalar_from_text(text, type_)


def bad_value_reason(label: str, text: str, value: str, type_: DataType) -> str:
    """Null, or a sentence: the text is there but is no value of the type."""
    shown = f"left({text}, {_SHOWN_CHARACTERS})"
    message = f"concat({literal(label + ' ')}, '\"', {shown}, '\" is not a valid {duckdb_type(type_)}')"
    return f"CASE WHEN {text} IS NOT NULL AND {value} IS NULL THEN {message} END"


def _nulled(text: str, tokens: Sequence[str]) -> str:
    if not tokens:
        return text
    if len(tokens) == 1:
        return f"nullif({text}, {literal(tokens[0])})"
    return f"CASE WHEN {text} NOT IN ({', '.join(map(literal, tokens))}) THEN {text} END"


def _json_text(text: str) -> str:
    """Strings come out of a record without their quotes and get them back, even if they look like JSON."""
    is_scalar = f"{text} RLIKE r'^(-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?|true|false)$'"
    # Almost all values start and end like this; only the others pay for a second look.
    usual = " OR ".join(
        f"(startswith({text}, '{start}') AND endswith({text}, '{end}'))"
        for start, end in (('{"', "}"), ("[{", "}]"), ('["', '"]'))
    )
    opening = "'{', '[', '\"'"
    is_json = f"left({text}, 1) IN ({opening}) AND get_json_object(concat('[', {text}, ']'), '$') IS NOT NULL"
    wrapped = f"to_json(named_struct('v', {text}))"
    quoted = f"substring({wrapped}, 6, length({wrapped}) - 6)"
    return (
        f"CASE WHEN {text} IS NULL OR {usual} OR {text} IN ('{{}}', '[]') THEN {text} "
        f"WHEN {is_scalar} OR ({is_json}) THEN {text} ELSE {quoted} END"
    )


def _typed_items(sql: str, type_: DataType) -> str:
    """Items were read as text; the ones of other types are converted where they stand."""
    match type_:
        case Scalar("VARCHAR", word=""):
            return sql
        case Scalar():
            return scalar(sql, type_)
        case ListOf(element):
            inner = _typed_items("item", element)
            return sql if inner == "item" else f"transform({sql}, item -> {inner})"
        case MapOf(_, value):
            inner = _typed_items("item", value)
            items = f"transform(map_values({sql}), item -> {inner})"
            return sql if inner == "item" else f"map_from_arrays(map_keys({sql}), {items})"
        case Struct(members):
            parts = (f"{literal(m.name)}, {_typed_items(f'{sql}.{quoted(m.name)}', m.type)}" for m in members)
            struct = f"CAST(named_struct({', '.join(parts)}) AS {spark_type(type_)})"
            return f"CASE WHEN {sql} IS NOT NULL THEN {struct} END"


def _item_reasons(label: str, sql: str, type_: DataType) -> tuple[str, ...]:
    """Members of structs are told one by one, items of lists and maps together."""
    match type_:
        case Scalar():
            value = _typed_items(sql, type_)
            return (
                () if value == sql or type_.name == "JSON" else (bad_value_reason(label, sql, value, type_),)
            )
        case Struct(members):
            inner = (_item_reasons(f"{label}.{m.name}", f"{sql}.{quoted(m.name)}", m.type) for m in members)
            return tuple(each for reasons in inner for each in reasons)
        case _:
            is_bad = _has_bad_item(sql, type_)
            message = literal(f"{label} is not a valid {duckdb_type(type_)}")
            return (f"CASE WHEN {is_bad} THEN {message} END",) if is_bad else ()


def _has_bad_item(sql: str, type_: DataType) -> str | None:
    """A condition, or None where every text is good."""
    match type_:
        case ListOf(element):
            inner = _has_bad_item("item", element)
            return f"exists({sql}, item -> {inner})" if inner else None
        case MapOf(_, value):
            inner = _has_bad_item("item", value)
            return f"exists(map_values({sql}), item -> {inner})" if inner else None
        case Struct(members):
            conditions = [_has_bad_item(f"{sql}.{quoted(m.name)}", m.type) for m in members]
            return " OR ".join(f"({condition})" for condition in conditions if condition) or None
        case Scalar():
            read = _typed_items(sql, type_)
            return None if read == sql or type_.name == "JSON" else f"{sql} IS NOT NULL AND {read} IS NULL"
