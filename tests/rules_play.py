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

from rules_model import ALWAYS, EmptyWindow, Hours, Model, Reached, Run
from rules_world import (
    BEGINNING,
    DATED,
    UNDATED,
    Happening,
    World,
    moment,
)
from tailpipe.errors import ConflictError, UsageError
from tailpipe.lake.coverage import COLLECTED, EMPTY, EXPIRED, cover
from tailpipe.lake.state import PartitionState
from tailpipe.times import Window

WHOLE = (COLLECTED, EMPTY)
GONE = (EXPIRED,)


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
        self.reached.is_expired |= kind == "expire"
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

    def configure(self, expire_after: int | None) -> None:
        """In days."""
        ...

    def expire(self, world: World, days: int, is_forced: bool) -> None: ...

    def compact(self) -> None: ...

    def vacuum(self) -> None: ...

    def version(self) -> Any:
        """What names what is there now; None while there is nothing."""
        ...

    def restore(self, version: Any) -> bool:
        """Whether it could be done."""
        ...

    def rows(self) -> dict[str, str]:
        """Records as their text, by id; fails where an id is there twice."""
        ...

    def rejects(self) -> dict[str, str]: ...

    def whole_days(self, world: World) -> set[int]:
        """Days of which coverage says that nothing is missing."""
        ...

    def expired_days(self, world: World) -> set[int]:
        """Days of which coverage says that they are expired."""
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


@dataclass(frozen=True)
class Configure:
    """From now on rows expire after so many days, or stay."""

    expire_after: int | None


@dataclass(frozen=True)
class Expire:
    """What is older than so many days leaves, whatever is configured; by a clock that may be wrong, and is believed."""

    days: int
    hours_ahead: int = 0
    is_forced: bool = False


@dataclass(frozen=True)
class Compact:
    """Files are merged."""


@dataclass(frozen=True)
class Vacuum:
    """Whatever only older versions need goes."""


@dataclass(frozen=True)
class Restore:
    """The table becomes what it was so many moves ago."""

    ago: int


Upkeep = Configure | Expire | Compact | Vacuum | Restore
Operation = Happening | Collect | Delete | Upkeep


@dataclass
class Past:
    """What was there after each move. Before the last vacuum it may be gone."""

    moves: list[tuple[Any, Model]] = field(default_factory=list)
    vacuumed: int = 0

    def note(self, version: Any, model: Model) -> None:
        if version is not None:
            self.moves.append((version, model.copy()))


def play(operations: Sequence[Operation], world: World, system: System) -> None:
    model, past = Model(), Past()
    for operation in operations:
        match operation:
            case Collect():
                with _clock(world, operation.hours_ahead):
                    _collect(operation, world, model, system)
            case Delete(start_ago, hours):
                start = None if start_ago is None else world.now - start_ago
                system.delete(start, None if start is None else start + hours)
                model.delete(_hours(start, hours))
            case Configure(days):
                world.expire_after = days
                system.configure(days)
            case Expire(days, hours_ahead, is_forced):
                with _clock(world, hours_ahead):
                    system.expire(world, days, is_forced)
                    model.expire(model.edge_after(world.now, days, is_forced=is_forced))
            case Compact():
                system.compact()
            case Vacuum():
                system.vacuum()
                past.vacuumed = len(past.moves)
            case Restore(ago):
                model = _restore(ago, past, model, system)
            case _:
                operation.apply(world)
                continue
        _compare(model, system)
        _assert_honest(world, model, system)
        past.note(system.version(), model)


def _restore(ago: int, past: Past, model: Model, system: System) -> Model:
    if not past.moves:
        return model
    number = len(past.moves) - 1 - ago % len(past.moves)
    version, then = past.moves[number]
    if system.restore(version):
        return then.copy()
    assert number < past.vacuumed, "nothing was vacuumed since"
    return model


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
        edge = model.edge(world)
        assert came.failed == model.collect(world, run, trap.reached).labels
        assert not model.has_rows_before(edge)
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
    rejects = Counter(system.rejects().values())
    assert rejects <= model.rejects()
    assert rejects >= model.sure_rejects()


def _assert_honest(world: World, model: Model, system: System) -> None:
    """No day is called whole that nobody has looked at, or of which a known file has rows that are not kept; days are
    called expired that are."""
    assert system.expired_days(world) == model.expired_days(world.now)
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
        elif not isinstance(operation, Delete | Upkeep):
            operation.apply(world)


def days_of(states: Sequence[str], state: PartitionState, rows: Mapping[date, int], world: World) -> set[int]:
    """Days that coverage calls so, up to now."""
    window = Window(BEGINNING, moment(world.now))
    found = (day.date for day in cover(state, rows, window, moment(world.now)) if day.state in states)
    return {(day - BEGINNING.date()).days for day in found}
