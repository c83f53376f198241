"""What came of a run: per unit, per partition and in all, with rows in = stored + filtered + rejected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum

from tailpipe.collect.listing import Listing
from tailpipe.collect.plan import Unit
from tailpipe.lake.compaction import Compaction
from tailpipe.lake.lifecycle import Expired
from tailpipe.records import RowCounts
from tailpipe.times import Window

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


class Cause(Enum):
    """Why something failed: a unit or an artifact itself, or what is no unit. The value is a label for the latter.

    UNLISTED: a place or a source could not be listed. UNREPORTED: nothing is missing but the report of the run.
    LAKE and UNEXPECTED: the partition's run broke off, and units that are not done were not tried. USAGE: the command
    asked for nothing of the partition.
    """

    UNIT = "unit"
    UNLISTED = "listing"
    UNREPORTED = "record of the run"
    LAKE = "lake"
    UNEXPECTED = "run"
    USAGE = "window"


@dataclass(frozen=True)
class UnitFailed:
    """A unit, or an artifact without a date, of which nothing was stored; the next run takes it up again.

    `day` or `location` say which; where it is neither, both are None. `label` names it to people.
    """

    label: str
    artifacts: int
    message: str
    cause: Cause = Cause.UNIT
    day: date | None = None
    location: str | None = None

    @classmethod
    def of_no_unit(cls, cause: Cause, message: str) -> UnitFailed:
        return cls(cause.value, 0, message, cause)


def unlisted(listings: Iterable[Listing]) -> Iterator[UnitFailed]:
    """Failures of listing, at most MAX_UNLISTED of each source by name."""
    for listing in listings:
        for failure in listing.failures[:MAX_UNLISTED]:
            yield UnitFailed(failure.place, 0, failure.message, Cause.UNLISTED)
        left = len(listing.failures) - MAX_UNLISTED
        if left > 0:
            message = f"{left:,} more places could not be listed"
            yield UnitFailed(f"source {listing.source}", 0, message, Cause.UNLISTED)


@dataclass(frozen=True)
class Upkeep:
    """What was done for the partition's files after its collection. Problems are told, and fail nothing."""

    compaction: Compaction = field(default_factory=Compaction)
    expired: Expired | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartitionOutcome:
    name: str
    window: Window
    listings: tuple[Listing, ...]
    done: tuple[UnitDone, ...] = ()
    failed: tuple[UnitFailed, ...] = ()
    upkeep: Upkeep = field(default_factory=Upkeep)

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
