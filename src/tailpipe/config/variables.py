"""Variables: values from outside, converted to the type their block declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailpipe.config.language.evaluate import EvaluationError, Evaluator, error_at
from tailpipe.config.language.kinds import CONTAINERS, as_text, fits, kind, with_article
from tailpipe.config.language.parse import parse_expression
from tailpipe.config.language.syntax import Block, Call, Expression, Literal, Name
from tailpipe.config.report import Report
from tailpipe.errors import Position
from tailpipe.suggest import near_or_all

ENVIRONMENT_PREFIXES = ("TP_VAR_", "TAILPIPE_VAR_")
_ARGUMENTS = ("type", "default", "description")
_PLAIN_TYPES = ("string", "number", "bool", "any", "list", "set", "map", "tuple", "object")


def check_variables(blocks: Mapping[str, Block], report: Report) -> None:
    for name, block in blocks.items():
        for attribute in block.attributes:
            if attribute.name not in _ARGUMENTS:
                message = f'variable "{name}" has no argument "{attribute.name}"'
                report.error(
                    attribute.position, message, near_or_all(attribute.name, _ARGUMENTS, "arguments")
                )
        for inner in block.blocks:
            report.error(inner.position, f'variable "{name}" has no block "{inner.type}"')


def variable_value(name: str, block: Block, environment: Mapping[str, str], evaluator: Evaluator) -> Any:
    """What the environment says, else the default; raises EvaluationError."""
    declared = block.attribute("type")
    type_ = _read_type(declared.value) if declared else "any"
    for prefix in ENVIRONMENT_PREFIXES:
        if prefix + name in environment:
            return _from_outside(environment[prefix + name], type_, prefix + name, block.position, evaluator)
    default = block.attribute("default")
    if default is None:
        hint = f"set {ENVIRONMENT_PREFIXES[0]}{name}, or add `default = …`"
        raise error_at(block.position, f'variable "{name}" has no value and no default', hint)
    value = evaluator.evaluate_whole(default.value)
    if value is not None and not fits(value, type_):
        message = f'the default of variable "{name}" must be {with_article(type_)}'
        raise error_at(default.value.position, f"{message}, not {with_article(kind(value))}")
    return value


def _read_type(expression: Expression) -> str:
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
            raise _unknown_type("this", expression.position)
    if name not in _PLAIN_TYPES or (arguments and name not in CONTAINERS):
        raise _unknown_type(f'"{name}"', expression.position, name)
    if arguments and name in ("list", "set", "map"):
        return f"{name}({_read_type(arguments[0])})"
    return name


def _unknown_type(shown: str, position: Position, name: str = "") -> EvaluationError:
    return error_at(position, f"{shown} is not a type", near_or_all(name, _PLAIN_TYPES, "types"))


def _from_outside(value: Any, type_: str, origin: str, position: Position, evaluator: Evaluator) -> Any:
    """Text stands for other kinds where the type asks for them: `TP_VAR_days=7`."""
    if isinstance(value, str) and type_ not in ("string", "any"):
        expression = parse_expression(origin, value)
        try:
            value = evaluator.evaluate_whole(expression) if expression else value
        except EvaluationError:
            raise error_at(position, f"{origin} is not {with_article(type_)}") from None
    if type_ == "string" and as_text(value) is not None:
        value = as_text(value)
    if value is None or fits(value, type_):
        return value
    raise error_at(position, f"{origin} must be {with_article(type_)}, not {with_article(kind(value))}")
