"""Expressions to values.

One evaluation reports every independent error in its expression. Messages name keys, functions and references
but never quote values: any value may hold a secret, and the position shows where to look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from tailpipe.config.functions.registry import FUNCTION_NAMES, FunctionError, Surroundings, call, extra_work
from tailpipe.config.language import syntax
from tailpipe.config.language.kinds import BlockReference, as_text, is_number, kind, with_article
from tailpipe.config.language.limits import Budget, OverLimit, check_size, text_size
from tailpipe.config.language.operators import OperationError, binary, unary
from tailpipe.config.language.syntax import Expression
from tailpipe.errors import Position, Problem
from tailpipe.suggest import did_you_mean

# Expressions whose value is a new one.
_MAKERS = (syntax.Template, syntax.ListOf, syntax.ObjectOf, syntax.Splat, syntax.Call, syntax.For)


class EvaluationError(Exception):
    """Without problems when the cause is reported elsewhere."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


class LimitReached(EvaluationError):
    """Nothing more is computed: what follows would only say the same."""


class Scope(Protocol):
    """What names mean outside an expression."""

    def resolve(self, root: str, path: Sequence[str], position: Position) -> tuple[Any, int]:
        """The value of `root.path[0]…` and how many names of the path it took; raises EvaluationError."""
        ...


@dataclass(frozen=True)
class Evaluator:
    scope: Scope
    environment: Mapping[str, str]
    now: datetime
    names: Mapping[str, Any] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)

    def evaluate_whole(self, expression: Expression) -> Any:
        """One value, which is bounded in size, steps and depth."""
        try:
            with self.budget.for_one_value():
                return self.evaluate(expression)
        except RecursionError:
            # Where the stack is too short to say it, the value that asked for this one does.
            message = "this value is nested too deeply, or depends on others over too many steps"
            raise error_at(expression.position, message, "name its parts in `locals`") from None

    def evaluate(self, expression: Expression) -> Any:
        try:
            self.budget.step()
            value = self._value(expression)
            if isinstance(expression, _MAKERS):
                self.budget.keep(value)
        except OverLimit as error:
            raise LimitReached(Problem(str(error), expression.position)) from None
        except OperationError as error:
            raise error_at(expression.position, str(error)) from None
        return value

    def _value(self, expression: Expression) -> Any:
        match expression:
            case syntax.Literal(value=value):
                return value
            case syntax.Template():
                return self._template(expression)
            case syntax.ListOf(items=items):
                return self._all(items)
            case syntax.ObjectOf():
                return self._object(expression)
            case syntax.Name() | syntax.Member() | syntax.Index():
                return self._path(expression)
            case syntax.Splat():
                return self._splat(expression)
            case syntax.Call():
                return self._call(expression)
            case syntax.Unary(operator=operator, operand=operand):
                return unary(operator, self.evaluate(operand))
            case syntax.Binary():
                return self._binary(expression)
            case syntax.Conditional():
                return self._conditional(expression)
            case syntax.For():
                return self._for(expression)
        raise EvaluationError  # it is Broken

    def _all(self, expressions: Iterable[Expression]) -> list[Any]:
        values: list[Any] = []
        failures: list[EvaluationError] = []
        size = 0
        for expression in expressions:
            try:
                values.append(self.evaluate(expression))
                size += self.budget.size(values[-1])
                check_size(size)
            except LimitReached:
                raise
            except EvaluationError as error:
                failures.append(error)
        if failures:
            raise EvaluationError(*(problem for failure in failures for problem in failure.problems))
        return values

    def _template(self, template: syntax.Template) -> Any:
        values = self._all(template.parts)
        if len(values) == 1:
            return values[0]
        texts = [as_text(value) for value in values]
        for part, value, text in zip(template.parts, values, texts, strict=True):
            if text is None:
                message = f"{with_article(kind(value))} cannot be part of a string"
                raise error_at(part.position, message, "use jsonencode() or join()")
        check_size(sum(text_size(text) for text in texts if text is not None))
        return "".join(text for text in texts if text is not None)

    def _object(self, expression: syntax.ObjectOf) -> dict[str, Any]:
        flat = self._all(part for item in expression.items for part in item)
        result: dict[str, Any] = {}
        for (key_expression, _), key, value in zip(expression.items, flat[::2], flat[1::2], strict=True):
            result[_key_text(key, key_expression.position)] = value
        return result

    def _path(self, expression: syntax.Name | syntax.Member | syntax.Index) -> Any:
        steps: list[syntax.Member | syntax.Index] = []
        target: Expression = expression
        while isinstance(target, syntax.Member | syntax.Index):
            steps.append(target)
            target = target.target
        steps.reverse()
        if isinstance(target, syntax.Name) and target.name not in self.names:
            path = _leading_names(steps)
            value, taken = self.scope.resolve(target.name, path, target.position)
            steps = steps[taken:]
        elif isinstance(target, syntax.Name):
            value = self.names[target.name]
        else:
            value = self.evaluate(target)
        for step in steps:
            value = self._step(value, step)
        return value

    def _step(self, value: Any, step: syntax.Member | syntax.Index) -> Any:
        if isinstance(step, syntax.Member):
            return _member(value, step.name, step.name_position)
        return _member(value, self.evaluate(step.key), step.key.position)

    def _splat(self, expression: syntax.Splat) -> list[Any]:
        target = self.evaluate(expression.target)
        if target is None:
            return []
        items = target if isinstance(target, list) else [target]
        return self._gathered(
            self._with({syntax.SPLAT_ITEM: item}).evaluate(expression.each) for item in items
        )

    def _gathered(self, values: Iterable[Any]) -> list[Any]:
        """Stops before there are too many."""
        gathered: list[Any] = []
        size = 0
        for value in values:
            gathered.append(value)
            size += self.budget.size(value)
            check_size(size)
        return gathered

    def _binary(self, expression: syntax.Binary) -> Any:
        if expression.operator in ("&&", "||"):
            left = self.evaluate(expression.left)
            if left is (expression.operator == "||"):
                return left
            right = self.evaluate(expression.right)
        else:
            left, right = self._all((expression.left, expression.right))
            self.budget.charge(self.budget.size(left))
        return binary(expression.operator, left, right)

    def _conditional(self, expression: syntax.Conditional) -> Any:
        is_true = self._is_true(expression.condition)
        return self.evaluate(expression.if_true if is_true else expression.if_false)

    def _is_true(self, condition: Expression) -> bool:
        value = self.evaluate(condition)
        if not isinstance(value, bool):
            raise error_at(
                condition.position, f"a condition is true or false, not {with_article(kind(value))}"
            )
        return value

    def _for(self, expression: syntax.For) -> Any:
        over = self.evaluate(expression.over)
        pairs = _pairs(over, expression.over.position)
        if expression.key is None:
            return self._gathered(
                inner.evaluate(expression.value) for inner in self._rounds(expression, pairs)
            )
        result: dict[str, Any] = {}
        size = 0
        for inner in self._rounds(expression, pairs):
            key = _key_text(inner.evaluate(expression.key), expression.key.position)
            value = inner.evaluate(expression.value)
            size += text_size(key) + self.budget.size(value)
            check_size(size)
            if expression.groups:
                result.setdefault(key, []).append(value)
            elif key in result:
                message = f'the key "{key}" comes up twice'
                raise error_at(expression.key.position, message, "add `...` behind the value to collect them")
            else:
                result[key] = value
        return result

    def _rounds(self, expression: syntax.For, pairs: Iterable[tuple[Any, Any]]) -> Iterable[Evaluator]:
        for pair in pairs:
            inner = self._with(dict(zip(expression.names[::-1], pair[::-1], strict=False)))
            if expression.condition is None or inner._is_true(expression.condition):
                yield inner

    def _call(self, expression: syntax.Call) -> Any:
        if expression.function in ("try", "can"):
            return self._attempt(expression)
        if expression.function not in FUNCTION_NAMES:
            message = f'there is no function "{expression.function}"'
            raise error_at(expression.position, message, did_you_mean(expression.function, FUNCTION_NAMES))
        arguments = self._all(expression.arguments)
        positions = [argument.position for argument in expression.arguments]
        if expression.spreads_last:
            arguments, positions = _spread(arguments, positions)
        surroundings = Surroundings(self.now, self.environment, Path(expression.position.file).parent)
        try:
            self.budget.charge(sum(map(self.budget.size, arguments)))
            self.budget.charge(extra_work(expression.function, arguments))
            return call(expression.function, arguments, surroundings)
        except FunctionError as error:
            place = error.argument
            is_known = place is not None and place < len(positions)
            position = positions[place] if place is not None and is_known else expression.position
            raise error_at(position, f"{expression.function}(): {error.message}", error.hint) from None

    def _attempt(self, expression: syntax.Call) -> Any:
        if not expression.arguments or (expression.function == "can" and len(expression.arguments) > 1):
            count = "1 argument" if expression.function == "can" else "at least 1 argument"
            raise error_at(expression.position, f"{expression.function}(): takes {count}")
        failure = EvaluationError()
        for argument in expression.arguments:
            try:
                value = self.evaluate(argument)
            except EvaluationError as error:
                failure = error
            else:
                return True if expression.function == "can" else value
        if expression.function == "can":
            return False
        raise failure

    def _with(self, names: Mapping[str, Any]) -> Evaluator:
        return replace(self, names={**self.names, **names})


def error_at(position: Position, message: str, hint: str | None = None) -> EvaluationError:
    return EvaluationError(Problem(message, position, hint))


def _leading_names(steps: Sequence[syntax.Member | syntax.Index]) -> list[str]:
    names: list[str] = []
    for step in steps:
        if isinstance(step, syntax.Member):
            names.append(step.name)
        elif isinstance(step.key, syntax.Literal) and isinstance(step.key.value, str):
            names.append(step.key.value)
        else:
            break
    return names


def _member(value: Any, key: Any, position: Position) -> Any:
    if isinstance(value, dict):
        text = _key_text(key, position)
        if text in value:
            return value[text]
        raise error_at(position, f'the map has no key "{text}"', did_you_mean(text, value))
    if isinstance(value, list) and is_number(key):
        if isinstance(key, int) and 0 <= key < len(value):
            return value[key]
        raise error_at(position, f"the list has no item at this index; it holds {len(value)}")
    if isinstance(value, list) and isinstance(key, str):
        raise error_at(position, "a list has no attributes", f"for one of every item, write [*].{key}")
    if isinstance(value, BlockReference):
        raise error_at(position, f"{value} is a whole block; its arguments cannot be read", "use a local")
    raise error_at(position, f"{with_article(kind(value))} has nothing inside")


def _key_text(key: Any, position: Position) -> str:
    text = as_text(key)
    if text is None:
        raise error_at(position, f"a key is a string, not {with_article(kind(key))}")
    return text


def _pairs(over: Any, position: Position) -> Iterable[tuple[Any, Any]]:
    if isinstance(over, dict):
        return over.items()
    if isinstance(over, list):
        return enumerate(over)
    raise error_at(position, f"`for` goes over a list or a map, not {with_article(kind(over))}")


def _spread(arguments: list[Any], positions: list[Position]) -> tuple[list[Any], list[Position]]:
    last = arguments[-1]
    if not isinstance(last, list):
        raise error_at(positions[-1], f"`...` spreads a list, not {with_article(kind(last))}")
    return [*arguments[:-1], *last], [*positions[:-1], *([positions[-1]] * len(last))]
