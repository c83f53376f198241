"""What the rules of collection say should be in the table, told as simply as can be: whole texts and sets of hours.

Nothing here knows how the product knows files again, folds windows or marks what it read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
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


@dataclass(frozen=True)
class Run:
    """`start` and `end` are hours; None where they are not given."""

    start: int | None = None
    end: int | None = None
    sources: tuple[str, ...] = (DATED, UNDATED)
    is_overwrite: bool = False


@dataclass
class Reached:
    """How far a run came: the units it committed, and whether it came to its end."""

    units: set[str] = field(default_factory=set)
    is_ended: bool = False


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
    """Content that was collected: what was read of it, and the hours whose rows are kept."""

    source: str
    place: str
    day: int | None
    text: str
    kept: Hours

    @property
    def unit(self) -> str:
        return "undated-1" if self.day is None else f"{moment(24 * self.day):%Y-%m-%d}"

    def rows(self) -> Iterator[str]:
        for raw in self.text.splitlines():
            at = time_of(raw)
            if at is not None and (at - BEGINNING) // timedelta(hours=1) in self.kept:
                yield raw

    def rejects(self) -> list[str]:
        return [raw for raw in self.text.splitlines() if time_of(raw) is None]


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
    has_commits: bool = False

    def rows(self) -> Counter[str]:
        return Counter(raw for known in self.known for raw in known.rows())

    def rejects(self) -> Counter[str]:
        return Counter(raw for known in self.known for raw in known.rejects())

    def check(self, world: World, run: Run) -> None:
        """Raises EmptyWindow where nothing is asked for."""
        for source in run.sources:
            self._wanted(source, run, world.now)

    def collect(self, world: World, run: Run, reached: Reached) -> Failed:
        """Returns what fails in a run that comes to its end."""
        wanted = {source: self._wanted(source, run, world.now) for source in run.sources}
        failed = _failed(world, wanted)
        effects = [
            effect
            for source in run.sources
            for effect in self._effects(world.of(source), source, wanted[source], world.now)
            if effect.after.day not in failed.days
        ]
        for effect in effects:
            if effect.is_reached(reached):
                self.known = [known for known in self.known if known is not effect.before] + [effect.after]
        if reached.units or (reached.is_ended and (self.has_commits or effects or failed.labels)):
            self.has_commits = True
            self.asked |= {source: self._asked(source) | hours for source, hours in wanted.items()}
        if reached.is_ended and self.has_commits:
            missed = frozenset(hour for day in failed.days for hour in day_hours(day))
            looked_at = {source: hours & frozenset(range(world.now)) for source, hours in wanted.items()}
            self.covered |= {
                source: (self.covered.get(source, frozenset()) | hours) - missed
                for source, hours in looked_at.items()
            }
        return failed

    def delete(self, hours: Hours) -> None:
        left = [replace(known, kept=known.kept - hours) for known in self.known]
        self.known = [known for known in left if known.kept]
        self.asked = {source: asked - hours for source, asked in self.asked.items()}
        self.covered = {source: covered - hours for source, covered in self.covered.items()}

    def _asked(self, source: str) -> Hours:
        return self.asked.get(source, frozenset())

    def _wanted(self, source: str, run: Run, now: int) -> Hours:
        end = HOURS if run.end is None else run.end
        if run.start is not None or not self._asked(source):
            start = _midnight(now - LOOKBACK_HOURS) if run.start is None else run.start
            wanted = frozenset(range(start, end))
        else:
            wanted = frozenset(hour for hour in self._going_on(source, now) if hour < end)
        if not wanted:
            raise EmptyWindow
        return wanted

    def _going_on(self, source: str, now: int) -> Hours:
        """What was asked for and not looked at since, and all from the last collected point on.

        That is the newest day, or where what is late for the last run may lie, but nothing before the first hour asked.
        """
        asked, covered = self._asked(source), self.covered.get(source, frozenset())
        believed = covered if all(hour < now for hour in covered) else frozenset()
        pending = frozenset(hour for hour in asked - believed if hour < now)
        last_look = min(now, max(covered, default=HOURS) + 1)
        days = [known.day for known in self.known if known.source == source and known.day is not None]
        newest = 24 * (max(days, default=HOURS) + 1)
        return pending | ALWAYS & frozenset(
            range(max(min(asked), min(newest, _midnight(last_look - LATENESS_HOURS))), HOURS)
        )

    def _effects(self, files: list[LogFile], source: str, wanted: Hours, now: int) -> Iterator[Effect]:
        target = ALWAYS if source == DATED else self._asked(source) | wanted
        listed = [file for file in files if not file.is_damaged and _is_wanted(file, wanted)]
        for file, before in self._recognised(listed, source):
            if before is not None or not self._is_being_packed(file, now):
                after = _read(file, before, target, now)
                if after != before:
                    yield Effect(before, after)

    def _recognised(self, files: list[LogFile], source: str) -> list[tuple[LogFile, Known | None]]:
        """The content that files are known as, in place first."""
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
        return file.is_packed and file.written >= now and any(known.place == original for known in self.known)


def _midnight(hour: int) -> int:
    return hour - hour % 24


def _is_wanted(file: LogFile, wanted: Hours) -> bool:
    return file.day is None or bool(day_hours(file.day) & wanted)


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
    if file.written >= now and not file.is_quiet and not file.is_packed:
        ended = text.rfind("\n") + 1
        taken = before.text if before is not None and text.startswith(before.text) else ""
        text = text if _is_whole(text[ended:]) else max(text[:ended], taken, key=len)
    kept = target if before is None else before.kept | target
    return Known(file.source, file.name, file.day, text, kept)


def _is_whole(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
