"""DuckDB's own judgement of an expression: is it valid, which types it has, what a constant is worth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import duckdb
from sqlglot import exp

from tailpipe.errors import ConfigError
from tailpipe.tables.expressions.parse import ExpressionError, duckdb_text
from tailpipe.tables.types import DataType, Scalar, duckdb_type, parse_type

ROW = '"tailpipe row"'
VOLATILE = frozenset({"now", "current_timestamp", "get_current_timestamp", "today", "current_date"})
ARROWS = (exp.JSONExtract, exp.JSONExtractScalar)
WRITTEN_ANEW = (exp.Interval, exp.Extract, exp.StrPosition)
UNTYPED = (exp.DataType, exp.Identifier, exp.Var, exp.Interval, exp.PropertyEQ, exp.Any)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})


class Binder:
    """A private in-memory DuckDB that knows the row's columns and holds one row of nulls."""

    def __init__(self, columns: Mapping[str, DataType]) -> None:
        self._connection = _database().cursor()
        self._connection.execute("SET TimeZone = 'UTC'")
        if columns:
            listing = ", ".join(f"{quoted(name)} {_bindable(type_)}" for name, type_ in columns.items())
            self._connection.execute(f"CREATE TEMP TABLE {ROW} ({listing})")
            nulls = ", ".join("NULL" for _ in columns)
            self._connection.execute(f"INSERT INTO {ROW} VALUES ({nulls})")
        self._from = f" FROM {ROW}" if columns else ""

    def close(self) -> None:
        self._connection.close()

    def types(self, text: str, tree: exp.Expr) -> dict[int, DataType | None]:
        """The type of each part by `id`; None is a bare NULL. Raises ExpressionError where DuckDB refuses."""
        self._describe([text])
        # On a row of nulls only constants can be wrong: a time that is none, a pattern with an error.
        self._run(f"SELECT ({text}\n){self._from}")
        self._check_same_reading(text, tree)
        nodes = [node for node in tree.walk() if _has_type(node)]
        found = self._describe([duckdb_text(node) for node in nodes])
        return {id(node): type_ for node, type_ in zip(nodes, found, strict=True)}

    def value(self, node: exp.Expr) -> str | None:
        """The text of a constant part's value, as DuckDB computes and writes it."""
        rows = self._run(f"SELECT CAST(({duckdb_text(node)}) AS VARCHAR)")
        text = rows[0][0]
        return None if text is None else str(text)

    def interval(self, node: exp.Expr) -> tuple[int, int, int]:
        """Months, days and microseconds of a constant interval."""
        clock = "datepart('hour', i) * 3600000000 + datepart('minute', i) * 60000000 + datepart('us', i)"
        parts = f"datepart('year', i) * 12 + datepart('month', i), datepart('day', i), {clock}"
        row = self._run(f"SELECT {parts} FROM (SELECT ({duckdb_text(node)})::INTERVAL AS i)")[0]
        return int(row[0]), int(row[1]), int(row[2])

    def _describe(self, expressions: list[str]) -> list[DataType | None]:
        listing = ", ".join(f'({sql}\n) AS "{number}"' for number, sql in enumerate(expressions))
        return [_type(str(row[1])) for row in self._run(f"DESCRIBE SELECT {listing}{self._from}")]

    def _check_same_reading(self, text: str, tree: exp.Expr) -> None:
        """Both parsers must see the same tree. Some nodes come back in other words; then arrows decide."""
        if self._serialized(duckdb_text(_parenthesised(tree))) == self._serialized(text):
            return
        if not any(isinstance(node, WRITTEN_ANEW) for node in tree.walk()) or _has_loose_arrow(tree):
            raise ExpressionError(
                "it is not clear what belongs together here: DuckDB would read it otherwise",
                "put parentheses around the parts: (column ->> 'name') = 'value'",
            )

    def _serialized(self, text: str) -> Any:
        # As a literal: a bound parameter would make DuckDB import pandas.
        statement = f"SELECT ({text}\n)".replace("'", "''")
        row = self._connection.execute(f"SELECT json_serialize_sql('{statement}')").fetchone()
        return _canonical(json.loads(row[0])) if row else None

    def _run(self, sql: str) -> list[Any]:
        try:
            return self._connection.execute(sql).fetchall()
        except duckdb.Error as error:
            raise ExpressionError(_first_line(error)) from None


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def is_constant(node: exp.Expr) -> bool:
    return not any(
        isinstance(part, exp.Column | exp.CurrentTimestamp | exp.CurrentDate)
        or (isinstance(part, exp.Anonymous) and part.name.lower() in VOLATILE)
        for part in node.walk()
    )


def _has_type(node: exp.Expr) -> bool:
    if isinstance(node, UNTYPED):
        return False
    parent = node.parent
    inside_case = isinstance(node, exp.If) and isinstance(parent, exp.Case)
    inside_interval = isinstance(parent, exp.Interval)
    inside_path = isinstance(parent, exp.Dot)
    return not (inside_case or inside_interval or inside_path)


def _parenthesised(tree: exp.Expr) -> exp.Expr:
    copy = tree.copy()
    extracts = [node for node in copy.walk() if isinstance(node, ARROWS)]
    for node in reversed(extracts):
        if node.parent is not None and not isinstance(node.parent, exp.Paren):
            node.replace(exp.Paren(this=node.copy()))
    return copy


def _has_loose_arrow(tree: exp.Expr) -> bool:
    return any(
        node.parent is not None and not isinstance(node.parent, (exp.Paren, exp.Anonymous, *ARROWS))
        for node in tree.find_all(*ARROWS)
    )


def _canonical(value: Any) -> Any:
    """A parsed statement without places, letter case and the short form of IS NOT NULL."""
    if isinstance(value, dict):
        inner = {key: _canonical(part) for key, part in value.items() if key != "query_location"}
        if inner.get("type") == "operator_is_not_null":
            is_null = {**inner, "type": "operator_is_null"}
            return {**inner, "type": "operator_not", "children": [is_null]}
        return inner
    if isinstance(value, list):
        return [_canonical(part) for part in value]
    return value.lower() if isinstance(value, str) else value


def _bindable(type_: DataType) -> str:
    # INET is an extension's type; its columns are only tested for null or cast to text.
    return duckdb_type(type_).replace("INET", "VARCHAR")


def _type(text: str) -> DataType | None:
    if text.strip('"') in ("NULL", "UNKNOWN"):
        return None
    try:
        return parse_type(text)
    except ConfigError:
        raise ExpressionError(f"values of type {text} are not supported") from None


def _first_line(error: duckdb.Error) -> str:
    line = str(error).split("\n")[0].strip()
    return line.split("Error: ", 1)[-1].rstrip(".!")


def is_scalar(type_: DataType | None, *names: str) -> bool:
    return isinstance(type_, Scalar) and type_.name in names
