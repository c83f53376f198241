"""A table's folder goes while others may write into it: who commits holds it, who deletes it waits for them.

What is held is the folder of all tables, with a lock that the system lets go when a process dies. Where a file system
has no such locks, nothing is held. An object store has none either: there, who committed looks whether the table is
still the same, and else takes its entry back.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.paths import FIRST_ENTRY, LAST_CHECKPOINT, entry_path

Identity = str
# With this begin the names of what deleted tables leave; in a bucket those of marks that hold the name of a table.
REMOVED = ".deleted-"
# Of a log without its first entry: it is older than what any run remembers, and one that is made anew has the entry.
_SHORTENED = "shortened"


def identity(address: TableAddress) -> Identity | None:
    """Tells the table from one that was made in its place; None while there is none."""
    entry = address.files.entry(FIRST_ENTRY)
    if entry is not None:
        return entry.identity
    return _SHORTENED if address.files.entry(LAST_CHECKPOINT) else None


def is_replaced(address: TableAddress, known: Identity | None) -> bool:
    """Whether the table was deleted since it had this identity. A log may have been shortened since."""
    return identity(address) not in (known, _SHORTENED)


def is_leaving(address: TableAddress, version: int) -> bool:
    """Whether a table without its first entry is being deleted, or was, since it had the version as its newest.

    A log that was shortened looks the same, and keeps the entries of the last day.
    """
    if address.files.entry(FIRST_ENTRY) is not None:
        return False
    lake = address.lake
    marks = [path for path in lake.files.children("") if path.startswith(REMOVED)]
    names = {lake.files.read(path).decode() for path in marks}
    return address.name in names or address.files.entry(entry_path(version)) is None


@contextmanager
def staying(address: TableAddress) -> Iterator[None]:
    """While it lasts, nobody deletes a table beside this one or this one itself."""
    if address.storage:
        yield
        return
    with _locked(os.path.dirname(address.uri), fcntl.LOCK_SH):
        yield


@contextmanager
def leaving(lake: Lake) -> Iterator[None]:
    """While it lasts, nobody commits."""
    with _locked(lake.uri, fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(folder: str, kind: int) -> Iterator[None]:
    os.makedirs(folder, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, kind)
        yield
    finally:
        os.close(descriptor)
