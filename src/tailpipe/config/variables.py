"""Variables: values from outside, converted to the type their block declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailpipe.config.language.evaluate import EvaluationError, Evaluator
from tailpipe.config.language.kinds import as_text, is_number, kind, with_article
from tailpipe.config.language.parse import parse_expression
from tailpipe.config.language.syntax import Block, Call, Expression, Literal, Name
from tailpipe.errors import Position, Problem
from tailpipe.suggest import near_or_all

ENVIRONMENT_PREFIXES = ("TP_VAR_", "TAILPIPE_VAR_")
_PLAIN_TYPES = ("string", "number", "bool", "any", "list", "set", "map", "tuple", "object")
_CONTAINERS = {"list": "list", "set": "list", "tuple": "list", "map": "map", "object": "map"}


@dataclass(frozen=True)
class VariableType:
    """`items` is the type of what a list or map holds; None means anything."""

    name: str = "any"
    items: VariableType | None = None

    def __str__(self) -> str:
        return f"{self.name}({self.items})" if self.items else self.name


def variable_value(name: str, block: Block, environment: Mapping[str, str], evaluator: Evaluator) -> Any:
    """What the environment says, else the default; raises EvaluationError."""
    type_ = _type_of(block)
    for prefix in ENVIRONMENT_PREFIXES:
        if prefix + name in environment:
            return _from_outside(environment[prefix + name], type_, prefix + name, block.position, evaluator)
    default = block.attribute("default")
    if default is None:
        hint = f"set {ENVIRONMENT_PREFIXES[0]}{name}, or add `default = …`"
        raise _error(block.position, f'variable "{name}" has no value and no default', hint)
    value = evaluator.evaluate_whole(default.value)
    if value is not None and not _fits(value, type_):
        message = f'the default of variable "{name}" must be {with_article(str(type_))}'
        raise _error(default.value.position, f"{message}, not {with_article(kind(value))}")
    return value


def _type_of(block: Block) -> VariableType:
    attribute = block.attribute("type")
    return _read_type(attribute.value) if attribute else VariableType()


def _read_type(expression: Expression) -> VariableType:
    """Type names are no values: `string` stands without quotes, as in Terraform; quotes are accepted."""
    match expression:
        case Literal(value=str() as text):
            inner = parse_expression("type", text)
            if inner is not None and not isinstance(inner, Literal):
                return _read_type(inner)
            name, arguments = text, ()
        case Name(name=name):
            arguments = ()
        case Call(function=name, arguments=arguments):
            pass
        case _:
            raise EvaluationError(_unknown_type("this", expression.position))
    if name not in _PLAIN_TYPES or (arguments and name not in _CONTAINERS):
        raise EvaluationError(_unknown_type(f'"{name}"', expression.position, name))
    if arguments and name in ("list", "set", "map"):
        return VariableType(name, _read_type(arguments[0]))
    return VariableType(name)


def _unknown_type(shown: str, position: Position, name: str = "") -> Problem:
    return Problem(f"{shown} is not a type", position, near_or_all(name, _PLAIN_TYPES, "types"))


def _from_outside(
    value: Any, type_: VariableType, origin: str, position: Position, evaluator: Evaluator
) -> Any:
    """Text stands for other kinds where the type asks for them: `TP_VAR_days=7`."""
    if isinstance(value, str) and type_.name not in ("string", "any"):
        expression = parse_expression(origin, value)
        try:
            value = evaluator.evaluate_whole(expression) if expression else value
        except EvaluationError:
            raise _error(position, f"{origin} is not {with_article(str(type_))}") from None
    if type_.name == "string" and as_text(value) is not None:
        value = as_text(value)
    if value is None or _fits(value, type_):
        return value
    raise _error(position, f"{origin} must be {with_article(str(type_))}, not {with_article(kind(value))}")


def _fits(value: Any, type_: VariableType) -> bool:
    if type_.name in _CONTAINERS:
        if kind(value) != _CONTAINERS[type_.name]:
            return False
        items = value.values() if isinstance(value, dict) else value
        return type_.items is None or all(_fits(item, type_.items) for item in items)
    if type_.name == "number":
        return is_number(value)
    return type_.name == "any" or kind(value) == type_.name


def _error(position: Position, message: str, hint: str | None = None) -> EvaluationError:
    return EvaluationError(Problem(message, position, hint))
