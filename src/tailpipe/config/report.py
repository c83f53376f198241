"""Collects problems, so that one run shows them all."""

from __future__ import annotations

from dataclasses import dataclass, field

from tailpipe.errors import Position, Problem


@dataclass
class Report:
    problems: list[Problem] = field(default_factory=list)

    def error(self, position: Position | None, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(message, position, hint))

    def warn(self, position: Position | None, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(message, position, hint, is_warning=True))

    def add(self, *problems: Problem) -> None:
        self.problems.extend(problems)

    @property
    def has_errors(self) -> bool:
        return any(not problem.is_warning for problem in self.problems)

    def in_order(self) -> tuple[Problem, ...]:
        """By place, each once; problems without a place come last."""
        unique = dict.fromkeys(self.problems)
        return tuple(sorted(unique, key=_place))


def _place(problem: Problem) -> tuple[bool, Position, str]:
    return problem.position is None, problem.position or Position("", 0, 0), problem.message
