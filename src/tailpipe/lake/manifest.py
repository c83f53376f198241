"""A manifest says what one commit did: which artifacts, what of them, which files came of it, what a run claims.

It is an immutable Parquet file beside the data, one row per artifact, written before the commit that names it.
A manifest counts only if the log names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from functools import lru_cache

import msgspec

from tailpipe.records import Mark, RowCounts
from tailpipe.times import Window

Windows = tuple[Window, ...]


class KnownArtifact(msgspec.Struct, frozen=True, gc=False):
    """What is known of one artifact after a commit; a later one of the same source and identity replaces it.

    `identity` names its content for good, `location` where that content lies now. `kept` are the windows of time
    whose rows are in the lake. `mark` is how far it was read, `waiting_bytes` wait behind that for the end of their
    line. `constants` fill columns of its rows, `rows` counts all that were ever read of it. `first` and `last`
    are the times of its stored rows, `oldest` and `newest` those of all that were ever read of it, also of rows that
    were deleted since. `collected_at` is when it was last read. It `is_gone` when rows of it were wanted that are not
    kept, and its source did not have it. Of an artifact of which all was deleted nothing is kept, and no reject; the
    rest stays known.
    """

    source: str
    identity: str
    location: str
    version: str
    size_bytes: int
    span: Window | None
    kept: Windows
    mark: Mark = Mark()
    waiting_bytes: int = 0
    constants: Mapping[str, str] = {}
    rows: RowCounts = RowCounts()
    first: datetime | None = None
    last: datetime | None = None
    collected_at: datetime | None = None
    run: str = ""
    oldest: datetime | None = None
    newest: datetime | None = None
    is_gone: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.source, self.identity


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A unit, or an artifact without a date, of which nothing was stored. `label` names it to people.

    It has the `day` of a unit, or else the `location` of an artifact, unless it is of neither.
    """

    label: str
    message: str
    artifacts: int
    at: datetime
    run: str
    day: date | None = None
    location: str | None = None


class RunReport(msgspec.Struct, frozen=True):
    """How one run over a partition ended."""

    started_at: datetime
    finished_at: datetime
    engine: str
    window_from: datetime
    window_to: datetime | None
    sources: tuple[str, ...]
    is_overwrite: bool
    units: int
    failed: int
    artifacts: int
    size_bytes: int
    rows: int
    stored: int
    filtered: int
    rejected: int


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is true of the whole commit. Paths are relative to the table; windows are by name of the source.

    `asked` are windows that somebody wanted, `covered` those that were listed and of which nothing failed. `deleted`
    are windows that the commit took out of the partition, `expired` those of them that nobody wants back unless they
    are asked for. A snapshot repeats all that is known, so that nobody has to read what was before. `history` names
    manifests that come before this one, back to the last snapshot, oldest first.
    """

    partition: str
    kind: str
    unit: str
    run: str
    written_at: datetime
    files: tuple[str, ...] = ()
    rejects: tuple[str, ...] = ()
    removed_rejects: tuple[str, ...] = ()
    asked: dict[str, tuple[str, ...]] = {}
    covered: dict[str, tuple[str, ...]] = {}
    deleted: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    report: RunReport | None = None
    is_snapshot: bool = False
    history: tuple[str, ...] = ()


@lru_cache(maxsize=10_000)
def window_text(window: Window) -> str:
    return f"{window.start.isoformat()}/{window.end.isoformat()}"


def windows_text(windows: Iterable[Window]) -> tuple[str, ...]:
    return tuple(map(window_text, windows))


def kept_text(windows: Iterable[Window]) -> str:
    """As `kept` of an artifact is stored."""
    return " ".join(windows_text(windows))


@lru_cache(maxsize=10_000)
def read_window(text: str) -> Window:
    start, end = text.split("/")
    return Window(datetime.fromisoformat(start), datetime.fromisoformat(end))


def read_windows(texts: Iterable[str]) -> Windows:
    return tuple(map(read_window, texts))


@lru_cache(maxsize=10_000)
def read_kept(text: str) -> Windows:
    return read_windows(text.split(" ")) if text else ()
