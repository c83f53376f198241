"""Filters and transforms: DuckDB expressions turned into Spark SQL that gives the same values.

A value at which DuckDB would stop with an error (a bad cast, an overflow) becomes null, so that one row never
ends a run. Whatever cannot be translated exactly is a configuration error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from tailpipe.errors import ConfigError, Position, Problem
from tailpipe.tables.expressions.bind import Binder
from tailpipe.tables.expressions.columns import Row
from tailpipe.tables.expressions.emit import FUNCTIONS, Emitter, check_functions
from tailpipe.tables.expressions.parse import ExpressionError, parse_expression
from tailpipe.tables.types import DataType, duckdb_type, parse_type

__all__ = ["FUNCTIONS", "Expression", "column_names", "translate"]


@dataclass(frozen=True)
class Expression:
    """`sql` is Spark SQL, `columns` what it reads, `type` the DuckDB type of its value (`NULL` for null)."""

    sql: str
    columns: frozenset[str]
    type: str


def translate(
    text: str,
    columns: Mapping[str, str],
    *,
    bindings: Mapping[str, str] | None = None,
    position: Position | None = None,
    what: str = "expression",
) -> Expression:
    """Translate `text` over `columns` (name to DuckDB type).

    `bindings` give the Spark SQL to put in a column's place, of the Spark type that its DuckDB type becomes.
    Raises ConfigError with one problem at `position`, about `what`.
    """
    types = {name: parse_type(type_, position) for name, type_ in columns.items()}
    try:
        return _translated(text, types, bindings or {})
    except ExpressionError as error:
        raise ConfigError([Problem(f"{what}: {error.message}.", position, error.hint)]) from None


def column_names(text: str) -> tuple[str, ...]:
    """The names an expression uses as columns, first parts of dotted ones; none where it cannot be read."""
    try:
        tree = parse_expression(text)
    except ExpressionError:
        return ()
    return tuple(dict.fromkeys(column.parts[0].name for column in tree.find_all(exp.Column)))


def _translated(text: str, types: Mapping[str, DataType], bindings: Mapping[str, str]) -> Expression:
    tree = parse_expression(text)
    row = Row(types, bindings)
    row.check(tree)
    check_functions(tree)
    binder = Binder(types)
    try:
        operand = Emitter(row, binder, binder.types(text, tree)).operand(tree)
    finally:
        binder.close()
    type_ = duckdb_type(operand.type) if operand.type is not None else "NULL"
    return Expression(operand.sql, frozenset(row.used), type_)
