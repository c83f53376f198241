"""Expressions to values.

One evaluation reports every independent error in its expression. Messages name keys, functions and references
but never quote values: any value may hold a secret, and the position shows where to look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from tailpipe.config.functions.registry import (
    FunctionError,
    Surroundings,
    call,
    extra_work,
    function_names,
)
from tailpipe.config.language.kinds import BlockReference, as_text, is_number, kind, with_article
from tailpipe.config.language.limits import Budget, OverLimit, check_size, text_size
from tailpipe.config.language.operators import OperationError, binary, unary
from tailpipe.config.language.syntax import (
    SPLAT_ITEM,
    Binary,
    Broken,
    Call,
    Conditional,
    Expression,
    For,
    Index,
    ListOf,
    Literal,
    Member,
    Name,
    ObjectOf,
    Splat,
    Template,
    Unary,
)
from tailpipe.errors import Position, Problem
from tailpipe.suggest import did_you_mean

# Expressions whose value is a new one.
_MAKERS = (Template, ListOf, ObjectOf, Splat, Call, For)


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
            raise _error(expression.position, message, "name its parts in `locals`") from None

    def evaluate(self, expression: Expression) -> Any:
        try:
            self.budget.step()
            value = self._value(expression)
            if isinstance(expression, _MAKERS):
                self.budget.keep(value)
        except OverLimit as error:
            raise LimitReached(Problem(str(error), expression.position)) from None
        return value

    def _value(self, expression: Expression) -> Any:
        match expression:
            case Literal(value=value):
                return value
            case Broken():
                raise EvaluationError
            case Template():
                return self._template(expression)
            case ListOf(items=items):
                return self._all(items)
            case ObjectOf():
                return self._object(expression)
            case Name() | Member() | Index():
                return self._path(expression)
            case Splat():
                return self._splat(expression)
            case Call():
                return self._call(expression)
            case Unary(operator=operator, operand=operand):
                value = self.evaluate(operand)
                return _operate(expression.position, lambda: unary(operator, value))
            case Binary():
                return self._binary(expression)
            case Conditional():
                return self._conditional(expression)
            case For():
                return self._for(expression)

    def _all(self, expressions: Iterable[Expression]) -> list[Any]:
        values: list[Any] = []
        problems: list[Problem] = []
        failed = False
        size = 0
        for expression in expressions:
            try:
                values.append(self.evaluate(expression))
                size += self.budget.size(values[-1])
                check_size(size)
            except LimitReached:
                raise
            except EvaluationError as error:
                failed = True
                problems.extend(error.problems)
        if failed:
            raise EvaluationError(*problems)
        return values

    def _template(self, template: Template) -> Any:
        values = self._all(template.parts)
        if len(values) == 1:
            return values[0]
        texts = [as_text(value) for value in values]
        for part, value, text in zip(template.parts, values, texts, strict=True):
            if text is None:
                message = f"{with_article(kind(value))} cannot be part of a string"
                raise _error(part.position, message, "use jsonencode() or join()")
        check_size(sum(text_size(text) for text in texts if text is not None))
        return "".join(text for text in texts if text is not None)

    def _object(self, expression: ObjectOf) -> dict[str, Any]:
        flat = self._all(part for item in expression.items for part in item)
        result: dict[str, Any] = {}
        for (key_expression, _), key, value in zip(expression.items, flat[::2], flat[1::2], strict=True):
            result[_key_text(key, key_expression.position)] = value
        return result

    def _path(self, expression: Name | Member | Index) -> Any:
        steps: list[Member | Index] = []
        target: Expression = expression
        while isinstance(target, Member | Index):
            steps.append(target)
            target = target.target
        steps.reverse()
        if isinstance(target, Name) and target.name not in self.names:
            path = _leading_names(steps)
            value, taken = self.scope.resolve(target.name, path, target.position)
            steps = steps[taken:]
        elif isinstance(target, Name):
            value = self.names[target.name]
        else:
            value = self.evaluate(target)
        for step in steps:
            value = self._step(value, step)
        return value

    def _step(self, value: Any, step: Member | Index) -> Any:
        if isinstance(step, Member):
            return _member(value, step.name, step.name_position)
        return _member(value, self.evaluate(step.key), step.key.position)

    def _splat(self, expression: Splat) -> list[Any]:
        target = self.evaluate(expression.target)
        if target is None:
            return []
        items = target if isinstance(target, list) else [target]
        return self._gathered(self._with({SPLAT_ITEM: item}).evaluate(expression.each) for item in items)

    def _gathered(self, values: Iterable[Any]) -> list[Any]:
        """Stops before there are too many."""
        gathered: list[Any] = []
        size = 0
        for value in values:
            gathered.append(value)
            size += self.budget.size(value)
            check_size(size)
        return gathered

    def _binary(self, expression: Binary) -> Any:
        if expression.operator in ("&&", "||"):
            left = self.evaluate(expression.left)
            if left is (expression.operator == "||"):
                return left
            right = self.evaluate(expression.right)
        else:
            left, right = self._all((expression.left, expression.right))
            self.budget.charge(self.budget.size(left))
        return _operate(expression.position, lambda: binary(expression.operator, left, right))

    def _conditional(self, expression: Conditional) -> Any:
        condition = self.evaluate(expression.condition)
        if not isinstance(condition, bool):
            message = f"a condition is true or false, not {with_article(kind(condition))}"
            raise _error(expression.condition.position, message)
        return self.evaluate(expression.if_true if condition else expression.if_false)

    def _for(self, expression: For) -> Any:
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
                raise _error(expression.key.position, message, "add `...` behind the value to collect them")
            else:
                result[key] = value
        return result

    def _rounds(self, expression: For, pairs: Iterable[tuple[Any, Any]]) -> Iterable[Evaluator]:
        for pair in pairs:
            inner = self._with(dict(zip(expression.names[::-1], pair[::-1], strict=False)))
            if expression.condition is not None:
                wanted = inner.evaluate(expression.condition)
                if not isinstance(wanted, bool):
                    message = f"a condition is true or false, not {with_article(kind(wanted))}"
                    raise _error(expression.condition.position, message)
                if not wanted:
                    continue
            yield inner

    def _call(self, expression: Call) -> Any:
        if expression.function in ("try", "can"):
            return self._attempt(expression)
        if expression.function not in function_names():
            message = f'there is no function "{expression.function}"'
            raise _error(expression.position, message, did_you_mean(expression.function, function_names()))
        arguments = self._all(expression.arguments)
        positions = [argument.position for argument in expression.arguments]
        if expression.spreads_last:
            arguments, positions = _spread(arguments, positions)
        folder = Path(expression.position.file).parent
        surroundings = Surroundings(self.now, self.environment, folder)
        try:
            self.budget.charge(sum(map(self.budget.size, arguments)))
            self.budget.charge(extra_work(expression.function, arguments))
            return call(expression.function, arguments, surroundings)
        except FunctionError as error:
            place = error.argument
            is_known = place is not None and place < len(positions)
            position = positions[place] if place is not None and is_known else expression.position
            raise _error(position, f"{expression.function}(): {error.message}", error.hint) from None

    def _attempt(self, expression: Call) -> Any:
        if not expression.arguments or (expression.function == "can" and len(expression.arguments) > 1):
            count = "1 argument" if expression.function == "can" else "at least 1 argument"
            raise _error(expression.position, f"{expression.function}(): takes {count}")
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


def _error(position: Position, message: str, hint: str | None = None) -> EvaluationError:
    return EvaluationError(Problem(message, position, hint))


def _operate(position: Position, operation: Callable[[], Any]) -> Any:
    try:
        return operation()
    except OperationError as error:
        raise _error(position, str(error)) from None


def _leading_names(steps: Sequence[Member | Index]) -> list[str]:
    names: list[str] = []
    for step in steps:
        if isinstance(step, Member):
            names.append(step.name)
        elif isinstance(step.key, Literal) and isinstance(step.key.value, str):
            names.append(step.key.value)
        else:
            break
    return names


def _member(value: Any, key: Any, position: Position) -> Any:
    if isinstance(value, dict):
        text = _key_text(key, position)
        if text in value:
            return value[text]
        raise _error(position, f'the map has no key "{text}"', did_you_mean(text, value))
    if isinstance(value, list) and is_number(key):
        if isinstance(key, int) and 0 <= key < len(value):
            return value[key]
        raise _error(position, f"the list has no item at this index; it holds {len(value)}")
    if isinstance(value, list) and isinstance(key, str):
        raise _error(position, "a list has no attributes", f"for one of every item, write [*].{key}")
    if isinstance(value, BlockReference):
        raise _error(position, f"{value} is a whole block; its arguments cannot be read", "use a local")
    raise _error(position, f"{with_article(kind(value))} has nothing inside")


def _key_text(key: Any, position: Position) -> str:
    text = as_text(key)
    if text is None:
        raise _error(position, f"a key is a string, not {with_article(kind(key))}")
    return text


def _pairs(over: Any, position: Position) -> Iterable[tuple[Any, Any]]:
    if isinstance(over, dict):
        return over.items()
    if isinstance(over, list):
        return enumerate(over)
    raise _error(position, f"`for` goes over a list or a map, not {with_article(kind(over))}")


def _spread(arguments: list[Any], positions: list[Position]) -> tuple[list[Any], list[Position]]:
    last = arguments[-1]
    if not isinstance(last, list):
        raise _error(positions[-1], f"`...` spreads a list, not {with_article(kind(last))}")
    return [*arguments[:-1], *last], [*positions[:-1], *([positions[-1]] * len(last))]
