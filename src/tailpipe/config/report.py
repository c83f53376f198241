"""Collects problems, so that one run shows them all, and which blocks they spoil."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tailpipe.errors import Position, Problem

# The kind of a block and its labels, or the names it is known by.
BlockKey = tuple[str, tuple[str, ...]]


@dataclass
class Report:
    """`broken` holds the blocks that cannot be used, with the problems that were found while they were read."""

    problems: list[Problem] = field(default_factory=list)
    broken: dict[BlockKey, list[Problem]] = field(default_factory=dict)
    _failures: int = 0

    def error(self, position: Position | None, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(message, position, hint))
        self.fail()

    def warn(self, position: Position | None, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(message, position, hint, is_warning=True))

    def add(self, *problems: Problem) -> None:
        self.problems.extend(problems)

    def fail(self) -> None:
        """The block that is being read cannot be used; the reason is told, here or elsewhere."""
        self._failures += 1

    @contextmanager
    def reading(self, kind: str, labels: tuple[str, ...]) -> Iterator[None]:
        """Errors and failures until the end spoil this block."""
        failures, told = self._failures, len(self.problems)
        yield
        if self._failures > failures:
            self.spoil(kind, labels, self.problems[told:])

    def spoil(self, kind: str, labels: tuple[str, ...], problems: Iterable[Problem] = ()) -> None:
        errors = [problem for problem in problems if not problem.is_warning]
        self.broken.setdefault((kind, labels), []).extend(errors)

    def use(self, kind: str, labels: tuple[str, ...]) -> None:
        """What uses a broken block is broken."""
        if (kind, labels) in self.broken:
            self.fail()


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """By place, each once; problems without a place come last."""
    return tuple(sorted(dict.fromkeys(problems), key=_place))


def _place(problem: Problem) -> tuple[bool, Position, str]:
    return problem.position is None, problem.position or Position("", 0, 0), problem.message
