"""+ - * / // % as DuckDB computes them, null where it would stop with an error."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from tailpipe.tables.expressions.operand import (
    INTEGERS,
    REALS,
    Operand,
    as_bigint,
    as_double,
    as_timestamp,
    within,
)
from tailpipe.tables.expressions.parse import ExpressionError
from tailpipe.tables.types import DataType, Scalar, spark_type

SIGNS: Mapping[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "//",
    exp.Mod: "%",
}
TRY: Mapping[type[exp.Expr], str] = {exp.Add: "try_add", exp.Sub: "try_subtract", exp.Mul: "try_multiply"}
ZERO = "CAST(0 AS bigint)"


def computed(operator: type[exp.Expr], left: Operand, right: Operand, type_: DataType | None) -> str:
    if left.is_time or right.is_time:
        return _on_dates(operator, left, right)
    for side in (left, right):
        if side.name not in INTEGERS and side.name not in REALS and side.name != "DECIMAL":
            raise side.refuse("a number", "cast it: CAST(… AS BIGINT)")
    if operator is exp.Div:
        return _divided(as_double(left), as_double(right))
    if left.is_integer and right.is_integer:
        return within(_on_integers(operator, as_bigint(left), as_bigint(right)), type_)
    if left.name in REALS or right.name in REALS:
        return _on_reals(operator, as_double(left), as_double(right))
    return _on_decimals(operator, left, right, type_)


def negated(operand: Operand, type_: DataType | None) -> str:
    if operand.is_integer:
        return within(f"try_subtract({ZERO}, {as_bigint(operand)})", type_)
    if operand.name in REALS or operand.name == "DECIMAL":
        return f"-{operand.sql}"
    raise operand.refuse("a number")


def shifted(moment: Operand, is_backward: bool, months: int, days: int, micros: int) -> str:
    """A moment moved by an interval: months first, then days, then the clock."""
    if not moment.is_time:
        raise moment.refuse("a timestamp or date", "read text with strptime or CAST(… AS TIMESTAMP)")
    sign = -1 if is_backward else 1
    seconds = f"CAST('{sign * micros / 1_000_000:.6f}' AS decimal(18,6))"
    span = f"make_interval(0, {sign * months}, 0, {sign * days}, 0, 0, {seconds})"
    return f"{as_timestamp(moment)} + {span}"


def _divided(left: str, right: str) -> str:
    """IEEE: engines stop at a zero divisor or give null, DuckDB gives an infinity or NaN."""
    at_zero = (
        f"CASE WHEN {left} IS NULL THEN NULL WHEN isnan({left}) OR {left} = 0D THEN CAST('NaN' AS double) "
        f"WHEN {left} > 0D THEN CAST('Infinity' AS double) ELSE CAST('-Infinity' AS double) END"
    )
    return f"CASE WHEN {right} = 0D THEN {at_zero} ELSE {left} / nullif({right}, 0D) END"


def _on_integers(operator: type[exp.Expr], left: str, right: str) -> str:
    if operator in TRY:
        return f"{TRY[operator]}({left}, {right})"
    # Dividing the smallest bigint by -1 overflows.
    special = f"try_subtract({ZERO}, {left})" if operator is exp.IntDiv else ZERO
    sign = "div" if operator is exp.IntDiv else "%"
    return f"CASE WHEN {right} = -1 THEN {special} ELSE {left} {sign} nullif({right}, {ZERO}) END"


def _on_reals(operator: type[exp.Expr], left: str, right: str) -> str:
    if operator in TRY:
        return f"{left} {SIGNS[operator]} {right}"
    raise ExpressionError(f"{SIGNS[operator]} on FLOAT or DOUBLE is not supported", "cast to BIGINT first")


def _on_decimals(operator: type[exp.Expr], left: Operand, right: Operand, type_: DataType | None) -> str:
    if operator not in TRY or not isinstance(type_, Scalar):
        raise ExpressionError(
            f"{SIGNS[operator]} on DECIMAL is not supported", "cast to DOUBLE or BIGINT first"
        )
    (left_digits, left_scale), (right_digits, right_scale) = _decimal(left), _decimal(right)
    digits = (
        left_digits + right_digits
        if operator is exp.Mul
        else 1 + max(left_digits, right_digits) + max(left_scale, right_scale)
    )
    if digits >= 38:
        raise ExpressionError("the result has too many digits for a DECIMAL", "cast one side to DOUBLE")
    sides = (
        f"CAST({side.sql} AS decimal({precision},{scale}))"
        for side, (precision, scale) in (
            (left, (left_digits, left_scale)),
            (right, (right_digits, right_scale)),
        )
    )
    return f"try_cast({f' {SIGNS[operator]} '.join(sides)} AS {spark_type(type_)})"


def _decimal(operand: Operand) -> tuple[int, int]:
    if isinstance(operand.type, Scalar) and operand.type.name == "DECIMAL":
        return operand.type.precision, operand.type.scale
    return INTEGERS[operand.name], 0


def _on_dates(operator: type[exp.Expr], left: Operand, right: Operand) -> str:
    if left.name == "DATE" and right.is_integer and operator in (exp.Add, exp.Sub):
        days = f"greatest(least({as_bigint(right)}, 3000000), -3000000)"
        return f"{'date_add' if operator is exp.Add else 'date_sub'}({left.sql}, CAST({days} AS int))"
    if left.name == right.name == "DATE" and operator is exp.Sub:
        return f"CAST(datediff({left.sql}, {right.sql}) AS bigint)"
    raise ExpressionError(
        f"{left.type_text} {SIGNS[operator]} {right.type_text} is not supported",
        "use date_diff('second', earlier, later) for the time between two moments",
    )
