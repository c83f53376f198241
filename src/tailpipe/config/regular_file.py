"""Reads files that end: no device, no pipe, and no more than a limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class TooLarge(Exception):
    pass


def read_regular_file(path: Path, limit_bytes: int) -> bytes:
    """Raises OSError for what is no file, TooLarge for more than the limit. Never waits for a writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not a regular file")
        data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise TooLarge
    return data
