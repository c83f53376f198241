"""Evaluates single expressions, with a few names around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tailpipe.config.language.evaluate import EvaluationError, Evaluator
from tailpipe.config.language.parse import parse_expression
from tailpipe.errors import Position, Problem

NOW = datetime(2024, 3, 5, 16, 7, 8, tzinfo=UTC)


class NoScope:
    def resolve(self, root: str, path: Sequence[str], position: Position) -> tuple[Any, int]:
        raise EvaluationError(Problem(f"no {root}", position))


def value_of(
    text: str,
    names: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    file: str = "main.tpc",
) -> Any:
    expression = parse_expression(file, text)
    assert expression is not None, f"not an expression: {text}"
    return Evaluator(NoScope(), environment or {}, NOW, names or {}).evaluate(expression)


def error_of(text: str, names: Mapping[str, Any] | None = None) -> str:
    """The problems of an evaluation as `column message (hint)`; columns count from the expression's start."""
    try:
        result = value_of(text, names)
    except EvaluationError as error:
        return "; ".join(_told(problem) for problem in error.problems)
    raise AssertionError(f"{text} has a value: {result!r}")


def _told(problem: Problem) -> str:
    assert problem.position is not None
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"{problem.position.column - 2} {problem.message}{hint}"
