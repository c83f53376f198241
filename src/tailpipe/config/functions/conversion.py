"""From one kind of value to another."""

from __future__ import annotations

from typing import Any

from tailpipe.config.functions.containers import distinct
from tailpipe.config.functions.function import Function, FunctionError
from tailpipe.config.language.kinds import as_text, is_number, kind, with_article
from tailpipe.config.language.literals import number


def _tostring(value: Any) -> str | None:
    text = as_text(value)
    if text is None and value is not None:
        raise FunctionError(f"{with_article(kind(value))} cannot become a string", 0, "use jsonencode()")
    return text


def _tonumber(value: Any) -> int | float | None:
    if value is None or is_number(value):
        return value
    if isinstance(value, str):
        try:
            return -number(value[1:]) if value.startswith("-") else number(value)
        except (ValueError, OverflowError):
            raise FunctionError("argument 1 is not the text of a number", 0) from None
    raise FunctionError(f"{with_article(kind(value))} cannot become a number", 0)


def _tobool(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise FunctionError('only "true" and "false" can become a bool', 0)


def _tolist(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise FunctionError(f"{with_article(kind(value))} cannot become a list", 0, "write [value]")


def _toset(value: Any) -> list[Any]:
    items = distinct(_tolist(value))
    return sorted(items) if all(isinstance(item, str) for item in items) else items


FUNCTIONS = (
    Function("tobool", "any", _tobool),
    Function("tolist", "any", _tolist),
    Function("tomap", "map", lambda values: values),
    Function("tonumber", "any", _tonumber),
    Function("toset", "any", _toset),
    Function("tostring", "any", _tostring),
)
