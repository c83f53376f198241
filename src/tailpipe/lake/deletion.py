"""Rows of a window leave a partition in one commit, and the state forgets that they were kept."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import pyarrow as pa

from tailpipe.errors import ConflictError, LakeError, TailpipeError, UnknownOutcome
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.columns import id_prefix
from tailpipe.lake.log import Change, TableLog
from tailpipe.lake.removal import RejectRemoval, Removal, by_prefix, remove_rejects, remove_window
from tailpipe.lake.state import PartitionState
from tailpipe.times import Window

KIND = "delete"
_MAX_ATTEMPTS = 5


@dataclass(frozen=True)
class Deleted:
    """`artifacts` are those of which nothing is left, so that the next collection takes them as it takes new ones."""

    rows: int
    rejects: int
    files: int
    artifacts: int


def delete_window(lake: Lake, table: str, partition: str, window: Window) -> Deleted:
    """Takes effect as a whole or not at all; starts over when a collector was faster."""
    log = TableLog(lake.table(table), pa.schema([]))
    for _ in range(_MAX_ATTEMPTS):
        state = log.state(partition)
        if state.version == 0:
            return Deleted(0, 0, 0, 0)
        try:
            return _delete(log, table, partition, state, window)
        except ConflictError:
            continue
    raise LakeError(
        f"{table}.{partition}: collectors were faster {_MAX_ATTEMPTS} times; nothing was deleted",
        hint="run again when they are done",
    )


def _delete(log: TableLog, table: str, partition: str, state: PartitionState, window: Window) -> Deleted:
    rows = remove_window(log.address, log.live_files(partition), window, KIND)
    rejects = RejectRemoval((), (), 0)
    try:
        emptied = state.artifacts.emptied_by((window,))
        rejected = state.artifacts.known(emptied & state.artifacts.is_rejected)
        prefixes = frozenset(id_prefix(f"{table}.{partition}", *known.key).decode() for known in rejected)
        rejects = remove_rejects(log.address, partition, state.reject_files, by_prefix(prefixes), KIND)
        change = Change(
            partition=partition,
            kind=KIND,
            unit="",
            run=uuid.uuid4().hex,
            files=rows.added,
            removed=rows.removed,
            rejects=tuple(fact.path for fact in rejects.added),
            removed_rejects=rejects.removed,
            deleted=(window,),
        )
        log.commit(change, state.version)
    except UnknownOutcome:
        raise
    except TailpipeError:
        _discard(log.address, rows, rejects)
        raise
    return Deleted(rows.rows, rejects.rows, len(rows.removed), int(emptied.sum()))


def _discard(address: TableAddress, rows: Removal, rejects: RejectRemoval) -> None:
    address.discard([fact.path for fact in rows.added] + [fact.path for fact in rejects.added])
