"""What was deleted from a partition leaves the disk at once, with all earlier files that held it.

Nothing can be purged that is live, and nothing that no commit names as long as a running command may have written it.
"""

from __future__ import annotations

from datetime import date

import pyarrow as pa

from tailpipe.lake.address import TableAddress
from tailpipe.lake.floor import APPLICATION, floor_of, purge_application
from tailpipe.lake.history import version_of
from tailpipe.lake.kinds import Kind
from tailpipe.lake.log import TableLog
from tailpipe.lake.log_folder import read_folder
from tailpipe.lake.needed import live_rejects, needed_data, needed_rejects
from tailpipe.lake.paths import hive_folder, rejects_path
from tailpipe.lake.presence import staying
from tailpipe.lake.retention import find_retention, store_time
from tailpipe.lake.sweep import Freed, Sweep
from tailpipe.lake.transaction import MAX_APPENDS, until_committed
from tailpipe.times import Window, day_window

KIND = "purge"
_DAY = "tp_date="


def purge(address: TableAddress, partition: str, window: Window | None = None) -> Freed:
    """Files of the partition's rejects that are not live, and with a window data files of its days too."""
    return until_committed(address.name, lambda: _purge(address, partition, window), MAX_APPENDS)


def _purge(address: TableAddress, partition: str, window: Window | None) -> Freed:
    log = TableLog(address, pa.schema([]))
    log.refresh()
    if log.delta is None:
        return Freed()
    retention = find_retention(address, log.delta, read_folder(address), None, store_time(address))
    sweep = Sweep(address, lambda: _raise_floor(log, partition, retention.newest))
    if window is not None:
        folder = hive_folder(partition, "", date.min).partition("/")[0]
        sweep.free(Kind.DATA, folder, needed_data(log.delta, retention), lambda path: _is_in(path, window))
    live = live_rejects(address, {partition: version_of(log.delta, partition)})
    folder = rejects_path(partition, "").rpartition("/")[0]
    if any(file.path not in live for file in sweep.walk(folder)):
        sweep.free(Kind.REJECTS, folder, needed_rejects(address, live, retention, partition))
    return sweep.freed


def _raise_floor(log: TableLog, partition: str, version: int) -> None:
    """Raises ConflictError if another process makes files visible again: it moves the floor of the table, too."""
    with staying(log.address):
        floors = {APPLICATION: floor_of(log.delta), purge_application(partition): version}
        log.append_mark(KIND, floors)


def _is_in(path: str, window: Window) -> bool:
    """Whether the window has any of the day of a data file."""
    text = next((part for part in path.split("/") if part.startswith(_DAY)), "").removeprefix(_DAY)
    try:
        return day_window(date.fromisoformat(text)).overlaps(window)
    except (ValueError, OverflowError):
        return False
