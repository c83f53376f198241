"""Bringing two parts to one type, as DuckDB does before it compares or chooses between them."""

from __future__ import annotations

from tailpipe.tables.expressions.casts import cast
from tailpipe.tables.expressions.operand import INTEGERS, REALS, TIMES, Operand, constant_sql
from tailpipe.tables.expressions.parse import ExpressionError
from tailpipe.tables.types import DataType, ListOf, Scalar, duckdb_type, spark_type

NOT_COMPARABLE = frozenset({"UUID", "INET", "TIME", "INTERVAL", "BLOB"})


def coerce(operand: Operand, target: DataType | None) -> str:
    """The operand as `target`, where DuckDB converts without being asked."""
    if target is None or operand.type == target:
        return operand.sql
    if operand.type is None:
        return constant_sql(None, target)
    if isinstance(target, ListOf):
        if operand.is_list:
            return f"CAST({operand.sql} AS {spark_type(target)})"
        raise operand.refuse(duckdb_type(target))
    if operand.is_text and isinstance(target, Scalar) and target.name in ("VARCHAR", "JSON"):
        return operand.sql
    widens = operand.is_number and isinstance(target, Scalar) and not operand.is_text
    if widens or (operand.is_time and isinstance(target, Scalar) and target.name in TIMES):
        return cast(operand, target)
    if operand.is_text_literal:
        return cast(operand, target)
    raise operand.refuse(duckdb_type(target), f"write CAST(… AS {duckdb_type(target)})")


def comparable(left: Operand, right: Operand) -> tuple[str, str]:
    """Both sides in one type."""
    for side, other in ((left, right), (right, left)):
        if side.type is None:
            return (
                (left.sql, constant_sql(None, left.type))
                if side is right
                else (constant_sql(None, right.type), right.sql)
            )
        if not isinstance(side.type, Scalar):
            raise side.refuse("a single value", "compare its members or elements")
        if side.name in NOT_COMPARABLE:
            raise side.refuse(
                "text, a number, a time or a boolean", "compare its text: CAST(… AS VARCHAR) = '…'"
            )
        if side.is_text and not other.is_text and isinstance(other.type, Scalar):
            as_other = cast(_as_varchar(side), other.type)
            return (as_other, other.sql) if side is left else (other.sql, as_other)
    return _same_kind(left, right)


def _as_varchar(operand: Operand) -> Operand:
    return Operand(operand.node, operand.sql, Scalar("VARCHAR"), operand.is_constant, operand.value)


def _same_kind(left: Operand, right: Operand) -> tuple[str, str]:
    if (left.is_text and right.is_text) or left.name == right.name == "BOOLEAN":
        return left.sql, right.sql
    if left.is_number and right.is_number:
        if left.name in REALS or right.name in REALS:
            return f"CAST({left.sql} AS double)", f"CAST({right.sql} AS double)"
        return left.sql, right.sql
    if left.is_time and right.is_time:
        if left.name == right.name == "DATE":
            return left.sql, right.sql
        return f"CAST({left.sql} AS timestamp)", f"CAST({right.sql} AS timestamp)"
    raise ExpressionError(
        f"{left.type_text} and {right.type_text} cannot be compared", "cast one side to the type of the other"
    )


def is_whole(type_: DataType | None) -> bool:
    return isinstance(type_, Scalar) and type_.name in INTEGERS
