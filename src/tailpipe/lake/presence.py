"""A table's folder goes while others may write into it: who commits holds it, who deletes it waits for them.

What is held is the folder of all tables, with a lock that the system lets go when a process dies. Where a file system
has no such locks, nothing is held.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tailpipe.lake.paths import first_entry

Identity = tuple[int, int]


def identity(location: str) -> Identity | None:
    """Tells the table from one that was made in its place; None while there is none."""
    try:
        entry = os.stat(first_entry(Path(location)))
    except OSError:
        return None
    return entry.st_ino, entry.st_mtime_ns


@contextmanager
def staying(location: str) -> Iterator[None]:
    """While it lasts, nobody deletes a table beside this one or this one itself."""
    with _locked(Path(location).parent, fcntl.LOCK_SH):
        yield


@contextmanager
def leaving(location: Path) -> Iterator[None]:
    """While it lasts, nobody commits."""
    with _locked(location.parent, fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(folder: Path, kind: int) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, kind)
        yield
    finally:
        os.close(descriptor)
