"""DuckDB's own judgement of an expression, when the configuration is read: is it valid, and of which type."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import duckdb

from tailpipe.errors import ConfigError, Position, Problem
from tailpipe.tables.expressions.calculation import Output, row_source
from tailpipe.tables.expressions.database import open_database
from tailpipe.tables.expressions.scope import Input, Scope, needs_inet
from tailpipe.tables.expressions.syntax import ExpressionError, used_names

_OTHER_WORDS = (
    ("cannot contain aggregates", "aggregates are not supported: an expression sees one record"),
    ("UNNEST not supported", "unnest is not supported: a record becomes one row"),
    (
        "volatile function",
        "it would have another value each time, and a record must always become the same row",
    ),
)


@dataclass(frozen=True)
class Expression:
    """`type` is the DuckDB type of its value, `"NULL"` for null."""

    text: str
    inputs: tuple[Input, ...]
    type: str


def check_expression(
    text: str, scope: Scope, *, position: Position | None = None, what: str = "expression"
) -> Expression:
    """Raises ConfigError with one problem at `position`, about `what`."""
    try:
        return _checked(text, scope)
    except ExpressionError as error:
        raise ConfigError([Problem(f"{what}: {error.message}.", position, error.hint)]) from None


def check_cast(expression: Expression, type_: str) -> bool:
    """Whether DuckDB knows how to make the type of the value."""
    if expression.type == "NULL":
        return True
    cursor = _database(needs_inet(expression.inputs, expression.text, type_)).cursor()
    try:
        cursor.execute(f"SELECT CAST(NULL::{expression.type} AS {type_})")
        cursor.execute(f"SELECT CAST(({expression.text}\n) AS {type_}) FROM {row_source(expression.inputs)}")
    except duckdb.Error as error:
        return "Unimplemented type for cast" not in str(error)
    return True


def _checked(text: str, scope: Scope) -> Expression:
    try:
        names = used_names(text, _database(False).cursor(), lambda name: scope.find(name) is not None)
    except duckdb.Error as error:
        raise _told(error) from None
    inputs = scope.inputs(names)
    cursor = _database(needs_inet(inputs, text)).cursor()
    row = row_source(inputs)
    value = f"({text}\n)"
    # Bound as a condition, because there DuckDB refuses what needs more than one row.
    _run(cursor, f"SELECT 1 FROM {row} WHERE {value} IS NULL")
    type_ = str(_run(cursor, f"DESCRIBE SELECT {value} FROM {row}")[0][1]).strip('"')
    # On a row of nulls only constants can be wrong: a time that is none, a pattern with an error.
    _run(cursor, f"SELECT {value} FROM {row}")
    _run(cursor, f"SELECT {Output('', text, 'VARCHAR').sql} FROM {row}")
    return Expression(text, inputs, type_)


@cache
def _database(with_inet: bool) -> duckdb.DuckDBPyConnection:
    return open_database(with_inet=with_inet)


def _run(cursor: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    try:
        return cursor.execute(sql).fetchall()
    except duckdb.Error as error:
        raise _told(error) from None


def _told(error: duckdb.Error) -> ExpressionError:
    first, *rest = str(error).split("\n")
    message = first.split("Error: ", 1)[-1].strip().rstrip(".!")
    for words, told in _OTHER_WORDS:
        if words in message:
            return ExpressionError(told)
    guess = next((line for line in rest if line.startswith("Did you mean")), None)
    return ExpressionError(message, guess[0].lower() + guess[1:] if guess else None)
