"""A table becomes what it was at an earlier version, in one commit for all its partitions, what is known included.

Nothing of the past is rewritten: the restored version is a new one, and can be restored from in its turn.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import cached_property
from typing import Any

import pyarrow as pa

from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.evolution import ColumnChange, conversions
from tailpipe.lake.facts import FileFact
from tailpipe.lake.floor import floor_of, purge_floor_of
from tailpipe.lake.history import partition_versions, state_at
from tailpipe.lake.log import TableLog
from tailpipe.lake.log_entries import read_entry
from tailpipe.lake.removal import LiveFile, live_files
from tailpipe.lake.rewriting import rewrite_files
from tailpipe.lake.state import PartitionState
from tailpipe.lake.transaction import MAX_APPENDS, Restoration, Transaction, until_committed

KIND = "restore"
_AT_ONCE = 32


@dataclass(frozen=True)
class RestoredPartition:
    """What it holds before and after, and the files that come back and go."""

    partition: str
    rows_now: int
    rows_then: int
    files_added: int
    files_removed: int


@dataclass(frozen=True)
class Restored:
    """`version` is the one that was restored, of `at`; `before` the newest of that time, and `after` the one that was
    made: None where nothing had to change, or nothing was to be."""

    version: int
    at: datetime
    before: int
    after: int | None
    partitions: tuple[RestoredPartition, ...]

    @property
    def rows_now(self) -> int:
        return sum(part.rows_now for part in self.partitions)

    @property
    def rows_then(self) -> int:
        return sum(part.rows_then for part in self.partitions)


@dataclass
class _Past:
    """The version to restore, which never changes, so that attempts after the first one are quick.

    `known` are versions of application transactions of then, `present` files that were looked for and found. Files
    that were converted for an attempt that lost serve the next one.
    """

    address: TableAddress
    version: int
    files: tuple[LiveFile, ...]
    schema: pa.Schema
    known: Mapping[str, int]
    states: dict[str, PartitionState] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    converted: dict[tuple[str, tuple[ColumnChange, ...]], FileFact] = field(default_factory=dict)

    def state(self, partition: str) -> PartitionState:
        """A partition that came later has an empty one."""
        if partition not in self.states:
            self.states[partition] = self._read_state(partition)
        return self.states[partition]

    def _read_state(self, partition: str) -> PartitionState:
        try:
            return state_at(self.address.at(self.version), partition, self.known.get(partition, 0))
        except LakeError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise self._gone("what was known of its partitions is") from error
            raise

    def check_floor(self, floor: int) -> None:
        """Raises LakeError where others may be removing files of the version, though they are still there."""
        if self.version < floor:
            raise self._refused(
                f"files that only versions before {floor} need were removed, or are being removed"
            )

    def check(self, paths: Iterable[str]) -> None:
        """Raises LakeError unless all of the files are there: those that only old versions name may be vacuumed."""
        wanted = [path for path in paths if path not in self.present]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = pool.map(self.address.files.entry, wanted)
            missing = [path for path, entry in zip(wanted, found, strict=True) if entry is None]
        if missing:
            files = "1 of its files is" if len(missing) == 1 else f"{len(missing):,} of its files are"
            raise self._gone(files, f", such as {missing[0]}")
        self.present.update(wanted)

    def _gone(self, what: str, example: str = "") -> LakeError:
        return self._refused(f"{what} no longer there{example}")

    def _refused(self, why: str) -> LakeError:
        name = self.address.name
        return LakeError(
            f"{name} cannot be restored to version {self.version}: {why}, because of vacuum or --purge. "
            "Nothing was changed.",
            hint=f"choose a later version: tailpipe history {name} lists them",
        )


@dataclass(frozen=True)
class _Plan:
    """`base` is the version on which it was made, `versions` those of application transactions at it."""

    past: _Past
    base: int
    now: tuple[LiveFile, ...]
    versions: Mapping[str, int]
    changes: tuple[ColumnChange, ...]

    @cached_property
    def added(self) -> list[LiveFile]:
        known = {file.path for file in self.now}
        return [file for file in self.past.files if file.path not in known]

    @cached_property
    def removed(self) -> list[LiveFile]:
        kept = {file.path for file in self.past.files}
        return [file for file in self.now if file.path not in kept]

    @property
    def states(self) -> dict[str, PartitionState]:
        return {name: self.past.state(name) for name in self.versions}

    @property
    def changes_anything(self) -> bool:
        is_known = all(state.version == self.versions[name] for name, state in self.states.items())
        return bool(self.added or self.removed) or not is_known


def plan_restore(address: TableAddress, version: int) -> Restored:
    """What a restore would do. Raises LakeError where it cannot."""
    return _restored(_plan(_open_past(address, version)), None)


def restore(address: TableAddress, version: int) -> Restored:
    """Takes effect as a whole or not at all."""
    log, past = TableLog(address, pa.schema([])), _open_past(address, version)
    with log.transaction(0) as transaction:
        return until_committed(address.name, lambda: _restore(log, transaction, past), MAX_APPENDS)


def _restore(log: TableLog, transaction: Transaction, past: _Past) -> Restored:
    log.refresh()
    plan = _plan(past)
    if not plan.changes_anything:
        return _restored(plan, None)
    after = transaction.restore(
        Restoration(
            kind=KIND,
            unit=f"version {past.version}",
            run=uuid.uuid4().hex,
            base=plan.base,
            files=tuple(_facts(plan, transaction)),
            removed=tuple(plan.removed),
            versions=plan.versions,
            states=plan.states,
        )
    )
    return _restored(plan, after)


def _open_past(address: TableAddress, version: int) -> _Past:
    then = address.at(version)
    delta = then.opened()
    return _Past(address, version, tuple(live_files(delta)), _schema(delta), partition_versions(then))


def _plan(past: _Past) -> _Plan:
    now = past.address.opened()
    versions = partition_versions(past.address.at(now.version()))
    changes = conversions(past.schema, _schema(now))
    plan = _Plan(past, now.version(), tuple(live_files(now)), versions, changes)
    back = {file.partition_values["tp_partition"] for file in plan.added}
    back |= {name for name in versions if _rejects_back(plan, name)}
    if back:
        past.check_floor(max(floor_of(now), *(purge_floor_of(now, name) for name in back)))
    rejects = (path for state in plan.states.values() for path in state.reject_files)
    past.check([*(file.path for file in plan.added), *rejects])
    return plan


def _rejects_back(plan: _Plan, partition: str) -> bool:
    """Whether files of rejects are live again after it that are not now."""
    then = plan.past.state(partition)
    if not then.reject_files or then.version == plan.versions[partition]:
        return False
    now = state_at(plan.past.address.at(plan.base), partition, plan.versions[partition])
    return not {*then.reject_files} <= {*now.reject_files}


def _schema(delta: Any) -> pa.Schema:
    return pa.schema(delta.schema().to_arrow())


def _facts(plan: _Plan, transaction: Transaction) -> Iterable[FileFact]:
    """Files that come back, as they are, or written anew where types of columns changed since."""
    if not plan.changes:
        return map(_fact, plan.added)
    past, changes = plan.past, plan.changes
    waiting = [file for file in plan.added if (file.path, changes) not in past.converted]
    rewriting = rewrite_files(past.address, waiting, changes, transaction.wrote)
    if rewriting.lost:
        told = "; ".join(map(str, rewriting.lost.values()))
        raise LakeError(
            f"{past.address.name}: {told}. Nothing was changed.",
            hint="declare the type that the column had then, run tailpipe table rewrite, and restore again",
        )
    past.converted |= {
        (file.path, changes): fact for file, fact in zip(waiting, rewriting.added, strict=True)
    }
    return (past.converted[file.path, changes] for file in plan.added)


def _fact(file: LiveFile) -> FileFact:
    # Without statistics, rows of the whole day may be in it.
    midnight = datetime.combine(date.fromisoformat(file.partition_values["tp_date"]), time.min)
    return FileFact(
        unit=KIND,
        path=file.path,
        size_bytes=file.size_bytes,
        rows=file.rows,
        partition_values=dict(file.partition_values),
        first=(file.first or midnight).isoformat(timespec="milliseconds"),
        last=(file.last or midnight + timedelta(days=1)).isoformat(timespec="milliseconds"),
    )


def _restored(plan: _Plan, after: int | None) -> Restored:
    past = plan.past
    counts = {
        "rows_now": _by_partition(plan.now, lambda file: file.rows),
        "rows_then": _by_partition(past.files, lambda file: file.rows),
        "files_added": _by_partition(plan.added, lambda file: 1),
        "files_removed": _by_partition(plan.removed, lambda file: 1),
    }
    names = sorted({*plan.versions, *counts["rows_now"], *counts["rows_then"]})
    parts = (
        RestoredPartition(name, **{count: by_name[name] for count, by_name in counts.items()})
        for name in names
    )
    return Restored(past.version, read_entry(past.address, past.version).at, plan.base, after, tuple(parts))


def _by_partition(files: Iterable[LiveFile], count: Callable[[LiveFile], int]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for file in files:
        counts[file.partition_values["tp_partition"]] += count(file)
    return counts
