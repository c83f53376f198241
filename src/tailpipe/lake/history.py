"""Which manifests say what is known of a partition.

The Delta log has an application transaction for each partition. Its version counts the partition's commits, with random
bits behind the count, and names the newest manifest. That one names those before it, back to the last snapshot, and a
snapshot names those that it stands for. So a state is found by opening the table and reading a few files, however long
its history is, and nobody misses what the log forgets of its past.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.manifest_file import Manifest, read_manifest
from tailpipe.lake.paths import LOG, MANIFESTS, entry_path, entry_version, manifest_path, partition_in
from tailpipe.lake.state import PartitionState, fold

# The kind of a commit that is made for its snapshot alone.
SNAPSHOT = "snapshot"
_RANDOM_BITS = 20
_SNAPSHOT = "-snapshot"
_APPLICATION = "tailpipe/"


def application(partition: str) -> str:
    return f"{_APPLICATION}{partition}"


def partition_of(application: str) -> str | None:
    """None for an application that is not a partition."""
    return application.removeprefix(_APPLICATION) if application.startswith(_APPLICATION) else None


def version_of(delta: Any, partition: str) -> int:
    """0 while nothing of the partition is committed."""
    return int(delta.transaction_version(application(partition)) or 0) if delta is not None else 0


def next_version(version: int) -> int:
    """Two processes that begin on the same version write manifests of different names."""
    return (version >> _RANDOM_BITS) + 1 << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)


def is_of_before(version: int) -> bool:
    """Entries of the log named the manifests, and all had to be read. The next commit ends that by a snapshot."""
    return 0 < version < 1 << _RANDOM_BITS


def manifest_name(version: int, *, is_snapshot: bool = False) -> str:
    """A snapshot is written in the transaction of a manifest, and says what was known before it."""
    count, bits = divmod(version, 1 << _RANDOM_BITS)
    return f"{count:010d}-{bits:05x}{_SNAPSHOT if is_snapshot else ''}"


def recent_names(address: TableAddress, partition: str, version: int) -> tuple[str, ...]:
    """Manifests that make the state at the version, oldest first: the last snapshot, and those after it."""
    if version == 0:
        return ()
    if is_of_before(version):
        named = _named_by_entries(address, partition)
        snapshots = [number for number, entry in enumerate(named) if entry.is_snapshot]
        return tuple(entry.name for entry in named[max(snapshots, default=0) :])
    name = manifest_name(version)
    return (*_names_before(address, partition, name), name)


def all_names(address: TableAddress, partition: str, version: int) -> tuple[str, ...]:
    """Manifests of all commits of which a vacuum left any, oldest first, without snapshots."""
    if is_of_before(version):
        there = _names_there(address, partition)
        named = _named_by_entries(address, partition)
        return tuple(entry.name for entry in named if not entry.is_snapshot and entry.name in there)
    found = names = recent_names(address, partition, version)
    there = _names_there(address, partition) if names and names[0].endswith(_SNAPSHOT) else frozenset()
    while names and names[0].endswith(_SNAPSHOT):
        before = _names_before(address, partition, names[0])
        names = tuple(name for name in before if name in there)
        found = (*names, *found)
    return tuple(name for name in found if not name.endswith(_SNAPSHOT))


def read_manifests(address: TableAddress, partition: str, names: Iterable[str]) -> Iterator[Manifest]:
    return (read_manifest(address, manifest_path(partition, name)) for name in names)


def state_at(address: TableAddress, partition: str, version: int) -> PartitionState:
    names = recent_names(address, partition, version)
    return fold(version, read_manifests(address, partition, names))


def partition_versions(address: TableAddress) -> dict[str, int]:
    """Of every partition of which something is committed. The log is opened once for all."""
    delta = address.opened()
    return versions_in(address, delta) if delta else {}


def versions_in(address: TableAddress, delta: Any) -> dict[str, int]:
    """The same at the version at which the table was opened."""
    names = [_partition_in(address, folder) for folder in address.paths_in(MANIFESTS)]
    versions = {name: version_of(delta, name) for name in names if name is not None}
    return {name: version for name, version in sorted(versions.items()) if version}


def _partition_in(address: TableAddress, folder: str) -> str | None:
    """A name may be too long for a folder's; manifests have it whole, but for those of a run that was killed."""
    name = partition_in(folder.rpartition("/")[2])
    for path in address.paths_in(folder) if name is None else ():
        with suppress(LakeError):
            return read_manifest(address, path).header.partition
    return name


def _names_there(address: TableAddress, partition: str) -> frozenset[str]:
    """Manifests for which a snapshot stands may have been vacuumed."""
    folder = manifest_path(partition, "").rpartition("/")[0]
    paths = address.paths_in(folder)
    return frozenset(path.rpartition("/")[2].removesuffix(".parquet") for path in paths)


def _names_before(address: TableAddress, partition: str, name: str) -> tuple[str, ...]:
    return read_manifest(address, manifest_path(partition, name)).header.history


class _Entry(NamedTuple):
    """What an entry of a log of before says of a manifest."""

    partition: str
    name: str
    is_snapshot: bool


def _named_by_entries(address: TableAddress, partition: str) -> list[_Entry]:
    newest = entry_path(address.version) if address.version is not None else "~"
    paths = [path for path in address.paths_in(LOG) if entry_version(path) is not None and path <= newest]
    entries = (_read_entry(address, path) for path in paths)
    return [entry for entry in entries if entry and entry.partition == partition]


@lru_cache(maxsize=1 << 16)
def _read_entry(address: TableAddress, path: str) -> _Entry | None:
    """Entries never change, and those of one log are read for each of its partitions."""
    try:
        lines = (line for line in address.files.read(path).splitlines() if line.startswith(b'{"commitInfo"'))
        info = msgspec.json.decode(next(lines, b"{}")).get("commitInfo", {})
    except (OSError, ValueError) as error:
        raise address.unreadable(error) from error
    if "tailpipe.manifest" not in info:
        return None
    name = info["tailpipe.manifest"].rpartition("/")[2].removesuffix(".parquet")
    return _Entry(info["tailpipe.partition"], name, "tailpipe.snapshot" in info)
