"""What names mean across the configuration: locals, variables, and references to blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailpipe.config.language.evaluate import EvaluationError, error_at
from tailpipe.config.language.kinds import BlockReference
from tailpipe.config.report import Report
from tailpipe.errors import Position
from tailpipe.suggest import did_you_mean, near_or_all

# Blocks that can be referred to, and the labels such a reference has.
REFERABLE = {"connection": 2, "source": 2, "format": 2, "table": 1, "partition": 2, "workspace": 1}
_VALUE_ROOTS = {"local": "local", "var": "variable"}


@dataclass
class GlobalScope:
    """`compute` makes the value of ("local" or "var", name); it runs once for each, at first use."""

    report: Report
    compute: Callable[[str, str], Any]
    value_positions: Mapping[tuple[str, str], Position]
    references: Mapping[str, set[tuple[str, ...]]]
    is_whole: bool = True
    _values: dict[tuple[str, str], Any] = field(default_factory=dict)
    _failed: set[tuple[str, str]] = field(default_factory=set)
    _under_way: list[tuple[str, str]] = field(default_factory=list)

    def resolve(self, root: str, path: Sequence[str], position: Position) -> tuple[Any, int]:
        if root in _VALUE_ROOTS:
            return self._named_value(root, path, position), 1
        if root in REFERABLE:
            return self._reference(root, path, position)
        roots = (*_VALUE_ROOTS, *REFERABLE)
        hint = did_you_mean(root, roots) or "text stands in quotes; in a string, `$${` keeps a `${` as it is"
        raise error_at(position, f'there is nothing called "{root}"', hint)

    def value(self, root: str, name: str) -> Any:
        key = (root, name)
        if key in self._values:
            return self._values[key]
        if key in self._failed:
            raise EvaluationError
        try:
            self._values[key] = self._compute(key)
        except EvaluationError as error:
            self._failed.add(key)
            self.report.add(*error.problems)
            raise EvaluationError from None
        return self._values[key]

    def compute_all(self) -> None:
        for root, name in self.value_positions:
            try:
                self.value(root, name)
            except EvaluationError:
                continue

    def _compute(self, key: tuple[str, str]) -> Any:
        if key in self._under_way:
            circle = [*self._under_way[self._under_way.index(key) :], key]
            shown = " → ".join(".".join(each) for each in circle)
            message = f"{'.'.join(key)} depends on itself: {shown}"
            raise error_at(self.value_positions[key], message, "give one of them a value of its own")
        self._under_way.append(key)
        try:
            return self.compute(*key)
        finally:
            self._under_way.pop()

    def _named_value(self, root: str, path: Sequence[str], position: Position) -> Any:
        if path and (root, path[0]) in self.value_positions:
            return self.value(root, path[0])
        names = [name for kind, name in self.value_positions if kind == root]
        if not path:
            raise error_at(position, f"{root} needs a name", f"write {root}.{names[0] if names else 'name'}")
        if not self.is_whole:
            raise EvaluationError
        message = f'there is no {_VALUE_ROOTS[root]} "{path[0]}"'
        raise error_at(position, message, near_or_all(path[0], names, f"{_VALUE_ROOTS[root]}s"))

    def _reference(self, kind: str, path: Sequence[str], position: Position) -> tuple[BlockReference, int]:
        known = self.references[kind]
        for length in (REFERABLE[kind], 1):
            labels = tuple(path[:length])
            if labels in known:
                return BlockReference(kind, labels, position), length
        if not self.is_whole:
            raise EvaluationError
        raise _unknown_block(kind, path, known, position)


def _unknown_block(
    kind: str, path: Sequence[str], known: Iterable[tuple[str, ...]], position: Position
) -> EvaluationError:
    wanted = REFERABLE[kind]
    names = {".".join((kind, *labels)) for labels in known}
    if len(path) < wanted and kind != "format":
        parts = "a type and a name" if wanted == 2 else "a name"
        parts = "a table and a name" if kind == "partition" else parts
        shown = ".".join((kind, *path))
        return error_at(position, f"a reference to a {kind} has {parts}", did_you_mean(shown, names))
    shown = ".".join((kind, *path[:wanted]))
    return error_at(position, f"{shown} does not exist", near_or_all(shown, names, "there are"))
