"""Rows leave a partition by their age: whole days before an edge, in one commit, and stay away until asked for."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.lake.address import Lake
from tailpipe.lake.deletion import CountedRejects
from tailpipe.lake.extent import extent, may_hold
from tailpipe.lake.known import Artifacts
from tailpipe.lake.log import TableLog
from tailpipe.lake.manifest import Failure, KnownArtifact, Windows
from tailpipe.lake.quarantine import is_within, read_file, record_prefixes
from tailpipe.lake.rejects import has_prefix
from tailpipe.lake.removal import Gone, LiveFile, remove_rejects, remove_window
from tailpipe.lake.state import PartitionState
from tailpipe.lake.transaction import Change, until_committed
from tailpipe.records import RowCounts
from tailpipe.times import START_OF_TIME, Lookback, Window, day_window, merge, midnight

EXPIRE = "expire"
# A clock is believed so far beyond the last run that the lake knows of.
MAX_LEAP = timedelta(days=7)


@dataclass(frozen=True)
class Expired:
    """What left, or would leave: all before the edge. Days are those with rows."""

    edge: datetime
    days: int = 0
    rows: int = 0
    rejects: int = 0
    files: int = 0
    size_bytes: int = 0

    @property
    def is_nothing(self) -> bool:
        return not self.rows and not self.rejects


def edge_of(expire_after: Lookback, now: datetime, last_run: datetime | None) -> datetime:
    """Midnight before which rows expire. A clock that leapt ahead takes a few days too many at most, and not all."""
    believed_now = now if last_run is None else min(now, last_run + MAX_LEAP)
    return midnight((believed_now - expire_after).date())


def last_run_of(states: Iterable[PartitionState]) -> datetime | None:
    return max((state.last_run.started_at for state in states if state.last_run), default=None)


def may_expire(state: PartitionState, edge: datetime) -> bool:
    """Whether anything is known of the time before the edge; files of other days may have rows of it."""
    expiry = Expiry("", state, edge)
    return bool(expiry.windows(())) or any(expiry.may_hold(known) for known, _ in state.artifacts.alike())


def expire(lake: Lake, table: str, partition: str, edge: datetime) -> Expired:
    """Takes effect as a whole or not at all. Whole days lie in files of their own: none is opened."""
    log = TableLog(lake.table(table), pa.schema([]))
    return until_committed(f"{table}.{partition}", lambda: _expire(log, partition, edge))


def expirable(lake: Lake, table: str, partition: str, edge: datetime) -> Expired:
    """What `expire` would take out now."""
    log = TableLog(lake.table(table), pa.schema([]))
    expiry, files = _found(log, partition, edge)
    if not expiry.windows(map(_day, files)):
        return Expired(edge)
    choice = CountedRejects(expiry.is_gone)
    for path in expiry.state.reject_files:
        choice(read_file(log.address, path, ["id", "rejected_at", "records"]))
    return _summed(edge, files, sum(choice.gone.values()))


def _found(log: TableLog, partition: str, edge: datetime) -> tuple[Expiry, list[LiveFile]]:
    state = log.state(partition)
    files = [file for file in log.live_files(partition) if _day(file) < edge.date()]
    return Expiry(f"{log.address.name}.{partition}", state, edge), files


def _expire(log: TableLog, partition: str, edge: datetime) -> Expired:
    expiry, files = _found(log, partition, edge)
    windows = expiry.windows(map(_day, files))
    if not expiry.state.version or not windows:
        return Expired(edge)
    choice = CountedRejects(expiry.is_gone)
    with log.transaction(expiry.state.version) as transaction:
        rows = remove_window(log.address, files, expiry.before, EXPIRE, transaction.wrote)
        rejects = remove_rejects(
            log.address, partition, expiry.state.reject_files, choice, EXPIRE, transaction.wrote
        )
        change = replace(
            expiry.change(partition, windows, choice),
            files=rows.added,
            removed=rows.removed,
            rejects=tuple(fact.path for fact in rejects.added),
            removed_rejects=rejects.removed,
        )
        transaction.commit(change)
    return _summed(edge, rows.removed, rejects.rows)


@dataclass(frozen=True)
class Expiry:
    """What the state of a partition, `table.partition`, becomes when all before the edge leaves."""

    name: str
    state: PartitionState
    edge: datetime

    @property
    def before(self) -> Window:
        return Window(START_OF_TIME, self.edge)

    def windows(self, days: Iterable[date]) -> Windows:
        """What of the time before the edge was asked for, failed, or has rows, as these days have; none where there is
        nothing to do."""
        known = [window for windows in self.state.asked.values() for window in windows]
        known += [day_window(failure.day) for failure in self.state.failures if failure.day]
        known += map(day_window, set(days))
        return merge(Window(window.start, min(window.end, self.edge)) for window in known)

    def may_hold(self, known: KnownArtifact) -> bool:
        """Whether rows of the artifact may be kept that lie before the edge."""
        return bool(known.kept) and known.kept[0].start < self.edge and may_hold(known, (self.before,))

    @cached_property
    def is_gone(self) -> Gone:
        """Rejects go that were rejected before the edge, and all of artifacts of which every row lies before it."""
        artifacts, prefixes = self.state.artifacts, frozenset[str]()
        if artifacts.is_rejected.any():
            is_over = artifacts.emptied_by((self.before,)) | artifacts.where(self._is_over)
            prefixes = frozenset(record_prefixes(self.name, self.state, is_over))
        return lambda rows: pc.or_(is_within(rows, self.before), has_prefix(rows.column("id"), prefixes))

    def change(self, partition: str, windows: Windows, choice: CountedRejects) -> Change:
        """Without the files that come and go."""
        return Change(
            partition=partition,
            kind=EXPIRE,
            unit="",
            run=uuid.uuid4().hex,
            artifacts=self._without_rejects(choice),
            deleted=(self.before,),
            expired=windows,
            # Known artifacts would settle them, but nothing was read.
            failures=tuple(each for each in self.state.failures if not self._is_expired(each)),
        )

    def _is_over(self, known: KnownArtifact) -> bool:
        ends = [window.end for window in (known.span, extent(known)) if window is not None]
        return bool(ends) and max(ends) <= self.edge

    def _without_rejects(self, choice: CountedRejects) -> tuple[KnownArtifact, ...]:
        """Artifacts of which something stays kept, and rejects go: these count as outside the window from then on."""
        if not choice.gone:
            return ()
        left = replace(self.state, artifacts=Artifacts([self.state.artifacts], [(1, (self.before,))]))
        records = record_prefixes(self.name, left)
        return choice.changed(records, lambda gone: RowCounts(outside=gone, rejected=-gone))

    def _is_expired(self, failure: Failure) -> bool:
        return failure.day is not None and midnight(failure.day) < self.edge


def _day(file: LiveFile) -> date:
    return date.fromisoformat(file.partition_values["tp_date"])


def _summed(edge: datetime, files: Sequence[LiveFile], rejects: int) -> Expired:
    return Expired(
        edge,
        len({_day(file) for file in files}),
        sum(file.rows for file in files),
        rejects,
        len(files),
        sum(file.size_bytes for file in files),
    )
