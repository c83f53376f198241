"""Arguments of a block against what its type declares: unknown, missing and of the wrong type."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tailpipe.config.language.evaluate import EvaluationError, Evaluator
from tailpipe.config.language.kinds import as_text, fits, kind, with_article
from tailpipe.config.language.syntax import Block, Expression
from tailpipe.config.report import Report
from tailpipe.config.schema import BOOL, NUMBER, STRING, STRING_MAP, STRINGS, Argument, BlockSchema
from tailpipe.errors import Position
from tailpipe.suggest import listed, near_or_all

_WANTED = {
    STRING: "a string",
    NUMBER: "a number",
    BOOL: "true or false",
    STRINGS: "a list of strings",
    STRING_MAP: "a map of strings",
}
_HINTS = {
    (STRING, "number"): "put it in quotes",
    (STRING, "bool"): "put it in quotes",
    (NUMBER, "string"): "write it without quotes, or use tonumber()",
    (BOOL, "string"): "write it without quotes, or use tobool()",
    (STRINGS, "string"): 'write a list: ["…"]',
    (STRING_MAP, "list"): 'write a map: { name = "…" }',
}


@dataclass(frozen=True)
class Entry:
    """One `name = value`, evaluated."""

    name: str
    value: Any
    name_position: Position
    value_position: Position


@dataclass(frozen=True)
class Arguments:
    """`values` holds what was written and is right; null counts as not written.

    `positions` point at values. `unreadable` are given too, but their value is unknown: its error is
    reported. `missing` are needed and not given, which is reported too.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    positions: Mapping[str, Position] = field(default_factory=dict)
    unreadable: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    def is_given(self, name: str) -> bool:
        return name in self.values or name in self.unreadable

    def is_whole_without(self, names: Collection[str] = ()) -> bool:
        """Whether the value of every other argument is known, so that they can be checked together."""
        return (self.unreadable | self.missing) <= frozenset(names)

    def without(self, names: Collection[str]) -> tuple[dict[str, Any], dict[str, Position]]:
        values = {name: value for name, value in self.values.items() if name not in names}
        return values, {name: self.positions[name] for name in values}


@dataclass(frozen=True)
class BlockReader:
    """Evaluates and checks; whatever is wrong goes to the report."""

    evaluator: Evaluator
    report: Report

    def evaluate(self, expression: Expression) -> tuple[bool, Any]:
        """Whether it worked, and the value."""
        try:
            return True, self.evaluator.evaluate_whole(expression)
        except EvaluationError as error:
            self.report.add(*error.problems)
            self.report.fail()
            return False, None

    def arguments(
        self, block: Block, schema: BlockSchema, owner: str, inner_blocks: Collection[str] = ()
    ) -> Arguments:
        entries: list[Entry] = []
        unreadable: set[str] = set()
        for attribute in block.attributes:
            is_read, value = self.evaluate(attribute.value)
            if is_read:
                entries.append(Entry(attribute.name, value, attribute.position, attribute.value.position))
            elif schema.argument(attribute.name) is None:
                self._refuse_name(attribute.name, attribute.position, schema, owner)
            else:
                unreadable.add(attribute.name)
        self._refuse_inner_blocks(block, schema, owner, inner_blocks)
        return self.check(entries, schema, owner, block.position, frozenset(unreadable))

    def check(
        self,
        entries: Iterable[Entry],
        schema: BlockSchema,
        owner: str,
        position: Position,
        unreadable: frozenset[str] = frozenset(),
    ) -> Arguments:
        values: dict[str, Any] = {}
        positions: dict[str, Position] = {}
        failed = set(unreadable)
        for entry in entries:
            argument = schema.argument(entry.name)
            if argument is None:
                self._refuse_name(entry.name, entry.name_position, schema, owner)
            elif entry.value is not None:
                fits, value = self._checked(entry, argument, owner)
                if fits:
                    values[entry.name], positions[entry.name] = value, entry.value_position
                else:
                    failed.add(entry.name)
        missing = self._require(values.keys() | failed, schema, owner, position)
        self._require_company(positions, values.keys() | failed, schema, owner)
        return Arguments(values, positions, frozenset(failed), missing)

    def _require(
        self, given: Collection[str], schema: BlockSchema, owner: str, position: Position
    ) -> frozenset[str]:
        """The names of those that are not given."""
        missing = [each for each in schema.arguments if each.required and each.name not in given]
        for argument in missing:
            hint = argument.description or f"add `{argument.name} = …`"
            self.report.error(position, f'{owner} needs the argument "{argument.name}"', hint)
        return frozenset(argument.name for argument in missing)

    def _require_company(
        self, written: Mapping[str, Position], given: Collection[str], schema: BlockSchema, owner: str
    ) -> None:
        for argument in schema.arguments:
            if argument.name in written and argument.needs and argument.needs not in given:
                message = f'argument "{argument.name}" of {owner} needs the argument "{argument.needs}"'
                self.report.error(written[argument.name], message, f"add `{argument.needs} = …`")

    def _refuse_name(self, name: str, position: Position, schema: BlockSchema, owner: str) -> None:
        known = [argument.name for argument in schema.arguments]
        self.report.error(
            position, f'{owner} has no argument "{name}"', near_or_all(name, known, "arguments")
        )

    def _refuse_inner_blocks(
        self, block: Block, schema: BlockSchema, owner: str, allowed: Collection[str]
    ) -> None:
        for inner in block.blocks:
            if inner.type in allowed:
                continue
            if schema.argument(inner.type):
                hint: str | None = f"write `{inner.type} = {{ … }}`"
            else:
                hint = near_or_all(inner.type, allowed, "blocks")
            self.report.error(inner.position, f'{owner} has no block "{inner.type}"', hint)

    def _checked(self, entry: Entry, argument: Argument, owner: str) -> tuple[bool, Any]:
        value = entry.value
        if argument.type == STRING_MAP and isinstance(value, dict):
            value = {key: item if as_text(item) is None else as_text(item) for key, item in value.items()}
        if not fits(value, argument.type):
            found = _found(value, argument.type)
            message = f'argument "{entry.name}" of {owner} must be {_WANTED[argument.type]}, not {found}'
            self.report.error(entry.value_position, message, _HINTS.get((argument.type, kind(value))))
            return False, None
        if argument.choices and value not in argument.choices:
            shown = "" if argument.is_secret else f', not "{value}"'
            message = f'argument "{entry.name}" of {owner} must be one of {listed(argument.choices)}{shown}'
            hint = None if argument.is_secret else near_or_all(str(value), argument.choices, "choices")
            self.report.error(entry.value_position, message, hint)
            return False, None
        return True, value


def _found(value: Any, wanted: str) -> str:
    if wanted == STRINGS and isinstance(value, list):
        wrong = next(item for item in value if not isinstance(item, str))
        return f"a list with {with_article(kind(wrong))}"
    if wanted == STRING_MAP and isinstance(value, dict):
        return "a map with other things"
    return with_article(kind(value))


def one_or_more(arguments: Arguments, name: str, owner: str, report: Report) -> tuple[str, ...]:
    """A string, or a list of them."""
    value = arguments.get(name)
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if fits(value, STRINGS):
        return tuple(value)
    message = f'argument "{name}" of {owner} must be a string or a list of strings, not '
    report.error(arguments.positions[name], message + _found(value, STRINGS))
    return ()
