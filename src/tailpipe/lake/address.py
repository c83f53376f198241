"""Where a lake is, and how its files are reached. No other room knows a path of a lake.

A lake is a folder, or a folder of a bucket. All others carry the value, and paths below a table are relative to it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tailpipe.errors import LakeError
from tailpipe.lake.delta_errors import delta_message
from tailpipe.lake.files import Files, FolderFiles
from tailpipe.lake.paths import FIRST_ENTRY, LAST_CHECKPOINT
from tailpipe.lake.storage import Storage, bucket_of
from tailpipe.lake.store_errors import plain_cause, store_hint


@dataclass(frozen=True)
class TableAddress:
    """One table, for whoever reads or writes it: the driver, executors, DuckDB. Picklable.

    `storage` is None for a folder of this machine. `version` is that of the Delta table as it is read, None for the
    newest.
    """

    uri: str
    storage: Storage | None = None
    version: int | None = None

    def __str__(self) -> str:
        return self.uri

    def at(self, version: int) -> TableAddress:
        """The table as it was."""
        return replace(self, version=version)

    @property
    def name(self) -> str:
        return self.uri.rpartition("/")[2]

    @property
    def lake(self) -> Lake:
        return Lake(self.uri.rpartition("/")[0], self.storage)

    @property
    def files(self) -> Files:
        """Those below the table's folder."""
        return _files(self.uri, self.storage)

    @property
    def options(self) -> dict[str, str] | None:
        """For the Delta library."""
        return self.storage.options(bucket_of(self.uri)[0]) if self.storage else None

    def resolved(self) -> TableAddress:
        """For executors: with credentials as they are now."""
        return replace(self, storage=self.storage.resolved()) if self.storage else self

    def path(self, relative: str) -> str:
        """As other programs name it, such as DuckDB."""
        return f"{self.uri}/{relative}"

    def is_table(self) -> bool:
        """A run that died while it made the table may leave a log without entries, which is no table yet.

        A log that was shortened begins with a checkpoint.
        """
        return any(self.files.entry(path) for path in (FIRST_ENTRY, LAST_CHECKPOINT))

    def _has_beginning(self) -> bool:
        """Entries without one are of a table that was deleted. Where that cannot be found out, there is one."""
        try:
            return self.is_table()
        except OSError:
            return True

    def opened(self) -> Any:
        """The Delta table; None where there is none."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            return DeltaTable(self.uri, self.version, self.options)
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            if store_hint(error) is None and not self._has_beginning():
                return None
            raise self.unreadable(error) from plain_cause(error)

    def unreadable(self, error: Exception, what: str = "the Delta log") -> LakeError:
        return LakeError(
            f"{self}: {what} cannot be read: {delta_message(error)}",
            hint=store_hint(error)
            or "check that the folder is whole and readable; other programs must not write into it",
        )

    def paths_in(self, folder: str) -> list[str]:
        """Of files and folders, in the order of their names; none where there is no such folder."""
        try:
            return self.files.children(folder)
        except OSError as error:
            raise self.unreadable(error, folder) from plain_cause(error)

    def discard(self, paths: Iterable[str]) -> None:
        """Deletes files that no commit names. One that cannot be deleted is invisible anyway."""
        if self.storage:
            with contextlib.suppress(OSError, LakeError):
                self.files.delete(paths)
            return
        for path in paths:
            with contextlib.suppress(OSError):
                self.files.delete([path])


@dataclass(frozen=True)
class Lake:
    """All tables of a workspace. `uri` is the absolute path of their folder, or its URL. `version` is that of the one
    table that is read, None for the newest of each."""

    uri: str
    storage: Storage | None = None
    version: int | None = None

    def __str__(self) -> str:
        return self.uri

    @property
    def files(self) -> Files:
        return _files(self.uri, self.storage)

    def at(self, version: int) -> Lake:
        """For one table, as it was."""
        return replace(self, version=version)

    def table(self, name: str) -> TableAddress:
        return TableAddress(f"{self.uri}/{name}", self.storage, self.version)

    def folders(self) -> list[str]:
        """Its own folder, and those elsewhere to which tables are links. A bucket has no links."""
        if self.storage:
            return [self.uri]
        try:
            with os.scandir(self.uri) as entries:
                return [self.uri, *(entry.path for entry in entries if entry.is_symlink())]
        except OSError:
            return [self.uri]


def _files(uri: str, storage: Storage | None) -> Files:
    return storage.files(uri) if storage else FolderFiles(uri)
