"""A table through time: its commits, and which version it had at a moment.

Commits carry the time of the machine that made them. A table as of a moment holds no commit that says it was made
later: it is as it was before the first of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote

from tailpipe.errors import LakeError, UsageError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.log_entries import Entry, FileAction, Kept, kept_of, read_entries, read_entry
from tailpipe.lake.removal import live_files
from tailpipe.lake.state import CLOCK_TOLERANCE

# A version of one table, or a moment, which holds for all tables.
AsOf = int | datetime

_FIRST_BATCH, _LARGEST_BATCH = 64, 4096
_NEAR = 32


@dataclass(frozen=True)
class Commit:
    """What one commit did. A file that is written anew counts on both sides, with all its rows.

    `rows_removed` is None where the log no longer tells. Files that come in place of others with the same rows bring
    and take no rows.
    """

    version: int
    at: datetime
    kind: str
    partition: str | None
    unit: str | None
    rows_added: int
    rows_removed: int | None
    files_added: int
    files_removed: int


def commits(address: TableAddress, kept: Kept) -> Iterator[Commit]:
    """Newest first. Entries are read when they are asked for, more at once the further one goes back."""
    left, size = list(reversed(kept.versions)), _FIRST_BATCH
    while left:
        batch, left = left[:size], left[size:]
        entries = list(read_entries(address, batch))
        rows = _rows_by_path(address, entries, kept)
        yield from (_commit(entry, rows) for entry in entries)
        size = min(size * 4, _LARGEST_BATCH)


def version_at(address: TableAddress, as_of: AsOf) -> int | None:
    """The version that the table had; None while it was not there yet. Raises where that is no longer known."""
    kept = kept_of(address)
    if isinstance(as_of, int):
        return _known_version(address, kept, as_of)
    versions = kept.openable
    # Newest first: the past that is asked for is mostly a recent one.
    newer = _first_after(address, versions, as_of)
    if newer > 0:
        return versions[newer - 1]
    if versions[0] == 0:
        return None
    raise LakeError(
        f"{address.name}: what it held at {moment_text(as_of)} is no longer known. {_beginning(address, kept)}",
        hint=f"tailpipe history {address.name} lists the versions that there are",
    )


def _known_version(address: TableAddress, kept: Kept, version: int) -> int:
    hint = f"tailpipe history {address.name} lists the versions that there are"
    if version > kept.versions[-1]:
        raise UsageError(f"{address.name} has no version {version}: its newest is {kept.versions[-1]}.", hint)
    if version < kept.oldest:
        raise LakeError(
            f"{address.name}: version {version} is no longer known. {_beginning(address, kept)}", hint
        )
    return version


def _beginning(address: TableAddress, kept: Kept) -> str:
    first = kept.openable[0]
    return f"Its log was vacuumed and begins with version {first} of {moment_text(read_entry(address, first).at)}."


def moment_text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _first_after(address: TableAddress, versions: Sequence[int], moment: datetime) -> int:
    """The place of the first version that was committed after the moment; that behind the last where there is none.

    Clocks of collectors differ by less than CLOCK_TOLERANCE, so times grow but for so much.
    """

    def is_after(place: int) -> bool:
        return read_entry(address, versions[place]).at > moment

    step, high = 1, len(versions)
    while high - step >= 0 and is_after(high - step):
        high -= step
        step *= 2
    low = max(high - step, -1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_after(middle) else (middle, high)
    for end in range(high, 0, -_NEAR):
        places = range(max(end - _NEAR, 0), end)
        times = [entry.at for entry in read_entries(address, [versions[place] for place in places])]
        high = min([high, *(place for place, at in zip(places, times, strict=True) if at > moment)])
        if min(times) <= moment - CLOCK_TOLERANCE:
            break
    return high


def _rows_by_path(address: TableAddress, entries: Sequence[Entry], kept: Kept) -> dict[str, int]:
    """Rows of files that the entries remove. The log tells them where files come, not where they go."""
    rows = {action.path: action.rows or 0 for entry in entries for action in entry.added}
    removed = {action.path for entry in entries for action in _of_data(entry, entry.removed)}
    before = min((entry.version for entry in entries), default=0) - 1
    if removed <= rows.keys() or before < kept.oldest:
        return rows
    # Paths are URLs in the log, and plain in the list of live files.
    plain = {unquote(path): path for path in removed}
    for file in live_files(address.at(before).opened()):
        if file.path in plain:
            rows[plain[file.path]] = file.rows
    return rows


def _commit(entry: Entry, rows: dict[str, int]) -> Commit:
    return Commit(
        version=entry.version,
        at=entry.at,
        kind=entry.info.kind or entry.info.operation.lower(),
        partition=entry.info.partition,
        unit=entry.info.unit or None,
        rows_added=sum(action.rows or 0 for action in _of_data(entry, entry.added)),
        rows_removed=_total([rows.get(action.path) for action in _of_data(entry, entry.removed)]),
        files_added=len(entry.added),
        files_removed=len(entry.removed),
    )


def _of_data(entry: Entry, actions: Sequence[FileAction]) -> list[FileAction]:
    """Files that go are always called a change of data, also where those that come in their place are not."""
    is_rearranged = bool(entry.added) and not any(action.data_change for action in entry.added)
    return [action for action in actions if action.data_change and not is_rearranged]


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
