"""Entries of a Delta log: one file of JSON lines for each commit, which never changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from urllib.parse import unquote

import msgspec

from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.paths import LOG, entry_path, entry_version

_CHECKPOINT = re.compile(r"/([0-9]{20})\.checkpoint\.[^/]*$")
# Entries are small: what they cost in an object store is the way there and back.
_AT_ONCE = 32
_AHEAD = 8 * _AT_ONCE


class FileAction(msgspec.Struct, frozen=True):
    """A data file that comes or goes; `stats` is JSON."""

    path: str
    data_change: bool = msgspec.field(name="dataChange", default=True)
    stats: str | None = None

    @property
    def rows(self) -> int | None:
        return _decode_stats(self.stats).rows if self.stats else None


class CommitInfo(msgspec.Struct, frozen=True):
    """Other programs tell less of their commits."""

    timestamp: float | None = None
    operation: str = ""
    partition: str | None = msgspec.field(name="tailpipe.partition", default=None)
    kind: str | None = msgspec.field(name="tailpipe.kind", default=None)
    unit: str | None = msgspec.field(name="tailpipe.unit", default=None)
    manifest: str | None = msgspec.field(name="tailpipe.manifest", default=None)


class ApplicationTransaction(msgspec.Struct, frozen=True):
    application: str = msgspec.field(name="appId")
    version: int


class _Stats(msgspec.Struct, frozen=True):
    rows: int | None = msgspec.field(name="numRecords", default=None)


class _Line(msgspec.Struct, frozen=True):
    info: CommitInfo | None = msgspec.field(name="commitInfo", default=None)
    add: FileAction | None = None
    remove: FileAction | None = None
    transaction: ApplicationTransaction | None = msgspec.field(name="txn", default=None)


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_stats = msgspec.json.Decoder(_Stats).decode


@dataclass(frozen=True)
class Entry:
    version: int
    at: datetime
    info: CommitInfo
    added: tuple[FileAction, ...] = ()
    removed: tuple[FileAction, ...] = ()
    transactions: tuple[ApplicationTransaction, ...] = ()

    @property
    def paths(self) -> list[str]:
        """Of data files that come or go, as they are called below the table; in the log they are URLs."""
        return [unquote(action.path) for action in (*self.added, *self.removed)]


@dataclass(frozen=True)
class Kept:
    """What is left of a log: versions that have an entry, in order, and the oldest that can be opened."""

    versions: tuple[int, ...]
    oldest: int

    @property
    def openable(self) -> tuple[int, ...]:
        return tuple(version for version in self.versions if version >= self.oldest)


def kept_of(address: TableAddress) -> Kept:
    """The log is listed. Raises LakeError where nothing of it is left."""
    paths = address.paths_in(LOG)
    entries = sorted(version for version in map(entry_version, paths) if version is not None)
    if not entries:
        raise LakeError(f"{address}: the Delta log has no entries.", hint="collect into it first")
    # A log that was shortened begins with a checkpoint, and entries before it cannot be opened.
    oldest = entries[0] if entries[0] == 0 else min(_checkpoints(paths), default=entries[0])
    return Kept(tuple(entries), oldest)


def _checkpoints(paths: Iterable[str]) -> list[int]:
    return [int(found[1]) for found in map(_CHECKPOINT.search, paths) if found]


def read_entries(address: TableAddress, versions: Iterable[int]) -> Iterator[Entry]:
    """In the order of the versions, many at once, and no more of them ahead than that."""
    left = iter(versions)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while some := list(islice(left, _AHEAD)):
            yield from pool.map(partial(read_entry, address), some)


def entries_after(address: TableAddress, version: int) -> Iterator[Entry]:
    """Those of commits that came since, oldest first."""
    while address.files.entry(entry_path(version + 1)) is not None:
        version += 1
        yield read_entry(address, version)


def read_entry(address: TableAddress, version: int) -> Entry:
    path = entry_path(version)
    try:
        lines = [_decode_line(line) for line in address.files.read(path).splitlines() if line]
    except (OSError, msgspec.DecodeError) as error:
        raise address.unreadable(error, path) from error
    info = next((line.info for line in lines if line.info), CommitInfo())
    return Entry(
        version,
        _time_of(address, path, info),
        info,
        tuple(line.add for line in lines if line.add),
        tuple(line.remove for line in lines if line.remove),
        tuple(line.transaction for line in lines if line.transaction),
    )


def _time_of(address: TableAddress, path: str, info: CommitInfo) -> datetime:
    """A copied log has new times of its files, so they count only where a commit does not tell its own."""
    if info.timestamp is not None:
        return datetime.fromtimestamp(info.timestamp / 1000, UTC)
    file = address.files.entry(path)
    return file.modified_at if file else datetime.fromtimestamp(0, UTC)
