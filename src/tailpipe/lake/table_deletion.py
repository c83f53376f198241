"""A table goes as a whole: in one step it is no table any more, then its files are removed.

A folder gets another name; whoever commits is waited for. In a bucket the beginning of the log goes, and a mark beside
the tables says which files follow: those that are older. Whoever comes later finds no table and begins a new one. A
crash after the first step leaves what nobody takes for a table; the next deletion or collection removes it.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from contextlib import suppress
from itertools import islice
from pathlib import Path

from tailpipe.errors import LakeError
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.delta_errors import delta_message
from tailpipe.lake.files import FileEntry, Files
from tailpipe.lake.paths import FIRST_ENTRY, LAST_CHECKPOINT, LOG
from tailpipe.lake.presence import REMOVED, leaving
from tailpipe.lake.store_errors import store_hint

# Stores tell times in whole seconds: files of the next second are of those who came later.
_CLOCK_SECONDS = 1.0
_AT_ONCE = 1000
_CHECKPOINT = ".checkpoint."
# Without any of them there is no table.
_BEGINNINGS = (LAST_CHECKPOINT, FIRST_ENTRY)


def delete_table(lake: Lake, table: str) -> None:
    address = lake.table(table)
    try:
        left = _delete_objects(lake.files, table) if lake.storage else _delete_folder(lake, table)
    except OSError as error:
        raise LakeError(
            f"{address}: the table cannot be deleted: {error.strerror or delta_message(error)}. It is as it was.",
            hint=store_hint(error) or "check that the folder it lies in can be written",
        ) from error
    if left:
        raise LakeError(
            f"{address}: the table is deleted, but files of it cannot be removed from {left[0]}",
            hint="check who may write there; the next collection tries again",
        )


def remove_deleted(lake: Lake) -> list[str]:
    """Removes what deleted tables left; returns what could not be."""
    if lake.storage:
        marks = [path for path in lake.files.children("") if path.startswith(REMOVED)]
        return [mark for mark in marks if not _is_finished(lake.files, mark)]
    left: list[str] = []
    for folder in Path(lake.uri).glob(f"{REMOVED}*"):
        with suppress(OSError):
            os.unlink(folder) if folder.is_symlink() else shutil.rmtree(folder)
        left += [str(folder)] if os.path.lexists(folder) else []
    return left


def remove_late_entries(address: TableAddress) -> None:
    """Of a table that was deleted, for whoever makes one in its place: a commit may have come later, and died."""
    entries = [entry.path for entry in address.files.walk(LOG)]
    if entries and not address.is_table():
        address.files.delete(entries)


def remove_late_commit(address: TableAddress, mark: str, before: int) -> None:
    """What a commit after a version left in the place of a table that was deleted: its entry, and a checkpoint.

    Another table may have been made there: checkpoints at versions that have no entry are not its own.
    """
    files, first = address.files, f"{LOG}/{before + 1:020d}"
    late = [path for path in files.children(LOG) if path >= first]
    entries = {path for path in late if path.endswith(".json")}
    own = {path for path in entries if mark.encode() in files.read(path)}
    left = {path.partition(".")[0] for path in entries - own}
    checkpoints = [path for path in late if _CHECKPOINT in path and path.partition(".")[0] not in left]
    files.delete([LAST_CHECKPOINT, *checkpoints, *own])


def _delete_folder(lake: Lake, table: str) -> list[str]:
    with leaving(lake):
        os.rename(lake.table(table).uri, lake.table(f"{REMOVED}{uuid.uuid4().hex}").uri)
    return remove_deleted(lake)


def _delete_objects(files: Files, table: str) -> list[str]:
    mark = f"{REMOVED}{uuid.uuid4().hex}"
    files.write_new(mark, table.encode())
    begun = files.entry(mark)
    time.sleep(_CLOCK_SECONDS)
    try:
        for path in _BEGINNINGS:
            files.delete([f"{table}/{path}"])
    except OSError:
        with suppress(OSError):
            files.delete([mark])
        raise
    # Whoever commits may have written a checkpoint meanwhile, and looked for the first entry before it went.
    with suppress(OSError):
        files.delete([f"{table}/{LAST_CHECKPOINT}"])
    return [] if begun and _is_removed(files, table, begun) else [table]


def _is_finished(files: Files, mark: str) -> bool:
    """A table that still begins as it did when the mark was made was not deleted: the mark alone goes."""
    try:
        begun = files.entry(mark)
        table = files.read(mark).decode()
        checkpoint, first = (files.entry(f"{table}/{path}") for path in _BEGINNINGS)
        if begun is None:
            return True
        # A log that was shortened begins with its last checkpoint, which is written anew from time to time.
        if first.modified_at <= begun.modified_at if first else checkpoint is not None:
            files.delete([mark])
            return True
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return _is_removed(files, table, begun)


def _is_removed(files: Files, table: str, begun: FileEntry) -> bool:
    """The log goes first: who opens the table meanwhile is to find none, rather than one without its files."""
    try:
        for folder in (f"{table}/{LOG}", table):
            older = (entry.path for entry in files.walk(folder) if entry.modified_at <= begun.modified_at)
            while part := list(islice(older, _AT_ONCE)):
                files.delete(part)
        files.delete([begun.path])
    except OSError:
        return False
    return True
