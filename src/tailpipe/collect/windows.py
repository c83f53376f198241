"""Which times a run wants of each source: what was asked for, what is pending, and what may still come late."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from tailpipe.errors import UsageError
from tailpipe.lake.extent import extent, lacks, may_hold
from tailpipe.lake.manifest import KnownArtifact, Windows
from tailpipe.lake.state import PartitionState, believed
from tailpipe.times import START_OF_TIME, Lookback, Window, merge, subtract, without

DEFAULT_LOOKBACK = Lookback(30, "d")
DEFAULT_LATENESS = Lookback(2, "d")
# Rows without an asked-for end are kept whatever their date, so that a file need not be read again for them.
END_OF_TIME = datetime(9999, 12, 31, tzinfo=UTC)
ALWAYS = Window(START_OF_TIME, END_OF_TIME)


@dataclass(frozen=True)
class AskedWindow:
    """`--from` and `--to`, where given."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True)
class Horizons:
    """How far back a first collection goes, and how late artifacts of collected days may come.

    Nothing is collected of the time before the `edge`: it is expired, or will be.
    """

    lookback: Lookback
    lateness: Lookback
    edge: datetime | None = None


@dataclass(frozen=True)
class Wanted:
    """`windows` are those of which artifacts are read, `listed` is what is looked at, `asked` all ever asked for.

    Artifacts that were asked for once, but are not in `windows`, come too late. `doubted` is a moment after now up to
    which the source is said to be covered. Nothing is wanted of what is `closed`, nor of what is `expired`, which was
    asked for once. `is_cut` says that more was asked for than may be collected.
    """

    windows: Windows
    listed: Window
    asked: Windows
    doubted: datetime | None = None
    is_overwrite: bool = False
    closed: Windows = ()
    expired: Windows = ()
    is_cut: bool = False

    @property
    def everything(self) -> Windows:
        return without((ALWAYS,), self.closed)

    def includes(self, span: Window) -> bool:
        return any(span.overlaps(window) for window in self.windows)

    def is_late(self, span: Window) -> bool:
        return span.overlaps(self.listed) and any(span.overlaps(window) for window in self.asked)

    def is_expired(self, span: Window) -> bool:
        return span.overlaps(self.listed) and any(span.overlaps(window) for window in self.expired)

    def misses(self, record: KnownArtifact) -> bool:
        """Whether the artifact may have rows of the windows that are not kept."""
        return lacks(record, self.windows)

    def reaches(self, record: KnownArtifact) -> bool:
        """Whether rows of it are wanted, whatever its path says; when overwriting, also those that are kept."""
        return may_hold(record, self.windows) if self.is_overwrite else self.misses(record)

    def touches(self, record: KnownArtifact) -> bool:
        """Whether the windows hold rows of the artifact, or its day."""
        if record.span is not None and self.includes(record.span):
            return True
        # Rejects may be rows of any time when they are read anew.
        is_anywhere = record.span is None and (record.rows.rejected or extent(record) is None)
        return bool(is_anywhere) or may_hold(record, self.windows)

    def listed_with(self, spans: Iterable[Window]) -> Window:
        """What is looked at, and where artifacts lie that have rows of the windows."""
        reached = [self.listed, *spans]
        return Window(min(span.start for span in reached), max(span.end for span in reached))


def wanted_windows(
    state: PartitionState,
    source: str,
    asked: AskedWindow,
    horizons: Horizons,
    now: datetime,
    is_overwrite: bool = False,
) -> Wanted:
    """`--from` and `--to` mean what they say, but for what lies before the edge. Without them a source goes on from its
    last collected point, and leaves alone what is expired.

    What nobody can have asked for yet was asked for by a wrong clock.
    """
    known = tuple(window for window in state.asked.get(source, ()) if window.start <= now)
    if asked.start is not None or not known:
        window = Window(asked.start or now - horizons.lookback, asked.end or END_OF_TIME)
        windows: Windows = (window,)
        listed = window
    else:
        windows = _going_on(state, source, known, horizons.lateness, now)
        listed = Window(min(windows[0].start, now - horizons.lookback), END_OF_TIME)
    before = (Window(START_OF_TIME, horizons.edge),) if horizons.edge else ()
    closed = merge([*before, *(without(state.expired, windows) if asked.start else state.expired)])
    begins = windows[0].start
    windows = without(windows, closed)
    if asked.end is not None:
        windows = without(windows, [Window(asked.end, END_OF_TIME)])
        listed = Window(listed.start, asked.end)
    windows = tuple(window for window in windows if not window.is_empty)
    if not windows or listed.is_empty:
        raise _empty(asked, begins, horizons.edge)
    claims = state.covered.get(source, ())
    return Wanted(
        windows,
        listed,
        without(merge([*state.asked.get(source, ()), *windows]), closed),
        doubted=max(window.end for window in claims) if claims and not believed(claims, now) else None,
        is_overwrite=is_overwrite,
        closed=closed,
        expired=_within(closed, [*state.expired, *state.asked.get(source, ())]),
        is_cut=bool(asked.start and horizons.edge and asked.start < horizons.edge),
    )


def _empty(asked: AskedWindow, begins: datetime, edge: datetime | None) -> UsageError:
    if edge and asked.end and asked.end <= edge:
        return UsageError(
            f"the window is empty: rows before {edge:%Y-%m-%d} expire, and --to is not after it.",
            hint="expire_after of the partition, its table or the workspace says how long rows stay",
        )
    return UsageError(
        f"the window is empty: without --from it begins {begins:%Y-%m-%d %H:%M}, which is not before --to.",
        hint="give --from too",
    )


def _within(windows: Windows, others: Iterable[Window]) -> Windows:
    """The times that both have."""
    merged = merge(others)
    return without(merged, without(merged, windows))


def _going_on(
    state: PartitionState, source: str, known: Windows, lateness: Lookback, now: datetime
) -> Windows:
    """What is pending, and all since the last collected point, but nothing before what was first asked for.

    Artifacts may be late for the last run, however long ago that was: the horizon lies before its end.
    """
    covered = believed(state.covered.get(source, ()), now)
    horizon = min([now, *([max(window.end for window in covered)] if covered else [])]) - lateness
    newest = state.artifacts.newest_end(source, now)
    point = min(horizon, newest or horizon)
    return merge([*pending(known, covered, now), Window(max(point, known[0].start), END_OF_TIME)])


def pending(asked: Iterable[Window], covered: Windows, now: datetime) -> Windows:
    """What was asked for up to now and is not covered. A claim that reaches beyond now was made by a wrong clock."""
    covered = believed(covered, now)
    past = (Window(window.start, min(window.end, now)) for window in asked)
    return merge(part for window in past if not window.is_empty for part in subtract(window, covered))


def claimed(wanted: Windows, failed_days: Iterable[Window], now: datetime) -> Windows:
    """What a run that ended may call covered."""
    past = (Window(window.start, min(window.end, now)) for window in wanted)
    failed = tuple(failed_days)
    return merge(part for window in past if not window.is_empty for part in subtract(window, failed))
