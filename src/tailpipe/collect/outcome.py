"""What came of a run: per unit, per partition and in all, with rows in = stored + filtered + rejected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from tailpipe.collect.listing import Listing
from tailpipe.collect.plan import Unit
from tailpipe.records import RowCounts
from tailpipe.times import Window

UNRECORDED = "record of the run"
LAKE = "lake"
UNEXPECTED = "run"
USAGE = "window"
MAX_UNLISTED = 20


@dataclass(frozen=True)
class UnitDone:
    """A committed unit. `size_bytes` counts what was read, `stored_bytes` what was written.

    `waiting` are files whose last line may be half written: it waits. `went_on` counts last lines that were taken
    without their end, went on since, and were replaced.
    """

    unit: Unit
    rows: RowCounts
    size_bytes: int
    raw_bytes: int
    stored_bytes: int
    files: int
    days: frozenset[str]
    waiting: tuple[str, ...] = ()
    went_on: int = 0


@dataclass(frozen=True)
class UnitFailed:
    """A unit, or an artifact without a date, of which nothing was stored; the next run takes it up again.

    `day` or `location` say which; where it is neither, both are None. With `is_unlisted`, the label names a place or a
    source that could not be listed. Other labels than a unit's: UNRECORDED, nothing is missing but the note that the
    run ended; LAKE and UNEXPECTED, the partition's run broke off, and units that are not done were not tried; USAGE,
    the command asked for nothing of the partition.
    """

    label: str
    artifacts: int
    message: str
    is_unlisted: bool = False
    day: date | None = None
    location: str | None = None


def unlisted(listings: Iterable[Listing]) -> Iterator[UnitFailed]:
    """Failures of listing, at most MAX_UNLISTED of each source by name."""
    for listing in listings:
        for failure in listing.failures[:MAX_UNLISTED]:
            yield UnitFailed(failure.place, 0, failure.message, is_unlisted=True)
        left = len(listing.failures) - MAX_UNLISTED
        if left > 0:
            message = f"{left:,} more places could not be listed"
            yield UnitFailed(f"source {listing.source}", 0, message, is_unlisted=True)


@dataclass(frozen=True)
class PartitionOutcome:
    name: str
    window: Window
    listings: tuple[Listing, ...]
    done: tuple[UnitDone, ...] = ()
    failed: tuple[UnitFailed, ...] = ()

    @property
    def rows(self) -> RowCounts:
        return sum((unit.rows for unit in self.done), RowCounts())

    @property
    def artifacts(self) -> int:
        return sum(len(unit.unit.artifacts) for unit in self.done)

    @property
    def days(self) -> frozenset[str]:
        return frozenset(day for unit in self.done for day in unit.days)


@dataclass(frozen=True)
class RunOutcome:
    partitions: tuple[PartitionOutcome, ...] = ()
    seconds: float = 0.0
    timings: Mapping[str, float] = field(default_factory=dict)
    engine: str = ""

    @property
    def rows(self) -> RowCounts:
        return sum((partition.rows for partition in self.partitions), RowCounts())

    @property
    def failed(self) -> tuple[UnitFailed, ...]:
        return tuple(failure for partition in self.partitions for failure in partition.failed)
