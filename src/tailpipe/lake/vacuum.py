"""Files that nobody needs any more leave a table for good.

What is named goes before what names it: data and rejects, then manifests, then the log from its beginning. A vacuum
that dies at any point leaves a table that works, and enough of the log for the next one to know what is left to do.
Versions that lose files are below the floor before the first file goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq

from tailpipe.errors import ConflictError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.files import FileEntry
from tailpipe.lake.floor import APPLICATION, floor_of
from tailpipe.lake.history import is_of_before, versions_in
from tailpipe.lake.kinds import Kind, is_of
from tailpipe.lake.log import TableLog
from tailpipe.lake.log_folder import LogFolder, read_folder
from tailpipe.lake.needed import live_rejects, needed_data, needed_manifests, needed_rejects
from tailpipe.lake.paths import LOG, MANIFESTS, REJECTS
from tailpipe.lake.presence import staying
from tailpipe.lake.retention import Retention, find_retention, store_time
from tailpipe.lake.snapshots import write_snapshots
from tailpipe.lake.sweep import Freed, Sweep
from tailpipe.lake.transaction import MAX_APPENDS, until_committed
from tailpipe.times import Lookback

KIND = "vacuum"
_DATA_FOLDERS = "tp_partition="


def vacuum_table(address: TableAddress, older_than: Lookback, *, is_dry_run: bool = False) -> Freed:
    """What the table was at any moment of the time that is given stays readable."""
    now = datetime.now(UTC) if is_dry_run else store_time(address)
    if not is_dry_run:
        write_snapshots(address, now)
    since = now - older_than if older_than.amount else None
    # Anybody's removal of files is a conflict with its mark, though it concerns none of what it does.
    return until_committed(address.name, lambda: _vacuum(address, since, now, is_dry_run), MAX_APPENDS)


def _vacuum(address: TableAddress, since: datetime | None, now: datetime, is_dry_run: bool) -> Freed:
    log = TableLog(address, pa.schema([]))
    log.refresh()
    if log.delta is None:
        return Freed()
    folder = read_folder(address)
    retention = find_retention(address, log.delta, folder, since, now)
    return _Plan(log, folder, retention, is_dry_run).carried_out()


@dataclass
class _Plan:
    log: TableLog
    folder: LogFolder
    retention: Retention
    is_dry_run: bool
    versions: dict[str, int] = field(init=False)
    versions_then: dict[str, int] = field(init=False)
    sweep: Sweep = field(init=False)

    def __post_init__(self) -> None:
        self.address = self.log.address
        self.versions = versions_in(self.address, self.log.delta)
        self.versions_then = versions_in(self.address, self.address.at(self.retention.state).opened())
        self.sweep = Sweep(self.address, self._raise_floor, self.is_dry_run)

    def carried_out(self) -> Freed:
        self._free_data()
        self._free_rejects()
        manifests = needed_manifests(self.address, self.versions, self.versions_then, self.retention)
        self.sweep.free(Kind.MANIFESTS, MANIFESTS, manifests)
        self._free_log()
        self.sweep.remove(Kind.TEMPORARY, self._temporary())
        return self.sweep.freed

    def _raise_floor(self) -> None:
        """Raises ConflictError if another process makes files visible again, or moves the floor too."""
        if self.retention.data > floor_of(self.log.delta):
            with self._staying():
                self.log.append_mark(KIND, {APPLICATION: self.retention.data})

    def _free_data(self) -> None:
        needed = needed_data(self.log.delta, self.retention)
        for folder in self.address.paths_in(""):
            if folder.startswith(_DATA_FOLDERS):
                self.sweep.free(Kind.DATA, folder, needed)

    def _free_rejects(self) -> None:
        """Most lakes have none, or none that is not live: then no manifest has to be read."""
        live = live_rejects(self.address, self.versions)
        if any(file.path not in live for file in self.sweep.walk(REJECTS)):
            self.sweep.free(Kind.REJECTS, REJECTS, needed_rejects(self.address, live, self.retention))

    def _free_log(self) -> None:
        """Oldest first, so that what is left has no gap."""
        first = self._first_checkpoint()
        with self._staying():
            self.sweep.remove(Kind.LOG, [file for version, file in self.folder.files if version < first])

    @contextmanager
    def _staying(self) -> Iterator[None]:
        """Entries of the log have the same names in another table that was made in the place of this one."""
        with staying(self.address):
            delta = self.address.opened()
            if delta is None or delta.metadata().id != self.log.delta.metadata().id:
                raise ConflictError(f"{self.address.name} was deleted by another process meanwhile")
            yield

    def _first_checkpoint(self) -> int:
        """At which the log may begin. The entry of its own version stays: without it nobody could commit."""
        if any(map(is_of_before, (*self.versions.values(), *self.versions_then.values()))):
            return 0
        hint = -1 if self.folder.hint is None else self.folder.hint
        usable = self.folder.checkpoints.keys() & self.folder.entries.keys()
        first = max((each for each in usable if each <= min(hint, self.retention.state)), default=0)
        return first if first and self._is_whole(self.folder.checkpoints[first]) else 0

    def _is_whole(self, checkpoint: FileEntry) -> bool:
        try:
            with self.address.files.open_read(checkpoint.path) as file:
                return bool(pq.read_metadata(file).num_rows)
        except (OSError, pa.ArrowException):
            return False

    def _temporary(self) -> Iterator[FileEntry]:
        paths = [path for path in self.address.paths_in("") if is_of(Kind.TEMPORARY, path)]
        own = (entry for entry in map(self.address.files.entry, paths) if entry is not None)
        for file in (*self.sweep.walk(LOG), *own):
            if is_of(Kind.TEMPORARY, file.path) and file.modified_at < self.retention.young_since:
                yield file
