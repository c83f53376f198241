"""A snapshot for each partition of a table that needs many manifests to be known."""

from __future__ import annotations

import uuid
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

import pyarrow as pa

from tailpipe.errors import TooManyConflicts
from tailpipe.lake.address import TableAddress
from tailpipe.lake.history import SNAPSHOT, is_of_before, manifest_name, partition_versions, recent_names
from tailpipe.lake.log import TableLog
from tailpipe.lake.paths import manifest_path
from tailpipe.lake.transaction import Change, until_committed

# So few manifests cost less than a snapshot of them.
_FEW = 8
# After a snapshot, which is a commit, a collector of the partition would have to plan again. Partitions that are busy
# get theirs by being collected.
_QUIET = timedelta(hours=1)


def write_snapshots(address: TableAddress, now: datetime) -> None:
    """By the clock of the store. Partitions of lakes of before get one at once: the log can be shortened then."""
    log = TableLog(address, pa.schema([]))
    for partition, version in partition_versions(address).items():
        if _is_due(address, partition, version, now):
            # Whoever is faster again and again leaves one sooner or later.
            with suppress(TooManyConflicts):
                until_committed(f"{address.name}.{partition}", partial(_write, log, partition, now))


def _write(log: TableLog, partition: str, now: datetime) -> None:
    version = log.version(partition)
    if _is_due(log.address, partition, version, now):
        log.commit(Change(partition, SNAPSHOT, "", uuid.uuid4().hex), version)


def _is_due(address: TableAddress, partition: str, version: int, now: datetime) -> bool:
    if is_of_before(version):
        return True
    if len(recent_names(address, partition, version)) <= _FEW:
        return False
    newest = address.files.entry(manifest_path(partition, manifest_name(version)))
    return newest is not None and newest.modified_at < now - _QUIET
