"""Which files of a table must stay, and which of the others were named by a commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from tailpipe.arrow import pa
from tailpipe.lake.address import TableAddress
from tailpipe.lake.files import FileEntry
from tailpipe.lake.history import (
    is_of_before,
    manifest_name,
    partition_of,
    recent_names,
    state_at,
)
from tailpipe.lake.log_entries import Entry, entries_after
from tailpipe.lake.manifest_file import read_manifest
from tailpipe.lake.paths import manifest_path
from tailpipe.lake.retention import Retention

# Paths of one kind of files that a commit added or removed.
PathsOf = Callable[[Entry], Iterable[str]]
# Manifests that are read at once.
_READERS = 16


@dataclass
class Needed:
    """Files of one kind. `kept` must stay; `named` are known to be of commits and need not, unless they are kept."""

    kept: set[str]
    named: set[str]
    paths_of: PathsOf
    young_since: datetime
    version: int

    def is_free(self, file: FileEntry) -> bool:
        """What no known commit names may be named by the next one."""
        if file.path in self.kept:
            return False
        return file.path in self.named or file.modified_at < self.young_since

    def refresh(self, address: TableAddress) -> None:
        """What commits name that came meanwhile, after `version`."""
        for commit in entries_after(address, self.version):
            self.kept.update(self.paths_of(commit))
            self.version = commit.version


def needed_data(delta: Any, retention: Retention) -> Needed:
    paths = pa.table(delta.get_add_actions(flatten=True)).column("path").to_pylist()
    # The log knows paths as URLs, the file system as they are.
    return _needed(map(unquote, paths), lambda commit: commit.paths, retention)


def needed_rejects(
    address: TableAddress, live: Iterable[str], retention: Retention, partition: str | None = None
) -> Needed:
    """`live` are those that count now. Reads the manifests of commits, of one partition or of all."""
    return _needed(live, lambda commit: _rejects_in(address, commit, partition), retention)


def live_rejects(address: TableAddress, versions: dict[str, int]) -> set[str]:
    """Those of partitions at versions of their application transactions."""
    states = (state_at(address, partition, version) for partition, version in versions.items())
    return {path for state in states for path in state.reject_files}


def needed_manifests(
    address: TableAddress, versions: dict[str, int], versions_then: dict[str, int], retention: Retention
) -> Needed:
    """Those that make the states of partitions now and at the oldest version that can be opened, and all between."""
    states = [(address, versions), (address.at(retention.state), versions_then)]
    paths = {
        manifest_path(partition, name)
        for each, found in states
        for partition, version in found.items()
        for name in recent_names(each, partition, version)
    }
    for commit in retention.commits:
        paths.update(manifests_in(commit))
    return Needed(paths, set(), manifests_in, retention.young_since, retention.newest)


def manifests_in(commit: Entry) -> set[str]:
    """Also those of snapshots that the commit may have written."""
    found = {
        manifest_path(partition, manifest_name(version, is_snapshot=is_snapshot))
        for partition, version in _versions_in(commit)
        for is_snapshot in (False, True)
    }
    return found | ({commit.info.manifest} if commit.info.manifest else set())


def _needed(live: Iterable[str], paths_of: PathsOf, retention: Retention) -> Needed:
    kept, named = set(live), set[str]()
    with ThreadPoolExecutor(_READERS) as readers:
        for commit, paths in zip(retention.commits, readers.map(paths_of, retention.commits), strict=True):
            (kept if commit.version > retention.data else named).update(paths)
    return Needed(kept, named, paths_of, retention.young_since, retention.newest)


def _rejects_in(address: TableAddress, commit: Entry, partition: str | None) -> list[str]:
    paths = {manifest_path(name, manifest_name(version)) for name, version in _versions_in(commit)}
    paths |= {commit.info.manifest} if commit.info.manifest else set()
    folder = manifest_path(partition, "").rpartition("/")[0] if partition is not None else ""
    headers = [read_manifest(address, path).header for path in sorted(paths) if path.startswith(folder)]
    return [path for header in headers for path in (*header.rejects, *header.removed_rejects)]


def _versions_in(commit: Entry) -> list[tuple[str, int]]:
    """Of partitions, unless entries of the log name their manifests."""
    found = ((partition_of(each.application), each.version) for each in commit.transactions)
    return [(name, version) for name, version in found if name is not None and not is_of_before(version)]
