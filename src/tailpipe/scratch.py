"""Folders for what lasts no longer than this process: of the user alone, under names that nobody can guess.

A process that is killed leaves its folder behind, and the next one that needs such a folder removes it. A lock on a
file inside tells whether the owner lives: the system lets it go when the process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from tailpipe.errors import TailpipeError

PREFIX = "tailpipe-"
_MARK = ".tailpipe-scratch"
_REMOVAL_ATTEMPTS = 10


@contextmanager
def scratch_folder(kind: str) -> Iterator[Path]:
    """A folder that goes with the block. Folders that dead processes of this user left go first."""
    _sweep_once()
    folder, lock = _make(kind)
    try:
        yield folder
    finally:
        # Tasks that an interruption left behind may still write into it while it is removed.
        for _ in range(_REMOVAL_ATTEMPTS):
            _remove(folder)
            if not folder.exists():
                break
            time.sleep(0.02)
        os.close(lock)


def _make(kind: str) -> tuple[Path, int]:
    while True:
        try:
            folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-"))
            lock = os.open(folder / _MARK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise TailpipeError(
                f"no temporary folder can be made: {error}",
                hint="set TMPDIR to a folder that you may write and that has room",
            ) from error
        with suppress(OSError):  # file systems without locks are not swept either
            fcntl.flock(lock, fcntl.LOCK_EX)
        # Another process may have found the folder before it was locked, and removed it.
        if (folder / _MARK).exists():
            return folder, lock
        os.close(lock)


@cache
def _sweep_once() -> None:
    with suppress(OSError):
        sweep(Path(tempfile.gettempdir()))


def sweep(temporary: Path) -> None:
    """Removes scratch folders of this user whose process is gone. Follows no links."""
    with os.scandir(temporary) as entries:
        names = [entry for entry in entries if entry.name.startswith(PREFIX)]
    for entry in names:
        with suppress(OSError):
            is_own = entry.stat(follow_symlinks=False).st_uid == os.geteuid()
            if is_own and entry.is_dir(follow_symlinks=False):
                _remove_if_left(Path(entry.path))


def _remove_if_left(folder: Path) -> None:
    lock = os.open(folder / _MARK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(folder)
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    """The mark goes last: what is interrupted here is found again."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _MARK:
                path.unlink()
        if all(path.name == _MARK for path in folder.iterdir()):
            (folder / _MARK).unlink()
            folder.rmdir()
