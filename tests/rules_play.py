"""Plays happenings and runs on a system and on the model, and compares what both have after every run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hypothesis import note
from hypothesis import strategies as st

from rules_model import ALWAYS, EmptyWindow, Hours, Model, Reached, Run
from rules_world import (
    DATED,
    UNDATED,
    Advance,
    Append,
    AppendHalf,
    Copy,
    CopyTruncate,
    Happening,
    Line,
    NewDated,
    NewUndated,
    Pack,
    Remove,
    Replace,
    Rotate,
    World,
)
from tailpipe.errors import UsageError


class Killed(BaseException):
    """The process ends here: nothing may tidy up after it."""


@dataclass
class Trap:
    """Sees the commits of a run, and ends it before or after one of them. `at` counts from 1."""

    at: int | None = None
    is_after: bool = False
    reached: Reached = field(default_factory=Reached)
    commits: int = 0

    def commit(self, kind: str, unit: str, commit: Callable[[], None]) -> None:
        self.commits += 1
        if self.commits == self.at and not self.is_after:
            raise Killed
        commit()
        if unit:
            self.reached.units.add(unit)
        self.reached.is_ended |= kind == "run"
        if self.commits == self.at:
            raise Killed


class System(Protocol):
    """What is tried: it has a lake of its own and sees the world's files."""

    def collect(self, world: World, run: Run, trap: Trap) -> int:
        """Returns how many rows were stored."""
        ...

    def delete(self, start: int | None, end: int | None) -> None: ...

    def rows(self) -> Counter[str]:
        """Records as their text; fails where an id is there twice."""
        ...

    def rejects(self) -> Counter[str]: ...


@dataclass(frozen=True)
class Collect:
    """Times are hours before now. With `kill` the run dies at that commit."""

    start_ago: int | None = None
    hours: int | None = None
    sources: tuple[str, ...] = (DATED, UNDATED)
    is_overwrite: bool = False
    kill: tuple[int, bool] | None = None

    def run(self, now: int) -> Run:
        start = None if self.start_ago is None else now - self.start_ago
        end = None if self.hours is None else (now if start is None else start) + self.hours
        return Run(start, end, self.sources, self.is_overwrite)


@dataclass(frozen=True)
class Delete:
    """Rows of so many hours, or all."""

    start_ago: int | None = None
    hours: int = 0


Operation = Happening | Collect | Delete


def play(operations: Sequence[Operation], world: World, system: System) -> None:
    model = Model()
    for operation in operations:
        match operation:
            case Collect():
                _collect(operation, world, model, system)
            case Delete(start_ago, hours):
                start = None if start_ago is None else world.now - start_ago
                system.delete(start, None if start is None else start + hours)
                model.delete(_hours(start, hours))
                _compare(model, system)
            case _:
                operation.apply(world)


def _hours(start: int | None, hours: int) -> Hours:
    return ALWAYS if start is None else frozenset(range(start, start + hours))


def _collect(operation: Collect, world: World, model: Model, system: System) -> None:
    run = operation.run(world.now)
    trap = Trap(*operation.kill) if operation.kill else Trap()
    try:
        model.check(world, run)
    except EmptyWindow:
        _assert_refused(world, run, system)
        return
    try:
        system.collect(world, run, trap)
    except Killed:
        note(f"killed after {trap.reached}")
    else:
        trap.reached.is_ended = True
    model.collect(world, run, trap.reached)
    _compare(model, system)
    if operation.kill is None:
        _assert_idle(world, Run(run.start, run.end, run.sources), model, system)


def _assert_refused(world: World, run: Run, system: System) -> None:
    try:
        system.collect(world, run, Trap())
    except UsageError:
        return
    raise AssertionError("an empty window must be refused")


def _assert_idle(world: World, run: Run, model: Model, system: System) -> None:
    """The same again stores nothing."""
    trap = Trap()
    try:
        model.check(world, run)
    except EmptyWindow:
        return
    assert system.collect(world, run, trap) == 0
    trap.reached.is_ended = True
    model.collect(world, run, trap.reached)
    _compare(model, system)


def _compare(model: Model, system: System) -> None:
    rows, rejects = system.rows(), system.rejects()
    assert (rows - model.rows(), model.rows() - rows) == (Counter(), Counter()), "too many, missing"
    assert (rejects - model.rejects(), model.rejects() - rejects) == (Counter(), Counter())


lines = st.lists(
    st.builds(Line, st.integers(-3, 24 * 8), st.sampled_from([False, False, False, True])), max_size=3
).map(tuple)
some_lines = lines.filter(bool)
which = st.integers(0, 5)
sources = st.sampled_from([(DATED, UNDATED)] * 4 + [(DATED,), (UNDATED,)])
kills = st.one_of(st.none(), st.none(), st.tuples(st.integers(1, 4), st.booleans()))
collects = st.one_of(
    st.builds(Collect, sources=sources, kill=kills),
    st.builds(
        Collect,
        st.integers(0, 24 * 9),
        st.one_of(st.none(), st.integers(1, 72)),
        sources,
        st.sampled_from([False, False, True]),
        kills,
    ),
    st.builds(Collect, st.none(), st.integers(-100, 12), sources, st.booleans()),
)
happenings: st.SearchStrategy[Happening] = st.one_of(
    st.builds(NewDated, st.integers(0, 8), some_lines),
    st.builds(NewUndated, some_lines),
    st.builds(Append, which, some_lines),
    st.builds(AppendHalf, which, st.builds(Line, st.integers(0, 99)), st.sampled_from([1, 9, 30])),
    st.builds(Replace, which, some_lines),
    st.builds(Rotate, which, lines),
    st.builds(CopyTruncate, which, lines),
    st.builds(Pack, which),
    st.builds(Remove, which),
    st.builds(Copy, which),
    st.builds(Advance, st.sampled_from([1, 5, 24, 30, 72])),
)
deletes = st.one_of(st.builds(Delete, st.integers(0, 24 * 8), st.integers(1, 60)), st.just(Delete()))
# Something to collect, then rounds of happenings with a run or a deletion after each.
rounds = st.tuples(st.lists(happenings, max_size=3), st.one_of(collects, collects, collects, deletes))
beginnings = st.tuples(st.builds(NewDated, st.integers(0, 8), some_lines), st.builds(NewUndated, some_lines))
operations: st.SearchStrategy[list[Operation]] = st.builds(
    lambda beginning, rounds: [
        *beginning,
        *(operation for done, run in rounds for operation in (*done, run)),
    ],
    beginnings,
    st.lists(rounds, min_size=1, max_size=6),
)
