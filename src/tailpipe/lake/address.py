"""Where a lake is, and how its files are reached. No other room knows a path of a lake.

A lake is a folder. What else it may be one day concerns this file alone: all others carry the value, and paths below a
table are relative to it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tailpipe.errors import LakeError
from tailpipe.lake.delta_errors import delta_message
from tailpipe.lake.paths import FIRST_ENTRY, LAST_CHECKPOINT


@dataclass(frozen=True)
class TableAddress:
    """One table, for whoever reads or writes it: the driver, executors, DuckDB. Picklable."""

    uri: str
    options: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return self.uri

    @property
    def name(self) -> str:
        return self.uri.rpartition("/")[2]

    @property
    def files(self) -> Any:
        """The file system below the table's folder."""
        from pyarrow import fs

        return fs.SubTreeFileSystem(self.uri, fs.LocalFileSystem())

    def path(self, relative: str) -> str:
        """As other programs name it, such as DuckDB."""
        return f"{self.uri}/{relative}"

    def is_table(self) -> bool:
        """A run that died while it made the table may leave a log without entries, which is no table yet.

        A log that was shortened begins with a checkpoint.
        """
        return any(os.path.exists(self.path(path)) for path in (FIRST_ENTRY, LAST_CHECKPOINT))

    def opened(self) -> Any:
        """The Delta table; None where there is none."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            return DeltaTable(self.uri, storage_options=dict(self.options) or None)
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            raise self.unreadable(error) from error

    def unreadable(self, error: Exception, what: str = "the Delta log") -> LakeError:
        return LakeError(
            f"{self}: {what} cannot be read: {delta_message(error)}",
            hint="check that the folder is whole and readable; other programs must not write into it",
        )

    def create_folder(self, path: str) -> None:
        """For the file at the path."""
        self.files.create_dir(path.rpartition("/")[0], recursive=True)

    def create(self, path: str) -> None:
        """An empty file. Raises FileExistsError where there is one."""
        self.create_folder(path)
        os.close(os.open(self.path(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))

    def paths_in(self, folder: str) -> list[str]:
        """Of files and folders, in the order of their names; none where there is no such folder."""
        from pyarrow import fs

        try:
            found = self.files.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        except OSError as error:
            raise self.unreadable(error, folder) from error
        return sorted(info.path for info in found)

    def sync(self, path: str) -> None:
        """Returns when a file has reached the disk: a commit must not outlive its files in a power cut."""
        descriptor = os.open(self.path(path), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def discard(self, paths: Iterable[str]) -> None:
        """Deletes files that no commit names. One that cannot be deleted is invisible anyway."""
        for path in paths:
            with contextlib.suppress(OSError):
                self.files.delete_file(path)


@dataclass(frozen=True)
class Lake:
    """All tables of a workspace. `uri` is the absolute path of their folder."""

    uri: str
    options: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return self.uri

    def table(self, name: str) -> TableAddress:
        return TableAddress(f"{self.uri}/{name}", self.options)

    def folders(self) -> list[str]:
        """Its own folder, and those elsewhere to which tables are links."""
        try:
            with os.scandir(self.uri) as entries:
                return [self.uri, *(entry.path for entry in entries if entry.is_symlink())]
        except OSError:
            return [self.uri]
