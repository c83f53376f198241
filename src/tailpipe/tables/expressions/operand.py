"""A translated part of an expression: its Spark SQL, its DuckDB type, and its value where it is constant."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tailpipe.tables.expressions.parse import ExpressionError, duckdb_text
from tailpipe.tables.reading import UNSIGNED_MAXIMUM
from tailpipe.tables.sql import text_literal
from tailpipe.tables.types import DataType, ListOf, Scalar, duckdb_type, spark_type

INTEGERS = {
    "TINYINT": 3,
    "SMALLINT": 5,
    "INTEGER": 10,
    "BIGINT": 19,
    "UTINYINT": 3,
    "USMALLINT": 5,
    "UINTEGER": 10,
}
"""The integers that fit Spark's bigint, with their decimal digits."""

WIDE = frozenset({"HUGEINT", "UBIGINT", "UHUGEINT"})
REALS = frozenset({"FLOAT", "DOUBLE"})
TEXTS = frozenset({"VARCHAR", "JSON"})
TIMES = frozenset({"TIMESTAMP", "TIMESTAMPTZ", "DATE"})


@dataclass(frozen=True)
class Operand:
    """`type` None is a bare NULL. `value` is a constant's text as DuckDB writes it, None for NULL."""

    node: exp.Expr
    sql: str
    type: DataType | None
    is_constant: bool = False
    value: str | None = None

    @property
    def name(self) -> str:
        return self.type.name if isinstance(self.type, Scalar) else ""

    @property
    def is_text(self) -> bool:
        return self.name in TEXTS

    @property
    def is_integer(self) -> bool:
        return self.name in INTEGERS

    @property
    def is_number(self) -> bool:
        return self.name in INTEGERS or self.name in WIDE or self.name in REALS or self.name == "DECIMAL"

    @property
    def is_time(self) -> bool:
        return self.name in TIMES

    @property
    def is_list(self) -> bool:
        return isinstance(self.type, ListOf)

    @property
    def is_text_literal(self) -> bool:
        node = self.node
        while isinstance(node, exp.Paren):
            node = node.this
        return isinstance(node, exp.Literal) and bool(node.is_string)

    @property
    def type_text(self) -> str:
        return duckdb_type(self.type) if self.type is not None else "NULL"

    def refuse(self, expected: str, hint: str | None = None) -> ExpressionError:
        shown = duckdb_text(self.node)
        shown = shown if len(shown) <= 60 else shown[:57] + "…"
        return ExpressionError(f"{shown} is {self.type_text} where {expected} is expected", hint)


def constant_sql(value: str | None, type_: DataType | None) -> str:
    """A constant by the text DuckDB writes for it."""
    if type_ is None:
        return "NULL"
    if value is None:
        return f"CAST(NULL AS {spark_type(type_)})"
    if isinstance(type_, Scalar):
        if type_.name in TEXTS:
            return text_literal(value)
        if type_.name == "BOOLEAN":
            return value
        if type_.name == "INTEGER":
            return value
    return f"CAST({text_literal(value)} AS {spark_type(type_)})"


def within(sql: str, type_: DataType | None) -> str:
    """A bigint as a narrower integer; null outside its range."""
    if not isinstance(type_, Scalar) or type_.name == "BIGINT":
        return sql
    maximum = UNSIGNED_MAXIMUM.get(type_.name)
    if maximum is not None:
        return f"try_cast(CASE WHEN {sql} BETWEEN 0 AND {maximum} THEN {sql} END AS {spark_type(type_)})"
    return f"try_cast({sql} AS {spark_type(type_)})"


def as_double(operand: Operand) -> str:
    return operand.sql if operand.name == "DOUBLE" else f"CAST({operand.sql} AS double)"


def as_bigint(operand: Operand) -> str:
    return operand.sql if operand.name == "BIGINT" else f"CAST({operand.sql} AS bigint)"


def as_timestamp(operand: Operand) -> str:
    return f"CAST({operand.sql} AS timestamp)" if operand.name == "DATE" else operand.sql
