"""Plays happenings and runs on a system and on the model, and compares what both have after every run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Any, Protocol

from hypothesis import note
from hypothesis import strategies as st

from rules_model import ALWAYS, EmptyWindow, Hours, Model, Reached, Run
from rules_world import (
    BEGINNING,
    DATED,
    UNDATED,
    Advance,
    Append,
    Copy,
    CopyTruncate,
    Damage,
    Entry,
    Happening,
    Line,
    NewDated,
    NewUndated,
    Pack,
    PackBeside,
    Remove,
    Rename,
    Repair,
    Replace,
    Rotate,
    World,
    moment,
)
from tailpipe.errors import ConflictError, UsageError
from tailpipe.lake.coverage import COLLECTED, EMPTY, cover
from tailpipe.lake.state import PartitionState
from tailpipe.times import Window

WHOLE = (COLLECTED, EMPTY)


class Killed(BaseException):
    """The process ends here: nothing may tidy up after it."""


class Fate(Enum):
    """What happens to a run at one of its commits."""

    KILLED_BEFORE = "killed before"
    KILLED_AFTER = "killed after"
    OVERTAKEN = "overtaken"


@dataclass
class Trap:
    """Sees the commits of a run, and has its fate happen at one of them. `at` counts from 1."""

    at: int | None = None
    fate: Fate = Fate.KILLED_BEFORE
    reached: Reached = field(default_factory=Reached)
    commits: int = 0

    def commit(self, kind: str, unit: str, commit: Callable[[], None]) -> None:
        self.commits += 1
        is_here = self.commits == self.at
        if is_here and self.fate is Fate.OVERTAKEN:
            raise ConflictError("another collector was faster")
        if is_here and self.fate is Fate.KILLED_BEFORE:
            raise Killed
        commit()
        if unit:
            self.reached.units.add(unit)
        self.reached.is_ended |= kind == "run"
        if is_here:
            raise Killed


@dataclass(frozen=True)
class Came:
    """What came of a run: how many rows it stored, and the days and files that failed."""

    stored: int
    failed: set[str]


class System(Protocol):
    """What is tried: it has a lake of its own and sees the world's files."""

    def collect(self, world: World, run: Run, trap: Trap) -> Came: ...

    def delete(self, start: int | None, end: int | None) -> None: ...

    def rows(self) -> dict[str, str]:
        """Records as their text, by id; fails where an id is there twice."""
        ...

    def rejects(self) -> dict[str, str]: ...

    def whole_days(self, world: World) -> set[int]:
        """Days of which coverage says that nothing is missing."""
        ...


@dataclass(frozen=True)
class Collect:
    """Times are hours before now. With `trap` something happens at that commit.

    The clock of the machine that runs it may be ahead, or behind.
    """

    start_ago: int | None = None
    hours: int | None = None
    sources: tuple[str, ...] = (DATED, UNDATED)
    is_overwrite: bool = False
    trap: tuple[int, Fate] | None = None
    hours_ahead: int = 0

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
                with _clock(world, operation.hours_ahead):
                    _collect(operation, world, model, system)
                _assert_honest(world, model, system)
            case Delete(start_ago, hours):
                start = None if start_ago is None else world.now - start_ago
                system.delete(start, None if start is None else start + hours)
                model.delete(_hours(start, hours))
                _compare(model, system)
                _assert_honest(world, model, system)
            case _:
                operation.apply(world)


@contextmanager
def _clock(world: World, hours_ahead: int) -> Iterator[None]:
    world.now += hours_ahead
    try:
        yield
    finally:
        world.now -= hours_ahead


def _hours(start: int | None, hours: int) -> Hours:
    return ALWAYS if start is None else frozenset(range(start, start + hours))


def _collect(operation: Collect, world: World, model: Model, system: System) -> None:
    run = operation.run(world.now)
    trap = Trap(*operation.trap) if operation.trap else Trap()
    try:
        model.check(world, run)
    except EmptyWindow:
        _assert_refused(world, run, system)
        return
    try:
        came = system.collect(world, run, trap)
    except Killed:
        note(f"killed after {trap.reached}")
        model.collect(world, run, trap.reached)
    else:
        trap.reached.is_ended = True
        assert came.failed == model.collect(world, run, trap.reached).labels
    _compare(model, system)
    if trap.reached.is_ended:
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
    assert system.collect(world, run, trap).stored == 0
    trap.reached.is_ended = True
    model.collect(world, run, trap.reached)
    _compare(model, system)


def _compare(model: Model, system: System) -> None:
    _assert_equal(Counter(system.rows().values()), model.rows())
    _assert_equal(Counter(system.rejects().values()), model.rejects())


def _assert_honest(world: World, model: Model, system: System) -> None:
    """No day is called whole that nobody has looked at, or of which a known file has rows that are not kept."""
    whole = system.whole_days(world)
    assert not whole & model.days_with_rows_not_kept()
    assert whole <= model.days_looked_at(world.now)


def _assert_equal(found: Counter[str], expected: Counter[str]) -> None:
    too_many, missing = found - expected, expected - found
    assert not too_many
    assert not missing


def assert_order_does_not_matter(
    world: World, whole: Run, parts: Sequence[Run], first: System, second: System
) -> None:
    """Runs over the parts of a window, in any order, end in the same table as one over all of it."""
    for part in parts:
        first.collect(world, part, Trap())
    second.collect(world, whole, Trap())
    assert first.rows() == second.rows()
    assert first.rejects() == second.rejects()


def assert_deaths_leave_no_trace(
    operations: Sequence[Operation], world: World, mortal: System, immortal: System
) -> None:
    """A run that dies at one of its commits, and then runs again, ends in the same table as one that does not."""
    for operation in operations:
        if isinstance(operation, Collect):
            with _clock(world, operation.hours_ahead):
                run = operation.run(world.now)
                with suppress(Killed, UsageError):
                    mortal.collect(world, run, Trap(*operation.trap) if operation.trap else Trap())
                for system in (mortal, immortal):
                    with suppress(UsageError):
                        system.collect(world, run, Trap())
            assert mortal.rows() == immortal.rows()
            assert mortal.rejects() == immortal.rejects()
        elif not isinstance(operation, Delete):
            operation.apply(world)


def whole_days(state: PartitionState, rows: Mapping[date, int], world: World) -> set[int]:
    window = Window(BEGINNING, moment(world.now))
    whole = (day.date for day in cover(state, rows, window, moment(world.now)) if day.state in WHOLE)
    return {(day - BEGINNING.date()).days for day in whole}


def weighted(choices: Sequence[tuple[int, st.SearchStrategy[Any]]]) -> st.SearchStrategy[Any]:
    """One of the strategies, each as often as its weight says."""
    drawn = [strategy for weight, strategy in choices for _ in range(weight)]
    return st.integers(0, len(drawn) - 1).flatmap(drawn.__getitem__)


ago = st.sampled_from([0, 5, 20, 30, 50, 75, 100, 130, 170, 200])
line = st.builds(
    Line,
    st.one_of(ago, st.integers(-3, 24 * 8)),
    st.sampled_from([False, False, True]),
    st.sampled_from([0, 0, 0, -1, 1, -3]),
)
entries = st.builds(
    Entry,
    st.lists(line, min_size=1, max_size=3).map(tuple),
    st.sampled_from([0, 0, 0, 1, 2, 9, 30]),
    st.booleans(),
)
maybe_entries = weighted([(2, entries), (1, st.just(Entry()))])
which = st.integers(0, 3)
sources = st.sampled_from([(DATED, UNDATED)] * 4 + [(DATED,), (UNDATED,)])
traps = weighted([(2, st.none()), (1, st.tuples(st.integers(1, 4), st.sampled_from(Fate)))])
lengths = st.one_of(st.none(), st.integers(1, 72))
collects = weighted(
    [
        (3, st.builds(Collect, sources=sources, trap=traps)),
        (1, st.builds(Collect, st.just(24 * 9), trap=traps)),
        (3, st.builds(Collect, ago, lengths, sources, st.sampled_from([False, False, True]), traps)),
        (1, st.builds(Collect, st.none(), st.integers(-100, 12), sources, st.booleans())),
        (1, st.builds(Collect, sources=sources, hours_ahead=st.sampled_from([30, 24 * 40, -50]))),
    ]
)
deletes = weighted([(4, st.builds(Delete, ago, st.integers(1, 60))), (1, st.just(Delete()))])
new_dated = st.builds(NewDated, st.integers(0, 8), entries)
new_undated = st.builds(NewUndated, entries)
happenings = weighted(
    [
        (3, new_dated),
        (1, new_undated),
        (6, st.builds(Append, which, entries)),
        (2, st.builds(Replace, which, entries)),
        (2, st.builds(Rotate, which, maybe_entries)),
        (1, st.builds(CopyTruncate, which, maybe_entries)),
        (1, st.builds(Pack, which)),
        (1, st.builds(PackBeside, which)),
        (1, st.builds(Rename, which)),
        (1, st.builds(Remove, which)),
        (1, st.builds(Damage, which)),
        (1, st.builds(Repair, which)),
        (1, st.builds(Copy, which)),
        (4, st.builds(Advance, st.sampled_from([1, 5, 24, 30, 72, 100, -30]))),
    ]
)
# Something to collect, then rounds of happenings with a run or a deletion after each.
beginnings: st.SearchStrategy[list[Happening]] = st.builds(
    list.__add__, st.lists(new_dated, max_size=3), st.lists(new_undated, min_size=1, max_size=2)
)
# What was deleted is asked for again, by the window that it was deleted by or another that begins with it.
again = st.builds(
    lambda ago, hours, more: [Delete(ago, hours), Collect(ago, None if more is None else hours + more)],
    ago,
    st.integers(1, 60),
    st.sampled_from([0, 0, 24, None]),
)
one = weighted([(4, collects), (1, deletes)]).map(lambda operation: [operation])
rounds = st.tuples(st.lists(happenings, max_size=2), weighted([(6, one), (1, again)]))
operations: st.SearchStrategy[list[Operation]] = st.builds(
    lambda beginning, rounds: [
        *beginning,
        *(operation for done, runs in rounds for operation in (*done, *runs)),
    ],
    beginnings,
    st.lists(rounds, min_size=3, max_size=7),
)


@st.composite
def divided_windows(draw: st.DrawFn) -> tuple[Collect, list[Collect]]:
    """A window, and windows that together are it, in any order."""
    start, length = draw(st.integers(30, 24 * 9)), draw(st.integers(1, 24 * 7))
    cuts = sorted({0, length, *draw(st.lists(st.integers(0, length), max_size=4))})
    overlaps = [draw(st.integers(0, 10)) for _ in cuts]
    parts = [
        Collect(start - max(0, begin - overlap), end - max(0, begin - overlap))
        for begin, end, overlap in zip(cuts, cuts[1:], overlaps, strict=False)
    ]
    return Collect(start, length), draw(st.permutations(parts))
