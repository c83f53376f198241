"""Which times the rows of a known artifact have, wherever its path says it belongs, and which of them are not kept."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from tailpipe.lake.manifest import KnownArtifact, Windows
from tailpipe.times import Window, subtract

_HOUR = timedelta(hours=1)
_END = datetime.max.replace(tzinfo=UTC)
_LAST_HOUR = _END - _HOUR


def extent(record: KnownArtifact) -> Window | None:
    """From its first row to its last, stored or not; None where no row has a time that is known.

    In whole hours, so that many artifacts share a few windows.
    """
    if record.oldest is None or record.newest is None:
        return None
    start, end = (
        moment.replace(minute=0, second=0, microsecond=0) for moment in (record.oldest, record.newest)
    )
    return Window(start, end + _HOUR if end < _LAST_HOUR else _END)


def lacking(record: KnownArtifact) -> Windows:
    """Times of which it may have rows that are not in the lake."""
    # Most artifacts are kept whole, and there may be very many.
    if record.newest is None or (record.kept and _is_within(record, record.kept[0])):
        return ()
    rows = extent(record)
    return subtract(rows, record.kept) if rows else ()


def _is_told(record: KnownArtifact) -> bool:
    """Whether the times of all its rows are known."""
    return not record.rows.filtered and not is_untold(record)


def is_untold(record: KnownArtifact) -> bool:
    """Whether it has rows that could be kept, and nobody noted their times."""
    return record.oldest is None and record.rows.stored + record.rows.outside > 0


def _is_within(record: KnownArtifact, window: Window) -> bool:
    oldest, newest = record.oldest, record.newest
    return oldest is not None and newest is not None and window.start <= oldest and newest < window.end


def lacks(record: KnownArtifact, windows: Iterable[Window]) -> bool:
    """Whether it may have rows of the windows that are not in the lake."""
    if _is_told(record) and not lacking(record):
        return False
    return may_hold(record, (part for window in windows for part in subtract(window, record.kept)))


def may_hold(record: KnownArtifact, windows: Iterable[Window]) -> bool:
    """Whether rows of it can lie in one of the windows.

    Nobody knows the times of rows that a filter left out, nor those that older manifests do not tell: then its path
    says where they can lie, or they can lie anywhere.
    """
    ranges = [rows] if (rows := extent(record)) else []
    if not _is_told(record):
        if record.span is None:
            return any(not window.is_empty for window in windows)
        ranges.append(record.span)
    return any(window.overlaps(each) for window in windows for each in ranges)
