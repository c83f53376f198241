"""Small files of a day become few well-sized ones, sorted by time, in one commit a day.

Whoever reads sees the rows before and after it, and finds the old files as long as nobody vacuums them. Whoever comes
second plans again: this, where another process removed one of the files; a collector, where it removes one of them too.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from tailpipe.errors import ConflictError, LakeError
from tailpipe.lake.log import TableLog
from tailpipe.lake.merge_inputs import Merge
from tailpipe.lake.merging import merge_files
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
    """What is merged of one partition and day. `files_after` is an estimate, `rows_moved` get another index."""

    partition: str
    day: date
    merges: tuple[Merge, ...]
    files_after: int
    rows_moved: int = 0

    @property
    def files(self) -> tuple[LiveFile, ...]:
        return tuple(file for merge in self.merges for file in merge.files)

    @property
    def size_bytes(self) -> int:
        return sum(merge.size_bytes for merge in self.merges)


# Says what is to be done of files; asked again for those of one day where another process was faster.
Planner = Callable[[Iterable[LiveFile]], list[DayPlan]]


@dataclass(frozen=True)
class DayCompacted:
    """Files and bytes before and after, without those that were left alone."""

    day: date
    rows: int
    rows_moved: int
    files: int
    files_after: int
    size_bytes: int
    size_bytes_after: int


@dataclass(frozen=True)
class DayFailed:
    """Nothing of the day was changed; nothing at all where it is None."""

    day: date | None
    message: str


@dataclass(frozen=True)
class Compaction:
    """What came of several days."""

    done: tuple[DayCompacted, ...] = ()
    failed: tuple[DayFailed, ...] = ()

    @classmethod
    def of(cls, results: Iterable[DayCompacted | DayFailed]) -> Compaction:
        days = tuple(results)
        return cls(
            tuple(day for day in days if isinstance(day, DayCompacted)),
            tuple(day for day in days if isinstance(day, DayFailed)),
        )

    @property
    def rows(self) -> int:
        return sum(day.rows for day in self.done)

    @property
    def rows_moved(self) -> int:
        return sum(day.rows_moved for day in self.done)

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


def plan_days(limits: Limits, files: Iterable[LiveFile]) -> list[DayPlan]:
    """From what the log tells of the files. Oldest days first; days without work are left out."""
    plans = []
    for (partition, day), own in by_day(files).items():
        merges = tuple(_merges(limits, own))
        if merges:
            plans.append(DayPlan(partition, day, merges, len(merges)))
    return plans


def by_day(files: Iterable[LiveFile]) -> dict[tuple[str, date], list[LiveFile]]:
    """By partition and day; oldest days first."""
    found: dict[tuple[str, date], list[LiveFile]] = defaultdict(list)
    for file in files:
        found[file.partition_values["tp_partition"], file.day].append(file)
    return dict(sorted(found.items(), key=lambda item: (item[0][1], item[0][0])))


def _merges(limits: Limits, files: Iterable[LiveFile]) -> Iterator[Merge]:
    """Every one makes fewer files."""
    folders: dict[str, list[LiveFile]] = defaultdict(list)
    for file in files:
        if file.size_bytes < limits.small_bytes:
            folders[file.partition_values["tp_index"]].append(file)
    for own in folders.values():
        if len(own) >= limits.least_files:
            groups = in_groups(own, limits.target_bytes)
            yield from (Merge(tuple(group), limits.target_bytes) for group in groups if len(group) > 1)


def in_groups(files: Iterable[LiveFile], most_bytes: int) -> list[list[LiveFile]]:
    """Neighbours in time, no more bytes than given in a group of several."""
    groups: list[list[LiveFile]] = []
    size_bytes = 0
    for file in sorted(files, key=lambda file: (file.range, file.path)):
        if not groups or size_bytes + file.size_bytes > most_bytes:
            groups.append([])
            size_bytes = 0
        groups[-1].append(file)
        size_bytes += file.size_bytes
    return groups


def compact_days(
    log: TableLog, plans: Iterable[DayPlan], planner: Planner, begins: Callable[[DayPlan], None]
) -> Iterator[DayCompacted | DayFailed]:
    """Days fail alone. `begins` hears of each before it is merged."""
    for plan in plans:
        begins(plan)
        try:
            compacted = compact_day(log, plan, planner)
        except LakeError as error:
            yield DayFailed(plan.day, str(error))
            continue
        if compacted is not None:
            yield compacted


def compact_day(log: TableLog, plan: DayPlan, planner: Planner) -> DayCompacted | None:
    """Takes effect as a whole or not at all. None where another process left nothing to do. Raises LakeError."""
    plans = [plan]

    def attempt() -> DayCompacted | None:
        if not plans:
            log.refresh()
            plans.extend(planner(log.live_files(plan.partition, [plan.day.isoformat()])))
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
        rows_moved=plan.rows_moved,
        files=len(plan.files),
        files_after=len(added),
        size_bytes=plan.size_bytes,
        size_bytes_after=sum(fact.size_bytes for fact in added),
    )
