"""Functions on numbers."""

from __future__ import annotations

import math

from tailpipe.config.functions.function import Function, FunctionError

Number = int | float


def _parseint(text: str, base: Number) -> int:
    if not 2 <= base <= 36:
        raise FunctionError("the base lies between 2 and 36", 1)
    try:
        return int(text, int(base))
    except ValueError:
        raise FunctionError(f"argument 1 is not a whole number in base {int(base)}", 0) from None


def _pow(value: Number, exponent: Number) -> Number:
    if abs(exponent) > 1024:
        raise FunctionError("the exponent is too large", 1)
    try:
        result: object = value**exponent
    except (OverflowError, ZeroDivisionError):
        raise FunctionError("the result is not a finite number") from None
    if not isinstance(result, int | float):
        raise FunctionError("the result is not a real number")
    return result


def _log(value: Number, base: Number) -> float:
    try:
        return math.log(value, base)
    except (ValueError, ZeroDivisionError):
        raise FunctionError("takes numbers above 0, and a base other than 1") from None


FUNCTIONS = (
    Function("abs", "number", abs),
    Function("ceil", "number", math.ceil),
    Function("floor", "number", math.floor),
    Function("log", "number number", _log),
    Function("max", "number number*", lambda *values: max(values)),
    Function("min", "number number*", lambda *values: min(values)),
    Function("parseint", "string number", _parseint),
    Function("pow", "number number", _pow),
    Function("signum", "number", lambda value: (value > 0) - (value < 0)),
)
