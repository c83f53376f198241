"""Small files of a day become few well-sized ones, sorted by time, in one commit a day.

Whoever reads sees the rows before and after it, and finds the old files as long as nobody vacuums them. Whoever comes
second plans again: this, where another process removed one of the files; a collector, where it removes one of them too.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from tailpipe.errors import ConflictError, LakeError
from tailpipe.lake.log import TableLog
from tailpipe.lake.merging import Merge, merge_files
from tailpipe.lake.removal import LiveFile
from tailpipe.lake.transaction import Change, until_committed

KIND = "compact"
TARGET_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """Files below `small_bytes` are merged, in folders that have at least `least_files` of them."""

    small_bytes: int
    least_files: int
    target_bytes: int = TARGET_BYTES


# Two files that are left over could not be one of the target's size.
ASKED = Limits(small_bytes=TARGET_BYTES // 2, least_files=2)
# Few enough that queries do not notice, many enough that a row is not written again and again.
AFTER_COLLECTION = Limits(small_bytes=16 * 1024 * 1024, least_files=16)


@dataclass(frozen=True)
class DayPlan:
    """What is merged of one partition and day; every merge makes fewer files."""

    partition: str
    day: date
    merges: tuple[Merge, ...]

    @property
    def files(self) -> tuple[LiveFile, ...]:
        return tuple(file for merge in self.merges for file in merge.files)

    @property
    def files_after(self) -> int:
        """As it is planned."""
        return sum(max(1, round(merge.size_bytes / merge.file_bytes)) for merge in self.merges)

    @property
    def size_bytes(self) -> int:
        return sum(merge.size_bytes for merge in self.merges)


@dataclass(frozen=True)
class DayCompacted:
    """Files and bytes before and after, without those that were left alone."""

    day: date
    rows: int
    files: int
    files_after: int
    size_bytes: int
    size_bytes_after: int


@dataclass(frozen=True)
class DayFailed:
    """Nothing of the day was changed."""

    day: date
    message: str


@dataclass(frozen=True)
class Compaction:
    """What came of the days of one partition."""

    done: tuple[DayCompacted, ...] = ()
    failed: tuple[DayFailed, ...] = ()

    @property
    def files(self) -> int:
        return sum(day.files for day in self.done)

    @property
    def files_after(self) -> int:
        return sum(day.files_after for day in self.done)

    @property
    def size_bytes(self) -> int:
        return sum(day.size_bytes for day in self.done)

    @property
    def size_bytes_after(self) -> int:
        return sum(day.size_bytes_after for day in self.done)


def plan_days(
    files: Iterable[LiveFile], limits: Limits, is_wanted: Callable[[date], bool] = lambda day: True
) -> list[DayPlan]:
    """From the log alone. Oldest days first; days without work are left out."""
    folders: dict[tuple[str, date], dict[str, list[LiveFile]]] = defaultdict(lambda: defaultdict(list))
    for file in files:
        values = file.partition_values
        day = date.fromisoformat(values["tp_date"])
        if file.size_bytes < limits.small_bytes and is_wanted(day):
            folders[values["tp_partition"], day][values["tp_index"]].append(file)
    plans = (
        DayPlan(partition, day, tuple(_merges(indexes.values(), limits)))
        for (partition, day), indexes in folders.items()
    )
    return sorted((plan for plan in plans if plan.merges), key=lambda plan: (plan.day, plan.partition))


def _merges(folders: Iterable[Sequence[LiveFile]], limits: Limits) -> Iterable[Merge]:
    """Neighbours in time come together."""
    for files in folders:
        if len(files) < limits.least_files:
            continue
        groups: list[list[LiveFile]] = [[]]
        size_bytes = 0
        for file in sorted(files, key=lambda file: (file.range, file.path)):
            if groups[-1] and size_bytes + file.size_bytes > limits.target_bytes:
                groups.append([])
                size_bytes = 0
            groups[-1].append(file)
            size_bytes += file.size_bytes
        yield from (Merge(tuple(group), limits.target_bytes) for group in groups if len(group) > 1)


def compact_days(
    log: TableLog, plans: Iterable[DayPlan], limits: Limits, begins: Callable[[DayPlan], None]
) -> Compaction:
    """Days fail alone. `begins` hears of each before it is merged."""
    done: list[DayCompacted] = []
    failed: list[DayFailed] = []
    for plan in plans:
        begins(plan)
        try:
            compacted = compact_day(log, plan, limits)
        except LakeError as error:
            failed.append(DayFailed(plan.day, str(error)))
            continue
        done += [compacted] if compacted else []
    return Compaction(tuple(done), tuple(failed))


def compact_day(log: TableLog, plan: DayPlan, limits: Limits) -> DayCompacted | None:
    """Takes effect as a whole or not at all. None where another process left nothing to do. Raises LakeError."""
    plans = [plan]

    def attempt() -> DayCompacted | None:
        if not plans:
            log.refresh()
            plans.extend(plan_days(log.live_files(plan.partition, [plan.day.isoformat()]), limits))
        return _merge(log, plans.pop()) if plans else None

    return until_committed(f"{log.address.name}.{plan.partition}", attempt)


def _merge(log: TableLog, plan: DayPlan) -> DayCompacted:
    unit = plan.day.isoformat()
    with log.transaction(0) as transaction:
        try:
            schema = log.stored_schema()
            merged = [merge_files(log.address, each, schema, unit, transaction.wrote) for each in plan.merges]
        except LakeError as error:
            # Files that another process removed from the table may be gone from the disk, too.
            if log.are_live(plan.files):
                raise
            raise ConflictError(error.message) from error
        added = tuple(fact for facts in merged for fact in facts)
        transaction.rearrange(
            Change(plan.partition, KIND, unit, uuid.uuid4().hex, files=added, removed=plan.files)
        )
    return DayCompacted(
        day=plan.day,
        rows=sum(fact.rows for fact in added),
        files=len(plan.files),
        files_after=len(added),
        size_bytes=plan.size_bytes,
        size_bytes_after=sum(fact.size_bytes for fact in added),
    )
