"""What the rules of collection say should be in the table, told as simply as can be: whole texts and sets of hours.

Nothing here knows how the product knows files again, folds windows or marks what it read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from rules_world import (
    BEGINNING,
    DATED,
    HOURS,
    LATENESS_HOURS,
    LOOKBACK_HOURS,
    UNDATED,
    LogFile,
    World,
    day_hours,
    moment,
)

ALWAYS = frozenset(range(HOURS))
Hours = frozenset[int]
# A clock is believed so far beyond the last run.
LEAP_HOURS = 24 * 7


@dataclass(frozen=True)
class Run:
    """`start` and `end` are hours; None where they are not given."""

    start: int | None = None
    end: int | None = None
    sources: tuple[str, ...] = (DATED, UNDATED)
    is_overwrite: bool = False


@dataclass
class Reached:
    """How far a run came: the units it committed, whether it came to its end, and took out what is too old then."""

    units: set[str] = field(default_factory=set)
    is_ended: bool = False
    is_expired: bool = False


@dataclass(frozen=True)
class Failed:
    """Days of which nothing was stored, because one of their files cannot be read, and such files without a day."""

    days: frozenset[int] = frozenset()
    files: frozenset[str] = frozenset()

    @property
    def labels(self) -> set[str]:
        return {f"{moment(24 * day):%Y-%m-%d}" for day in self.days} | self.files


@dataclass(frozen=True)
class Known:
    """Content that was collected: what was read of it, and the hours whose rows are kept.

    It is gone when somebody looked for rows of it that are not kept, and its source did not have it. `rejected` are its
    bad lines, with the first and the last hour in which they can have been rejected. Those that `left` by their age are
    not in quarantine; those that `may_be_left` may be: whoever reads the file from its beginning rejects them again.
    """

    source: str
    place: str
    day: int | None
    text: str
    kept: Hours
    is_gone: bool = False
    rejected: Mapping[str, tuple[int, int]] = field(default_factory=dict, compare=False)
    left: frozenset[str] = field(default=frozenset(), compare=False)
    may_be_left: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def unit(self) -> str:
        return "undated-1" if self.day is None else f"{moment(24 * self.day):%Y-%m-%d}"

    def rows(self) -> Iterator[str]:
        for raw in self.text.splitlines():
            if hour_of(raw) in self.kept:
                yield raw

    def rejects(self) -> list[str]:
        """They go with the last row that can be kept, or by their age."""
        return [raw for raw in _bad_lines(self.text) if self.kept and raw not in self.left]

    def sure_rejects(self) -> list[str]:
        return [raw for raw in self.rejects() if raw not in self.may_be_left]

    def expire(self, edge: int) -> Known:
        """Rejects leave that were rejected before the edge, or all where the day and all rows lie before it."""
        ends = [24 * (self.day + 1)] if self.day is not None else []
        ends += [max(self.row_hours) + 1] if self.row_hours else []
        is_over = bool(ends) and max(ends) <= edge
        leave = {raw for raw, (_, last) in self.rejected.items() if is_over or last < edge}
        may_leave = {raw for raw, (first, _) in self.rejected.items() if first < edge}
        return replace(
            self,
            kept=self.kept - frozenset(range(edge)),
            left=self.left | leave,
            may_be_left=self.may_be_left | may_leave,
        )

    @property
    def row_hours(self) -> Hours:
        return frozenset(hour for raw in self.text.splitlines() if (hour := hour_of(raw)) is not None)

    @property
    def lacking(self) -> Hours:
        """Hours between its first and last row that are not kept."""
        return self._between - self.kept

    @property
    def _between(self) -> Hours:
        hours = self.row_hours
        return frozenset(range(min(hours), max(hours) + 1)) if hours else frozenset()

    def may_hold(self, hours: Hours) -> bool:
        return bool(self._between & hours)


@dataclass(frozen=True)
class Effect:
    """What a run makes of one file. `before` is what was known of its content.

    That it only lies elsewhere is told at the end of the run, unless it must be unpacked to see that.
    """

    before: Known | None
    after: Known

    def is_reached(self, reached: Reached) -> bool:
        before, after = self.before, self.after
        is_moved = before is not None and replace(before, place=after.place) == after
        is_told_at_end = is_moved and not after.place.endswith(".gz")
        return reached.is_ended or (after.unit in reached.units and not is_told_at_end)


class EmptyWindow(Exception):
    """The run asks for nothing."""


@dataclass
class Model:
    known: list[Known] = field(default_factory=list)
    asked: dict[str, Hours] = field(default_factory=dict)
    covered: dict[str, Hours] = field(default_factory=dict)
    expired: Hours = frozenset()
    has_commits: bool = False
    last_run: int | None = None

    def copy(self) -> Model:
        return replace(self, known=list(self.known), asked=dict(self.asked), covered=dict(self.covered))

    def rows(self) -> Counter[str]:
        return Counter(raw for known in self.known for raw in known.rows())

    def rejects(self) -> Counter[str]:
        return Counter(raw for known in self.known for raw in known.rejects())

    def sure_rejects(self) -> Counter[str]:
        return Counter(raw for known in self.known for raw in known.sure_rejects())

    def check(self, world: World, run: Run) -> None:
        """Raises EmptyWindow where nothing is asked for."""
        for source in run.sources:
            self._wanted(source, run, world.now, self.edge(world))

    def edge(self, world: World) -> int:
        """The hour before which rows expire; 0 where they stay."""
        return self.edge_after(world.now, world.expire_after) if world.expire_after else 0

    def edge_after(self, now: int, days: int, *, is_forced: bool = False) -> int:
        is_believed = is_forced or self.last_run is None
        return _midnight((now if is_believed else min(now, self.last_run + LEAP_HOURS)) - 24 * days)

    def collect(self, world: World, run: Run, reached: Reached) -> Failed:
        """Returns what fails in a run that comes to its end."""
        edge = self.edge(world)
        wanted = {source: self._wanted(source, run, world.now, edge) for source in run.sources}
        failed = _failed(world, wanted)
        effects = [
            effect
            for source in run.sources
            for effect in self._effects(
                world.of(source), source, wanted[source], world.now, run.is_overwrite, edge
            )
            if effect.after.day not in failed.days
        ]
        lost = [known for source in run.sources for known in self._lost(world, source, wanted[source])]
        for effect in effects:
            if effect.is_reached(reached):
                self.known = [known for known in self.known if known is not effect.before] + [effect.after]
        if reached.units or (reached.is_ended and (self.has_commits or effects or failed.labels)):
            self.has_commits = True
            self.asked |= {source: self._asked(source) | hours for source, hours in wanted.items()}
            self.expired = self.expired.difference(*wanted.values())
        if reached.is_ended:
            self.known = [replace(known, is_gone=known.is_gone or known in lost) for known in self.known]
        if reached.is_ended and self.has_commits:
            self.last_run = world.now
            self._doubt(world.now)
            missed = frozenset(hour for day in failed.days for hour in day_hours(day))
            looked_at = {source: hours & frozenset(range(world.now)) for source, hours in wanted.items()}
            self.covered |= {
                source: (self.covered.get(source, frozenset()) | hours) - missed
                for source, hours in looked_at.items()
            }
        if reached.is_expired:
            self.expire(edge)
        return failed

    def expire(self, edge: int) -> None:
        """What was asked for or had rows is known as expired, unless nothing was."""
        before = frozenset(range(edge))
        gone = before & self._row_days().union(*self.asked.values())
        if self.has_commits and gone:
            self.known = [known.expire(edge) for known in self.known]
            self.asked = {source: asked - before for source, asked in self.asked.items()}
            self.covered = {source: covered - before for source, covered in self.covered.items()}
            self.expired |= gone

    def expired_days(self, now: int) -> set[int]:
        return {day for day in range(now // 24 + 1) if day_hours(day) <= self.expired - self._row_days()}

    def has_rows_before(self, edge: int) -> bool:
        return any(hour < edge for hour in self._row_days())

    def _row_days(self) -> Hours:
        """All hours of days with rows."""
        days = {hour // 24 for known in self.known for hour in known.row_hours & known.kept}
        return frozenset(hour for day in days for hour in day_hours(day))

    def delete(self, hours: Hours) -> None:
        self.known = [replace(known, kept=known.kept - hours) for known in self.known]
        self.asked = {source: asked - hours for source, asked in self.asked.items()}
        self.covered = {source: covered - hours for source, covered in self.covered.items()}

    def days_with_rows_not_kept(self) -> set[int]:
        return {hour // 24 for known in self.known for hour in known.row_hours - known.kept}

    def days_looked_at(self, now: int) -> set[int]:
        """By all sources that were ever asked."""
        looked_at = [self._believed(source, now) for source in self.asked]
        hours = frozenset.intersection(*looked_at) if looked_at else frozenset()
        today = now // 24
        looked_today = [hour for each in looked_at for hour in each if hour >= 24 * today]
        newest = max(looked_today, default=now - 1) + 1
        return {day for day in range(today) if day_hours(day) <= hours} | (
            {today} if frozenset(range(24 * today, newest)) <= hours else set()
        )

    def _asked(self, source: str) -> Hours:
        return self.asked.get(source, frozenset())

    def _doubt(self, now: int) -> None:
        """A run has its end now: others cannot have looked at what comes after it."""
        self.covered = {
            source: hours if all(hour < now for hour in hours) else frozenset()
            for source, hours in self.covered.items()
        }

    def _believed(self, source: str, now: int) -> Hours:
        """What runs have looked at, without what known content lacks that may still be there."""
        covered = self.covered.get(source, frozenset())
        if any(hour >= now for hour in covered):
            return frozenset()
        return covered.difference(
            *(known.lacking for known in self.known if known.source == source and not known.is_gone)
        )

    def _wanted(self, source: str, run: Run, now: int, edge: int) -> Hours:
        end = HOURS if run.end is None else run.end
        if run.start is not None or min(self._asked(source), default=HOURS) > now:
            start = _midnight(now - LOOKBACK_HOURS) if run.start is None else run.start
            wanted = frozenset(range(max(start, edge), end))
        else:
            wanted = frozenset(hour for hour in self._going_on(source, now) if hour < end)
        if run.start is None:
            wanted -= self.expired
        wanted = frozenset(hour for hour in wanted if hour >= edge)
        if not wanted:
            raise EmptyWindow
        return wanted

    def _going_on(self, source: str, now: int) -> Hours:
        """What was asked for and not looked at since, and all from the last collected point on.

        That is the newest day, or where what is late for the last run may lie, but nothing before the first hour asked.
        """
        asked, believed = self._asked(source), self._believed(source, now)
        pending = frozenset(hour for hour in asked - believed if hour < now)
        last_look = min(now, max(believed, default=HOURS) + 1)
        days = [
            known.day
            for known in self.known
            if known.source == source and known.kept and known.day is not None and 24 * known.day <= now
        ]
        newest = 24 * (max(days, default=HOURS) + 1)
        return pending | ALWAYS & frozenset(
            range(max(min(asked), min(newest, _midnight(last_look - LATENESS_HOURS))), HOURS)
        )

    def _effects(
        self, files: list[LogFile], source: str, wanted: Hours, now: int, is_overwrite: bool, edge: int
    ) -> Iterator[Effect]:
        closed = frozenset(range(edge)) | (self.expired - wanted)
        asked = (self._asked(source) | wanted) - closed
        for file, before in self._recognised(files, source):
            if not _is_wanted(file, wanted) and not (before and _is_missed(before, wanted, is_overwrite)):
                continue
            if before is not None or not self._is_being_packed(file, now):
                is_taken_whole = source == DATED and (before is None or not before.kept)
                after = _read(file, before, ALWAYS - closed if is_taken_whole else asked, now)
                if after != before:
                    yield Effect(before, after)

    def _lost(self, world: World, source: str, wanted: Hours) -> list[Known]:
        """Content of which rows are wanted that are not kept, and that is nowhere."""
        found = [known for _, known in self._recognised(world.of(source), source)]
        return [
            known
            for known in self.known
            if known.source == source and known.lacking & wanted and not any(known is each for each in found)
        ]

    def _recognised(self, files: list[LogFile], source: str) -> list[tuple[LogFile, Known | None]]:
        """The content that files are known as, in place first."""
        files = [file for file in files if not file.is_damaged]
        free = [known for known in self.known if known.source == source]
        found: dict[str, Known] = {}
        for is_in_place in (True, False):
            for file in files:
                best = _best(file, free, is_in_place) if file.name not in found else None
                if best is not None:
                    found[file.name] = best
                    free = [known for known in free if known is not best]
        return [(file, found.get(file.name)) for file in files]

    def _is_being_packed(self, file: LogFile, now: int) -> bool:
        """A fresh packed file at the side of a known place waits: it may be the same content."""
        original = file.name.removesuffix(".gz")
        return file.is_packed and file.written == now and any(known.place == original for known in self.known)


def _midnight(hour: int) -> int:
    return hour - hour % 24


def _is_wanted(file: LogFile, wanted: Hours) -> bool:
    return file.day is None or bool(day_hours(file.day) & wanted)


def _is_missed(known: Known, wanted: Hours, is_overwrite: bool) -> bool:
    """Whether rows are wanted that are not kept of it; or any, where what is kept is to be replaced."""
    return known.may_hold(wanted if is_overwrite else wanted - known.kept)


def _failed(world: World, wanted: dict[str, Hours]) -> Failed:
    damaged = [
        file
        for source, hours in wanted.items()
        for file in world.of(source)
        if file.is_damaged and _is_wanted(file, hours)
    ]
    return Failed(
        frozenset(file.day for file in damaged if file.day is not None),
        frozenset(file.name for file in damaged if file.day is None),
    )


def time_of(raw: str) -> datetime | None:
    """None for a line that cannot become a row."""
    try:
        return datetime.fromisoformat(json.loads(raw)["at"])
    except ValueError:
        return None


def hour_of(raw: str) -> int | None:
    at = time_of(raw)
    return None if at is None else (at - BEGINNING) // timedelta(hours=1)


def _best(file: LogFile, candidates: list[Known], is_in_place: bool) -> Known | None:
    """Content that the file begins with, the longest first; a dated place means its file whatever is in it."""
    here = [known for known in candidates if known.place == file.name]
    if is_in_place:
        same = [known for known in here if file.text.startswith(known.text)]
    else:
        same = [known for known in candidates if known.text and file.text.startswith(known.text)]
        same = same or [known for known in here if file.day is not None]
    return max(same, key=lambda known: len(known.text), default=None)


def _read(file: LogFile, before: Known | None, target: Hours, now: int) -> Known:
    """Young last lines wait, unless nothing can be missing of them or they were taken before."""
    text = file.text
    if file.written == now and not file.is_quiet and not file.is_packed:
        ended = text.rfind("\n") + 1
        taken = before.text if before is not None and text.startswith(before.text) else ""
        text = text if _is_whole(text[ended:]) else max(text[:ended], taken, key=len)
    if (
        before is not None
        and before.kept
        and before.text == text
        and not before.may_hold(target - before.kept)
    ):
        return replace(before, place=file.name)
    kept = target if before is None else before.kept | target
    earlier = before.rejected if before is not None else {}
    rejected = {raw: _stretched(earlier.get(raw, (now, now)), now) for raw in _bad_lines(text)}
    may_be_left = before.left | before.may_be_left if before is not None else frozenset()
    return Known(file.source, file.name, file.day, text, kept, rejected=rejected, may_be_left=may_be_left)


def _stretched(hours: tuple[int, int], hour: int) -> tuple[int, int]:
    return min(*hours, hour), max(*hours, hour)


def _bad_lines(text: str) -> list[str]:
    return [raw for raw in text.splitlines() if hour_of(raw) is None]


def _is_whole(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
