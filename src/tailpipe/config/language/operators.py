"""Arithmetic, comparison and logic."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from tailpipe.config.language.kinds import is_number, is_small_enough, kind, same, with_article

Number = int | float


class OperationError(Exception):
    pass


def _divide(left: Number, right: Number) -> Number:
    if right == 0:
        raise OperationError("division by zero")
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right
    return left / right


def _remainder(left: Number, right: Number) -> Number:
    """Takes the sign of the dividend, as in HCL; Python's takes that of the divisor."""
    if right == 0:
        raise OperationError("division by zero")
    if isinstance(left, int) and isinstance(right, int):
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    return math.fmod(left, right)


_ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
}
_ORDER: dict[str, Callable[[Number, Number], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def binary(symbol: str, left: Any, right: Any) -> Any:
    if symbol in ("==", "!="):
        return same(left, right) is (symbol == "==")
    if symbol in ("&&", "||"):
        _expect_bool(symbol, left)
        _expect_bool(symbol, right)
        return (left and right) if symbol == "&&" else (left or right)
    for side in (left, right):
        if not is_number(side):
            raise OperationError(f"`{symbol}` takes numbers, not {with_article(kind(side))}")
    try:
        if symbol in _ORDER:
            return _ORDER[symbol](left, right)
        result = _ARITHMETIC[symbol](left, right)
    except OverflowError:
        result = math.inf
    if not is_small_enough(result):
        raise OperationError("the result is too large")
    return result


def unary(symbol: str, operand: Any) -> Any:
    if symbol == "!":
        _expect_bool(symbol, operand)
        return not operand
    if not is_number(operand):
        raise OperationError(f"`-` takes a number, not {with_article(kind(operand))}")
    return -operand


def _expect_bool(symbol: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise OperationError(f"`{symbol}` takes true or false, not {with_article(kind(value))}")
