"""Which days of a partition are in the lake as a whole, which only in part, and why. Pure: state in, days out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from tailpipe.arrow import np
from tailpipe.lake.columns import Numbers
from tailpipe.lake.extent import lacking
from tailpipe.lake.known import Artifacts
from tailpipe.lake.manifest import Failure, KnownArtifact, Windows
from tailpipe.lake.state import PartitionState, believed
from tailpipe.times import Window, day_window, days, merge, midnight, subtract

COLLECTED = "collected"
EMPTY = "empty"
PARTIAL = "partial"
MISSING = "missing"
FAILED = "failed"
EXPIRED = "expired"
STATES = (COLLECTED, EMPTY, PARTIAL, MISSING, FAILED, EXPIRED)
_MAX_NAMES = 3


@dataclass(frozen=True)
class Day:
    """One UTC day. `rejected` counts records of artifacts that belong to the day by their path.

    `is_stuck` says that no run can make it whole as things are: nothing but the end of a last line is missing, or rows
    of artifacts that are gone from their source.
    """

    date: date
    state: str
    rows: int = 0
    rejected: int = 0
    reason: str | None = None
    is_stuck: bool = False


def known_days(state: PartitionState, rows: Mapping[date, int], now: datetime) -> Window | None:
    """From the first day with rows, a failure or a request to the end of today; None if there is none."""
    firsts = [*rows, *failures_by_day(state)]
    asked = (window for windows in state.asked.values() for window in windows)
    firsts += [window.start.date() for window in (*asked, *state.expired)]
    first = min(firsts, default=None)
    if first is None or first > now.date():
        return None
    return Window(midnight(first), day_window(now.date()).end)


def cover(state: PartitionState, rows: Mapping[date, int], window: Window, now: datetime) -> tuple[Day, ...]:
    """The days that the window touches, up to today, oldest first. Every source that was ever asked counts."""
    window = Window(window.start, min(window.end, day_window(now.date()).end))
    touched = days(window)
    if not touched:
        return ()
    return _Judge(state, rows, Window(midnight(touched[0]), day_window(touched[-1]).end), now).days()


def failures_by_day(state: PartitionState) -> dict[date, Failure]:
    return {failure.day: failure for failure in state.failures if failure.day}


def other_failures(state: PartitionState) -> tuple[Failure, ...]:
    """Of what belongs to no day: files without a date in their path, sources that could not be listed."""
    return tuple(failure for failure in state.failures if failure.day is None)


class _Judge:
    def __init__(
        self, state: PartitionState, rows: Mapping[date, int], window: Window, now: datetime
    ) -> None:
        self.rows = rows
        self.window = window
        self.sources = tuple(state.asked)
        self.failures = failures_by_day(state)
        self.expired = state.expired
        self.asked = _touched(merge(part for parts in state.asked.values() for part in parts), window)
        covered = {source: believed(windows, now) for source, windows in state.covered.items()}
        doubted = [windows[-1].end for source, windows in state.covered.items() if windows != covered[source]]
        self.doubted = max(doubted, default=None)
        self.newest = _newest(covered.values(), now)
        self.gaps = {
            source: _gaps_by_day(covered.get(source, ()), window, self.newest) for source in self.sources
        }
        self.artifacts = state.artifacts
        self.waiting = _waiting(state.artifacts)
        self.rejected = _rejected(state.artifacts)
        self.lacking = _lacking(state.artifacts, window, is_gone=False)
        self.lost = _lacking(state.artifacts, window, is_gone=True)

    def days(self) -> tuple[Day, ...]:
        return tuple(self._day(day) for day in days(self.window))

    def _day(self, day: date) -> Day:
        if self._is_expired(day):
            return Day(day, EXPIRED)
        state, reason = self._state(day)
        is_open = bool(self._gaps(day)) or day in self.lacking
        is_stuck = state == PARTIAL and not is_open and bool(self.sources)
        return Day(day, state, self.rows.get(day, 0), self.rejected.get(day, 0), reason, is_stuck)

    def _is_expired(self, day: date) -> bool:
        return not self.rows.get(day) and not subtract(day_window(day), self.expired)

    def _state(self, day: date) -> tuple[str, str | None]:
        if day in self.failures:
            return FAILED, self.failures[day].message
        gaps = self._gaps(day)
        if self.sources and not gaps:
            return self._covered(day)
        if self.doubted and day in self.asked:
            claim = f"a run whose clock was ahead says it looked up to {self.doubted:%Y-%m-%d %H:%M}"
            return PARTIAL if self.rows.get(day) else MISSING, f"{claim}; the next one looks again"
        if gaps and not all(self._is_whole(parts, day) for parts in gaps.values()):
            return PARTIAL, f"not covered: {self._gap_text(gaps, day)}"
        if len(gaps) < len(self.sources):
            return PARTIAL, f"not covered: {', '.join(gaps)}"
        if self.rows.get(day):
            return PARTIAL, "it has rows, but no run came to its end"
        return MISSING, "asked for, and not collected yet" if day in self.asked else "never asked for"

    def _covered(self, day: date) -> tuple[str, str | None]:
        files = self.waiting.get(day)
        if files:
            return PARTIAL, f"waiting for the end of the last line: {', '.join(files)}"
        if day in self.lacking:
            return PARTIAL, f"not all rows of it are kept: {self._names(self.lacking[day])}"
        if day in self.lost:
            return (
                PARTIAL,
                f"not all rows of it are kept, and gone from the source: {self._names(self.lost[day])}",
            )
        return (COLLECTED if self.rows.get(day) else EMPTY), None

    def _names(self, parts: Sequence[Numbers]) -> str:
        count = sum(map(len, parts))
        first = np.sort(np.concatenate([rows[:_MAX_NAMES] for rows in parts]))[:_MAX_NAMES]
        more = f" and {count - _MAX_NAMES:,} more" if count > _MAX_NAMES else ""
        return ", ".join(self.artifacts.locations(first)) + more

    def _gaps(self, day: date) -> dict[str, Windows]:
        """What is not covered of the day, by source; sources that covered it are left out."""
        return {source: gaps[day] for source, gaps in self.gaps.items() if day in gaps}

    def _is_whole(self, parts: Windows, day: date) -> bool:
        whole = day_window(day)
        return parts == (Window(whole.start, min(whole.end, self.newest)),)

    def _gap_text(self, gaps: Mapping[str, Windows], day: date) -> str:
        def text(source: str, parts: Windows) -> str:
            times = ", ".join(f"{_clock(part.start)}–{_clock(part.end, day)}" for part in parts)
            return " ".join([source] * (len(self.sources) > 1) + [times] * (not self._is_whole(parts, day)))

        return "; ".join(text(source, parts) for source, parts in gaps.items())


def _newest(covered: Iterable[Windows], now: datetime) -> datetime:
    """Today is whole when it is covered up to the newest moment that any source was: later ones have no run yet."""
    start = midnight(now.date())
    ends = [window.end for windows in covered for window in windows if window.end > start]
    return min(max(ends), now) if ends else now


def _gaps_by_day(covered: Windows, window: Window, newest: datetime) -> dict[date, Windows]:
    gaps: dict[date, list[Window]] = defaultdict(list)
    for gap in subtract(Window(window.start, min(window.end, newest)), covered):
        for day in days(gap):
            whole = day_window(day)
            gaps[day].append(Window(max(gap.start, whole.start), min(gap.end, whole.end)))
    return {day: tuple(parts) for day, parts in gaps.items()}


def _touched(windows: Windows, window: Window) -> set[date]:
    clipped = (Window(max(part.start, window.start), min(part.end, window.end)) for part in windows)
    return {day for part in clipped for day in days(part)}


def _lacking(artifacts: Artifacts, window: Window, *, is_gone: bool) -> dict[date, list[Numbers]]:
    """Artifacts by the days of which they have rows that are not kept."""
    by_day: dict[date, list[Numbers]] = defaultdict(list)
    for known, which in artifacts.alike():
        if known.is_gone == is_gone:
            for day in _touched(lacking(known), window):
                by_day[day].append(which)
    return by_day


def _waiting(artifacts: Artifacts) -> dict[date, list[str]]:
    """The line that waits belongs to the day of the path, or else most likely to that of the line before it."""
    waiting: dict[date, list[str]] = defaultdict(list)
    for known in artifacts.known(artifacts.is_kept & artifacts.is_waiting):
        for day in _days_of_end(known):
            waiting[day].append(known.location)
    return waiting


def _days_of_end(record: KnownArtifact) -> Iterator[date]:
    if record.span is not None:
        yield from days(record.span)
    elif moment := record.last or record.collected_at:
        yield moment.astimezone(UTC).date()


def _rejected(artifacts: Artifacts) -> dict[date, int]:
    rejected: dict[date, int] = defaultdict(int)
    for span, count in artifacts.rejects_by_span().items():
        own = days(span)
        if len(own) == 1:
            rejected[own[0]] += count
    return rejected


def _clock(moment: datetime, day: date | None = None) -> str:
    return "24:00" if day and moment == midnight(day + timedelta(days=1)) else f"{moment:%H:%M}"
