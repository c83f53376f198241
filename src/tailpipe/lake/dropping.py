"""Rejects leave quarantine for good, in one commit; from then on they count as filtered."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa

from tailpipe.errors import ConflictError, LakeError, TailpipeError, UnknownOutcome
from tailpipe.lake.address import Lake
from tailpipe.lake.log import Change, TableLog
from tailpipe.lake.quarantine import is_within, prefixes_of, record_prefixes
from tailpipe.lake.removal import remove_rejects
from tailpipe.times import Window

KIND = "drop"
_MAX_ATTEMPTS = 5


def drop_rejects(lake: Lake, table: str, partition: str, window: Window | None = None) -> int:
    """Takes effect as a whole or not at all; starts over when a collector was faster. Says how many went."""
    log = TableLog(lake.table(table), pa.schema([]))
    for _ in range(_MAX_ATTEMPTS):
        try:
            return _drop(log, table, partition, window)
        except ConflictError:
            continue
    raise LakeError(
        f"{table}.{partition}: collectors were faster {_MAX_ATTEMPTS} times; nothing was dropped",
        hint="run again when they are done",
    )


def _drop(log: TableLog, table: str, partition: str, window: Window | None) -> int:
    state = log.state(partition)
    dropping = _Dropping(window)
    removal = remove_rejects(log.address, partition, state.reject_files, dropping, KIND)
    if not removal.rows:
        return 0
    records = record_prefixes(f"{table}.{partition}", state)
    change = Change(
        partition=partition,
        kind=KIND,
        unit="",
        run=uuid.uuid4().hex,
        rejects=tuple(fact.path for fact in removal.added),
        removed_rejects=removal.removed,
        artifacts=tuple(
            msgspec.structs.replace(
                records[prefix],
                rejected=records[prefix].rejected - gone,
                filtered=records[prefix].filtered + gone,
            )
            for prefix, gone in dropping.gone.items()
            if prefix in records
        ),
        # Records of artifacts would settle them, but nothing was read.
        failures=state.failures,
    )
    try:
        log.commit(change, state.version)
    except UnknownOutcome:
        raise
    except TailpipeError:
        log.address.discard(fact.path for fact in removal.added)
        raise
    return removal.rows


@dataclass
class _Dropping:
    """Says which rejects go, and counts them by artifact."""

    window: Window | None
    gone: dict[str, int] = field(default_factory=dict)

    def __call__(self, rows: pa.Table) -> Any:
        is_gone = is_within(rows, self.window)
        going = rows.filter(is_gone)
        counts = pa.table({"prefix": prefixes_of(going.column("id")), "records": going.column("records")})
        for count in counts.group_by("prefix").aggregate([("records", "sum")]).to_pylist():
            self.gone[count["prefix"]] = self.gone.get(count["prefix"], 0) + count["records_sum"]
        return is_gone
