"""From which versions on a vacuum keeps what.

Data and rejects stay as long as somebody may ask for the version that names them. Commands that run now may have begun
long ago: what the last day has written stays whatever is asked for, but for files that a commit has taken away.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tailpipe.lake.address import TableAddress
from tailpipe.lake.floor import floor_of
from tailpipe.lake.log_entries import Entry, read_entries
from tailpipe.lake.log_folder import LogFolder
from tailpipe.lake.state import CLOCK_TOLERANCE

# A command may take so long from its first file to the commit that names it.
LONGEST_COMMAND = timedelta(days=1)


@dataclass(frozen=True)
class Retention:
    """`data` is the oldest version that can be read as it was, `state` the oldest that can be opened.

    `commits` are those after `state`, newest first. What no commit names may be of a running command if it was
    written after `young_since`.
    """

    newest: int
    data: int
    state: int
    commits: tuple[Entry, ...]
    young_since: datetime


def find_retention(
    address: TableAddress, delta: Any, folder: LogFolder, since: datetime | None, now: datetime
) -> Retention:
    """`since` is the moment that must be readable; without one, only the newest version is."""
    newest, floor = delta.version(), floor_of(delta)
    young_since = now - LONGEST_COMMAND
    data, state = _Edge(since, newest), _Edge(young_since, newest)
    commits: list[Entry] = []
    for commit in read_entries(address, _versions_down(folder, newest)):
        commits.append(commit)
        stored_at = folder.entries[commit.version].modified_at
        is_data_known = data.saw(commit, stored_at) or commit.version <= floor
        if state.saw(commit, stored_at) and is_data_known:
            break
    oldest = max(folder.oldest, commits[-1].version if commits else newest)
    kept = max(floor, oldest, data.version)
    opened = min(kept, max(oldest, state.version))
    younger = tuple(commit for commit in commits if commit.version > opened)
    return Retention(newest, kept, opened, younger, young_since)


def store_time(address: TableAddress) -> datetime:
    """Ages are told by the clock that stamps the files, which may not be that of this machine."""
    path = f".vacuum-{uuid.uuid4().hex}"
    try:
        address.files.write_new(path, b"")
        entry = address.files.entry(path)
    except OSError as error:
        raise address.unreadable(error, "the time of a new file") from error
    finally:
        with suppress(OSError):
            address.files.delete([path])
    return entry.modified_at if entry else datetime.now(UTC)


@dataclass
class _Edge:
    """The version before the first commit after a moment, seen from newer commits to older ones.

    A commit is after it by the clock of whoever committed, or by that of the store. Clocks may differ a little.
    """

    moment: datetime | None
    version: int
    is_known: bool = False

    def saw(self, commit: Entry, stored_at: datetime) -> bool:
        if self.moment is None or self.is_known:
            return True
        at = max(commit.at, stored_at)
        if at > self.moment:
            self.version = commit.version - 1
        self.is_known = at <= self.moment - CLOCK_TOLERANCE
        return self.is_known


def _versions_down(folder: LogFolder, newest: int) -> range:
    """From the newest to the oldest that is there without a gap."""
    if newest not in folder.entries:
        return range(0)
    oldest = newest
    while oldest - 1 in folder.entries and oldest > folder.oldest:
        oldest -= 1
    return range(newest, oldest - 1, -1)
