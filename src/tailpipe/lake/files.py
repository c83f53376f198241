"""Files of a table through pyarrow, whatever they lie on."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyarrow import fs


def table_filesystem(root: str) -> tuple[Any, str]:
    """The file system of a table's location, and the location's path in it."""
    if "://" in root:
        filesystem, base = fs.FileSystem.from_uri(root)
        return filesystem, base
    return fs.LocalFileSystem(), root


def sync(filesystem: Any, path: str) -> None:
    """Returns when a local file has reached the disk: a commit must not outlive its files in a power cut."""
    if isinstance(filesystem, fs.LocalFileSystem):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def follow_permissions(folder: Path) -> None:
    """What this process and its children make from now on is open to those to whom the folder of tables is open.

    While there is no such folder, that is the user alone.
    """
    try:
        mode = folder.stat().st_mode
    except OSError:
        mode = stat.S_IRWXU
    os.umask(0o777 & ~mode | stat.S_IWOTH)


def discard(filesystem: Any, paths: Iterable[str]) -> None:
    """Deletes files that no commit names. One that cannot be deleted is invisible anyway."""
    for path in paths:
        with contextlib.suppress(OSError):
            filesystem.delete_file(path)
