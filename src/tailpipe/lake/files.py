"""Files of a lake, by their paths below its folder or below that of a table: on a disk, or in an object store.

Both raise OSError, such as FileNotFoundError. Only in an object store a file that is written is there as a whole or not
at all; on a disk nobody may look before a commit names it.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any


@dataclass(frozen=True)
class FileEntry:
    """`modified_at` is told by the clock of the store."""

    path: str
    size_bytes: int
    modified_at: datetime
    identity: str = ""


class Files(ABC):
    """What is opened is an Arrow file, which closes at the end of its context."""

    @abstractmethod
    def open_read(self, path: str) -> Any:
        """At any place of it."""

    @abstractmethod
    def whole(self, path: str) -> Callable[[], Any]:
        """Opens a file for reading, as often as wanted, that never changes and of which most is read."""

    @abstractmethod
    def open_write(self, path: str) -> Any:
        """A file in place of any that is there. Folders are made."""

    @abstractmethod
    def open_new(self, path: str) -> Any:
        """A file where there is none: opening or closing it raises FileExistsError else."""

    @abstractmethod
    def entry(self, path: str) -> FileEntry | None:
        """None where there is no such file."""

    @abstractmethod
    def children(self, folder: str) -> list[str]:
        """Paths of files and folders in it, in order; none where there is no such folder."""

    @abstractmethod
    def walk(self, folder: str = "") -> Iterator[FileEntry]:
        """All files below a folder."""

    @abstractmethod
    def delete(self, paths: Iterable[str]) -> None:
        """Those of the files that are there."""

    @abstractmethod
    def sync(self, path: str) -> None:
        """Returns when a file has reached the disk: a commit must not outlive its files in a power cut."""

    def read(self, path: str) -> bytes:
        with self.open_read(path) as file:
            content: bytes = file.read()
        return content

    def write_new(self, path: str, content: bytes) -> None:
        """Raises FileExistsError where there is a file."""
        with self.open_new(path) as file:
            file.write(content)


class FolderFiles(Files):
    """Below a folder of this machine."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open_read(self, path: str) -> Any:
        import pyarrow as pa

        return pa.OSFile(self._path(path))

    def whole(self, path: str) -> Callable[[], Any]:
        return partial(self.open_read, path)

    def open_write(self, path: str) -> Any:
        import pyarrow as pa

        self._make_folder(path)
        return pa.OSFile(self._path(path), "wb")

    def open_new(self, path: str) -> Any:
        self._make_folder(path)
        os.close(os.open(self._path(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        return self.open_write(path)

    def entry(self, path: str) -> FileEntry | None:
        try:
            return _entry(path, os.stat(self._path(path)))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def children(self, folder: str) -> list[str]:
        try:
            names = os.listdir(self._path(folder))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(f"{folder}/{name}" if folder else name for name in names)

    def walk(self, folder: str = "") -> Iterator[FileEntry]:
        """Folders that go while they are walked have nothing in them."""
        try:
            entries = list(os.scandir(self._path(folder)))
        except (FileNotFoundError, NotADirectoryError):
            return
        for each in entries:
            path = f"{folder}/{each.name}" if folder else each.name
            if each.is_dir(follow_symlinks=False):
                yield from self.walk(path)
                continue
            with suppress(FileNotFoundError):
                yield _entry(path, each.stat(follow_symlinks=False))

    def delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            with suppress(FileNotFoundError):
                os.unlink(self._path(path))

    def sync(self, path: str) -> None:
        descriptor = os.open(self._path(path), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _path(self, path: str) -> str:
        return f"{self._folder}/{path}" if path else self._folder

    def _make_folder(self, path: str) -> None:
        os.makedirs(os.path.dirname(self._path(path)), exist_ok=True)


def _entry(path: str, found: os.stat_result) -> FileEntry:
    modified = datetime.fromtimestamp(found.st_mtime, UTC)
    return FileEntry(path, found.st_size, modified, f"{found.st_ino}-{found.st_mtime_ns}")
