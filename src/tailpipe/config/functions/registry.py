"""All functions by name, and the one way to call them: count and kinds are checked here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailpipe.config.functions import containers, conversion, dates, encoding, files, numbers, text
from tailpipe.config.functions.function import FunctionError, Surroundings
from tailpipe.config.language.kinds import as_text, fits, is_number, is_small_enough, kind, with_article

_FAMILIES = (text, containers, numbers, conversion, dates, files, encoding)
_FUNCTIONS = {function.name: function for family in _FAMILIES for function in family.FUNCTIONS}
# The arguments of the last two may fail, so the evaluator runs them itself.
FUNCTION_NAMES = frozenset((*_FUNCTIONS, "try", "can"))
_STRINGS = "list(string)"

__all__ = ["FUNCTION_NAMES", "FunctionError", "Surroundings", "call", "extra_work"]


def call(name: str, arguments: Sequence[Any], surroundings: Surroundings) -> Any:
    function = _FUNCTIONS[name]
    parameters = function.parameters.split()
    _check_count(parameters, len(arguments))
    checked = [
        _checked(value, parameters[min(at, len(parameters) - 1)], at) for at, value in enumerate(arguments)
    ]
    result = function.run(surroundings, *checked) if function.looks_around else function.run(*checked)
    if is_number(result) and not is_small_enough(result):
        raise FunctionError("the result is too large")
    return result


def extra_work(name: str, arguments: Sequence[Any]) -> int:
    """In bytes; arguments that do not fit are refused by the call itself."""
    work = _FUNCTIONS[name].work
    is_fit = len(arguments) == len(_FUNCTIONS[name].parameters.split())
    return work(*arguments) if work and is_fit and all(isinstance(each, str) for each in arguments) else 0


def _check_count(parameters: Sequence[str], count: int) -> None:
    least = sum(not parameter.endswith(("?", "*")) for parameter in parameters)
    is_open = bool(parameters) and parameters[-1].endswith("*")
    if count < least or (count > len(parameters) and not is_open):
        if is_open:
            expected = f"at least {least}"
        else:
            expected = str(least) if least == len(parameters) else f"{least} to {len(parameters)}"
        plural = "" if expected in ("1", "at least 1") else "s"
        raise FunctionError(f"takes {expected} argument{plural}, not {count}")


def _checked(value: Any, parameter: str, at: int) -> Any:
    expected = parameter.rstrip("?*")
    if expected == "string":
        value = value if as_text(value) is None else as_text(value)
    if expected == _STRINGS and isinstance(value, list):
        value = [item if as_text(item) is None else as_text(item) for item in value]
    if fits(value, expected):
        return value
    wanted = "a list of strings" if expected == _STRINGS else with_article(expected)
    found = "a list with other things" if expected == _STRINGS and isinstance(value, list) else kind(value)
    raise FunctionError(f"argument {at + 1} must be {wanted}, not {with_article(found)}", at)
