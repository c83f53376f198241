"""Files that nobody needs leave a folder of a table, many in one request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from tailpipe.lake.address import TableAddress
from tailpipe.lake.files import FileEntry
from tailpipe.lake.kinds import Kind, is_of
from tailpipe.lake.needed import Needed

_BATCH = 1000


@dataclass
class Freed:
    """Files that went, or would go, and their bytes, by kind.

    `left` are paths of files that could not be removed, `undecided` counts files that are named by no commit and may be
    of a command that still runs.
    """

    files: dict[Kind, int] = field(default_factory=dict)
    size_bytes: dict[Kind, int] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    undecided: int = 0

    def count(self, kind: Kind, files: Iterable[FileEntry]) -> None:
        for file in files:
            self.files[kind] = self.files.get(kind, 0) + 1
            self.size_bytes[kind] = self.size_bytes.get(kind, 0) + file.size_bytes


@dataclass
class Sweep:
    """`before` is called once, before the first file goes."""

    address: TableAddress
    before: Callable[[], None] = lambda: None
    is_dry_run: bool = False
    freed: Freed = field(default_factory=Freed)
    _has_begun: bool = False

    def free(self, kind: Kind, folder: str, needed: Needed, is_asked: Callable[[str], bool] = bool) -> None:
        """Files of the kind below the folder that need not stay. Holds a batch of them at a time."""
        files = (each for each in self.walk(folder) if is_of(kind, each.path) and is_asked(each.path))
        for some in _batches(self._free(files, needed)):
            self._begin()
            if not self.is_dry_run:
                needed.refresh(self.address)
            self.remove(kind, [file for file in some if needed.is_free(file)])

    def remove(self, kind: Kind, files: Iterable[FileEntry]) -> None:
        """In the order of the files."""
        for some in _batches(iter(files)):
            self._begin()
            left = set() if self.is_dry_run else self._delete([file.path for file in some])
            self.freed.left += sorted(left)
            self.freed.count(kind, [file for file in some if file.path not in left])

    def walk(self, folder: str) -> Iterator[FileEntry]:
        try:
            yield from self.address.files.walk(folder)
        except OSError as error:
            raise self.address.unreadable(error, folder) from error

    def _free(self, files: Iterable[FileEntry], needed: Needed) -> Iterator[FileEntry]:
        for file in files:
            if needed.is_free(file):
                yield file
            elif file.path not in needed.kept:
                self.freed.undecided += 1

    def _begin(self) -> None:
        if not self._has_begun and not self.is_dry_run:
            self.before()
        self._has_begun = True

    def _delete(self, paths: list[str]) -> set[str]:
        """Those that could not be removed."""
        try:
            self.address.files.delete(paths)
        except OSError:
            return {path for path in paths if not self._is_deleted(path)}
        return set()

    def _is_deleted(self, path: str) -> bool:
        try:
            self.address.files.delete([path])
        except OSError:
            return False
        return True


def _batches(files: Iterator[FileEntry]) -> Iterator[list[FileEntry]]:
    while some := list(islice(files, _BATCH)):
        yield some
