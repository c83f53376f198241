"""CAST as DuckDB does it, except that a value it would stop at becomes null."""

from __future__ import annotations

from tailpipe.tables.expressions.operand import INTEGERS, REALS, TIMES, WIDE, Operand, within
from tailpipe.tables.expressions.parse import ExpressionError
from tailpipe.tables.reading import (
    EXPONENT,
    FALSE,
    ISO_TIME,
    REAL_NUMBER,
    TRUE,
    UNSIGNED_MAXIMUM,
    WHOLE_NUMBER,
)
from tailpipe.tables.types import DataType, Scalar, duckdb_type, spark_type

CASTABLE = frozenset({*INTEGERS, *WIDE, *REALS, *TIMES, "DECIMAL", "BOOLEAN"})


def cast(operand: Operand, target: DataType) -> str:
    """Spark SQL of the operand as `target`; refuses conversions whose results would differ from DuckDB's."""
    if operand.type is None:
        return f"CAST(NULL AS {spark_type(target)})"
    if operand.type == target:
        return operand.sql
    if isinstance(target, Scalar):
        if target.name == "VARCHAR":
            return text_of(operand)
        if target.name == "JSON" and operand.name == "VARCHAR":
            return operand.sql
        if target.name in CASTABLE and operand.name == "VARCHAR":
            return _from_text(operand.sql, target)
        if target.name in CASTABLE and operand.name in CASTABLE:
            return _between_scalars(operand, target)
    raise ExpressionError(
        f"a cast from {operand.type_text} to {duckdb_type(target)} is not supported",
        "take the value out with ->> first" if operand.name == "JSON" else None,
    )


def text_of(operand: Operand) -> str:
    """The operand as DuckDB writes it in text."""
    match operand.name:
        case "VARCHAR" | "JSON" | "UUID" | "INET" | "TIME":
            return operand.sql
        case "TIMESTAMPTZ":
            return f"concat(CAST({operand.sql} AS string), '+00')"
        case name if name in INTEGERS or name in WIDE or name in ("BOOLEAN", "DECIMAL", "TIMESTAMP", "DATE"):
            return f"CAST({operand.sql} AS string)"
        case _:
            raise operand.refuse(
                "something that reads the same as text everywhere", "cast it to DECIMAL(18,3) first"
            )


def _from_text(text: str, target: Scalar) -> str:
    spark_name = spark_type(target)
    if target.name == "BOOLEAN":
        return f"CASE WHEN {text} RLIKE r'{TRUE}' THEN true WHEN {text} RLIKE r'{FALSE}' THEN false END"
    if target.name in TIMES:
        day = f"try_cast(replace(trim({text}), ',', '') AS timestamp)"
        value = f"CAST({day} AS date)" if target.name == "DATE" else day
        return f"CASE WHEN {text} RLIKE r'{ISO_TIME}' THEN {value} END"
    if target.name in REALS:
        return f"CASE WHEN {text} RLIKE r'{REAL_NUMBER}' THEN try_cast({text} AS {spark_name}) END"
    whole = f"WHEN {text} RLIKE r'{WHOLE_NUMBER}' THEN try_cast({text} AS {spark_name}) "
    exact = f"try_cast({text} AS decimal(38,9))"
    scientific = f"try_cast(try_cast({text} AS double) AS decimal(38,9))"
    number = f"CASE WHEN {text} RLIKE r'{EXPONENT}' THEN {scientific} ELSE {exact} END"
    rounded = f"try_cast(round({number}, {target.scale}) AS {spark_name})"
    value = f"CASE {whole}WHEN {text} RLIKE r'{REAL_NUMBER}' THEN {rounded} END"
    return within(value, target) if target.name in UNSIGNED_MAXIMUM else value


def _between_scalars(operand: Operand, target: Scalar) -> str:
    source, spark_name = operand.name, spark_type(target)
    if (source in TIMES) != (target.name in TIMES):
        raise ExpressionError(f"a cast from {operand.type_text} to {duckdb_type(target)} is not supported")
    if source in TIMES:
        return f"CAST({operand.sql} AS {spark_name})"
    if target.name not in INTEGERS and target.name not in WIDE:
        return f"try_cast({operand.sql} AS {spark_name})"
    value = operand.sql
    if source in REALS:
        value = half_even(value)
    elif source == "DECIMAL":
        value = f"round({value})"
    is_unsigned = target.name in UNSIGNED_MAXIMUM and source != "BOOLEAN"
    return within(value, target) if is_unsigned else f"try_cast({value} AS {spark_name})"


def half_even(sql: str) -> str:
    """A real rounded to a bigint, halves to the even neighbour; null beyond a bigint's range."""
    rest = f"{sql} - floor({sql})"
    step = f"CASE WHEN {rest} > 0.5D THEN 1 WHEN {rest} < 0.5D THEN 0 ELSE abs(floor({sql}) % 2) END"
    return f"CASE WHEN abs({sql}) < 9e18D THEN floor({sql}) + {step} END"
