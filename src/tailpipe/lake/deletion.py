"""Rows of a window, or rejects, leave a partition in one commit.

The state forgets that the rows were kept; rejects count as filtered from then on.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from tailpipe.lake.address import Lake
from tailpipe.lake.log import TableLog
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.lake.quarantine import is_within, prefixes_of, record_prefixes
from tailpipe.lake.removal import Gone, by_prefix, remove_rejects, remove_window
from tailpipe.lake.transaction import Change, until_committed
from tailpipe.records import RowCounts
from tailpipe.times import Window

ROWS = "delete"
REJECTS = "drop"


@dataclass(frozen=True)
class Deleted:
    """`artifacts` are those of which nothing is left, so that the next collection takes them as it takes new ones."""

    rows: int = 0
    rejects: int = 0
    files: int = 0
    artifacts: int = 0


def delete_window(lake: Lake, table: str, partition: str, window: Window) -> Deleted:
    """Takes effect as a whole or not at all."""
    log = TableLog(lake.table(table), pa.schema([]))
    return until_committed(f"{table}.{partition}", lambda: _delete_window(log, partition, window))


def delete_rejects(lake: Lake, table: str, partition: str, window: Window | None = None) -> int:
    """Takes effect as a whole or not at all. Says how many went."""
    log = TableLog(lake.table(table), pa.schema([]))
    return until_committed(f"{table}.{partition}", lambda: _delete_rejects(log, partition, window))


def _delete_window(log: TableLog, partition: str, window: Window) -> Deleted:
    state = log.state(partition)
    if state.version == 0:
        return Deleted()
    with log.transaction(state.version) as transaction:
        files = log.live_files(partition)
        rows = remove_window(log.address, files, window, ROWS, transaction.wrote)
        emptied = state.artifacts.emptied_by((window,))
        prefixes = frozenset(record_prefixes(f"{log.address.name}.{partition}", state, emptied))
        rejects = remove_rejects(
            log.address, partition, state.reject_files, by_prefix(prefixes), ROWS, transaction.wrote
        )
        transaction.commit(
            Change(
                partition=partition,
                kind=ROWS,
                unit="",
                run=uuid.uuid4().hex,
                files=rows.added,
                removed=rows.removed,
                rejects=tuple(fact.path for fact in rejects.added),
                removed_rejects=rejects.removed,
                deleted=(window,),
            )
        )
    return Deleted(rows.rows, rejects.rows, len(rows.removed), int(emptied.sum()))


def _delete_rejects(log: TableLog, partition: str, window: Window | None) -> int:
    state = log.state(partition)
    choice = CountedRejects(lambda rows: is_within(rows, window))
    with log.transaction(state.version) as transaction:
        removal = remove_rejects(
            log.address, partition, state.reject_files, choice, REJECTS, transaction.wrote
        )
        if not removal.rows:
            return 0
        records = record_prefixes(f"{log.address.name}.{partition}", state)
        transaction.commit(
            Change(
                partition=partition,
                kind=REJECTS,
                unit="",
                run=uuid.uuid4().hex,
                rejects=tuple(fact.path for fact in removal.added),
                removed_rejects=removal.removed,
                artifacts=choice.changed(records, lambda gone: RowCounts(filtered=gone, rejected=-gone)),
                # Known artifacts would settle them, but nothing was read.
                failures=state.failures,
            )
        )
    return removal.rows


@dataclass
class CountedRejects:
    """Says which rejects go, and counts them by artifact."""

    is_gone: Gone
    gone: dict[str, int] = field(default_factory=dict)

    def __call__(self, rows: pa.Table) -> Any:
        is_gone = self.is_gone(rows)
        going = rows.filter(is_gone)
        counts = pa.table({"prefix": prefixes_of(going.column("id")), "records": going.column("records")})
        for count in counts.group_by("prefix").aggregate([("records", "sum")]).to_pylist():
            self.gone[count["prefix"]] = self.gone.get(count["prefix"], 0) + count["records_sum"]
        return is_gone

    def changed(
        self, records: Mapping[str, KnownArtifact], by: Callable[[int], RowCounts]
    ) -> tuple[KnownArtifact, ...]:
        """Of the artifacts, by prefix, those of which rejects go; `by` says what so many of them change."""
        return tuple(
            msgspec.structs.replace(records[prefix], rows=records[prefix].rows + by(gone))
            for prefix, gone in self.gone.items()
            if prefix in records
        )
