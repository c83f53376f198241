"""A table goes as a whole: its folder gets another name in one step, and what is under that name is removed.

Whoever commits is waited for; whoever comes later finds no table and begins a new one. A crash after the first step
leaves a folder that nobody takes for a table; the next deletion or collection removes it.
"""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from tailpipe.errors import LakeError
from tailpipe.lake.address import Lake
from tailpipe.lake.presence import leaving

_REMOVED = ".deleted-"


def delete_table(lake: Lake, table: str) -> None:
    address = lake.table(table)
    try:
        with leaving(lake):
            os.rename(address.uri, lake.table(f"{_REMOVED}{uuid.uuid4().hex}").uri)
    except OSError as error:
        raise LakeError(
            f"{address}: the table cannot be deleted: {error.strerror or error}. It is as it was.",
            hint="check that the folder it lies in can be written",
        ) from error
    left = remove_deleted(lake)
    if left:
        raise LakeError(
            f"{address}: the table is deleted, but files of it cannot be removed from {left[0]}",
            hint="check who may write there; the next collection tries again",
        )


def remove_deleted(lake: Lake) -> list[Path]:
    """Removes what deleted tables left; returns what could not be."""
    left: list[Path] = []
    for folder in Path(lake.uri).glob(f"{_REMOVED}*"):
        with suppress(OSError):
            os.unlink(folder) if folder.is_symlink() else shutil.rmtree(folder)
        left += [folder] if os.path.lexists(folder) else []
    return left
