"""A table becomes what it was at an earlier version, in one commit for all its partitions, what is known included.

Nothing of the past is rewritten: the restored version is a new one, and can be restored from in its turn.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

import pyarrow as pa

from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.evolution import ColumnChange, conversions
from tailpipe.lake.facts import FileFact
from tailpipe.lake.history import partition_versions, state_at
from tailpipe.lake.log import TableLog
from tailpipe.lake.log_entries import read_entry
from tailpipe.lake.removal import LiveFile, live_files
from tailpipe.lake.rewriting import rewrite_files
from tailpipe.lake.state import PartitionState
from tailpipe.lake.transaction import Restoration, Transaction, until_committed

KIND = "restore"
_AT_ONCE = 32

Converted = dict[tuple[str, tuple[ColumnChange, ...]], FileFact]


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


@dataclass(frozen=True)
class _Plan:
    """`base` is the version on which it was made; `states` are those of then of all partitions, new ones included."""

    base: int
    now: tuple[LiveFile, ...]
    then: tuple[LiveFile, ...]
    versions: Mapping[str, int]
    states: Mapping[str, PartitionState]
    changes: tuple[ColumnChange, ...]

    @property
    def added(self) -> list[LiveFile]:
        known = {file.path for file in self.now}
        return [file for file in self.then if file.path not in known]

    @property
    def removed(self) -> list[LiveFile]:
        kept = {file.path for file in self.then}
        return [file for file in self.now if file.path not in kept]

    @property
    def changes_anything(self) -> bool:
        is_known = all(self.states[name].version == version for name, version in self.versions.items())
        return bool(self.added or self.removed) or not is_known


def plan_restore(address: TableAddress, version: int) -> Restored:
    """What a restore would do. Raises LakeError where it cannot."""
    plan = _plan(address, version)
    _check_files(address, version, plan)
    return _restored(address, version, plan, None)


def restore(address: TableAddress, version: int) -> Restored:
    """Takes effect as a whole or not at all."""
    log = TableLog(address, pa.schema([]))
    # Files that were converted for an attempt that lost serve the next one.
    converted: Converted = {}
    with log.transaction(0) as transaction:
        return until_committed(address.name, lambda: _restore(log, transaction, version, converted))


def _restore(log: TableLog, transaction: Transaction, version: int, converted: Converted) -> Restored:
    log.refresh()
    plan = _plan(log.address, version)
    _check_files(log.address, version, plan)
    if not plan.changes_anything:
        return _restored(log.address, version, plan, None)
    after = transaction.restore(
        Restoration(
            kind=KIND,
            unit=f"version {version}",
            run=uuid.uuid4().hex,
            base=plan.base,
            files=tuple(_facts(log.address, plan, transaction, converted)),
            removed=tuple(plan.removed),
            versions=plan.versions,
            states=plan.states,
        )
    )
    return _restored(log.address, version, plan, after)


def _plan(address: TableAddress, version: int) -> _Plan:
    now = address.opened()
    base = now.version()
    then = address.at(version).opened()
    versions = partition_versions(address.at(base))
    past = partition_versions(address.at(version))
    return _Plan(
        base=base,
        now=tuple(live_files(now)),
        then=tuple(live_files(then)),
        versions=versions,
        states={name: _state_then(address, name, version, past.get(name, 0)) for name in versions},
        changes=conversions(_schema(then), _schema(now)),
    )


def _schema(delta: Any) -> pa.Schema:
    return pa.schema(delta.schema().to_arrow())


def _state_then(address: TableAddress, partition: str, version: int, known: int) -> PartitionState:
    try:
        return state_at(address.at(version), partition, known)
    except LakeError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise _gone(address, version, "what was known of its partitions is") from error
        raise


def _check_files(address: TableAddress, version: int, plan: _Plan) -> None:
    """Files that no version of now names may be vacuumed."""
    rejects = [path for state in plan.states.values() for path in state.reject_files]
    paths = [*(file.path for file in plan.added), *rejects]
    missing = _missing(address, paths)
    if missing:
        files = "1 of its files is" if len(missing) == 1 else f"{len(missing):,} of its files are"
        raise _gone(address, version, files, f", such as {missing[0]}")


def _missing(address: TableAddress, paths: Iterable[str]) -> list[str]:
    def is_missing(path: str) -> bool:
        return files.entry(path) is None

    files, wanted = address.files, list(paths)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return [path for path, is_gone in zip(wanted, pool.map(is_missing, wanted), strict=True) if is_gone]


def _gone(address: TableAddress, version: int, what: str, example: str = "") -> LakeError:
    return LakeError(
        f"{address.name} cannot be restored to version {version}: {what} no longer there{example}. "
        "They were vacuumed or purged. Nothing was changed.",
        hint=f"choose a later version: tailpipe history {address.name} lists them",
    )


def _facts(
    address: TableAddress, plan: _Plan, transaction: Transaction, converted: Converted
) -> Iterable[FileFact]:
    """Files that come back, as they are, or written anew where types of columns changed since."""
    if not plan.changes:
        return map(_fact, plan.added)
    waiting = [file for file in plan.added if (file.path, plan.changes) not in converted]
    rewriting = rewrite_files(address, waiting, plan.changes, transaction.wrote)
    if rewriting.lost:
        told = "; ".join(map(str, rewriting.lost.values()))
        raise LakeError(
            f"{address.name}: {told}. Nothing was changed.",
            hint="declare the type that the column had then, run tailpipe table rewrite, and restore again",
        )
    keys = ((file.path, plan.changes) for file in waiting)
    converted |= dict(zip(keys, rewriting.added, strict=True))
    return (converted[file.path, plan.changes] for file in plan.added)


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


def _restored(address: TableAddress, version: int, plan: _Plan, after: int | None) -> Restored:
    sides = (plan.now, plan.then, plan.added, plan.removed)
    files = [Counter(file.partition_values["tp_partition"] for file in side) for side in sides]
    rows: list[Counter[str]] = []
    for side in sides[:2]:
        rows.append(Counter())
        for file in side:
            rows[-1][file.partition_values["tp_partition"]] += file.rows
    names = sorted({*plan.versions, *files[0], *files[1]})
    parts = (
        RestoredPartition(name, rows[0][name], rows[1][name], files[2][name], files[3][name])
        for name in names
    )
    return Restored(version, read_entry(address, version).at, plan.base, after, tuple(parts))
