"""Walking folders and matching globs: by name, fast, through links but never in circles."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import msgspec

from tailpipe.errors import SourceError

Entry = os.DirEntry[str]


class Found(msgspec.Struct, frozen=True, gc=False):
    """`relative_path` is what a layout is matched against."""

    path: str
    relative_path: str
    stat: os.stat_result


@dataclass(frozen=True)
class Walker:
    """Enters folders for which `may_enter` says so of their relative path. Good for one listing.

    Each folder is entered once, links to folders after all else beside them: circles of links end, many links
    stay cheap, and a file is found at its own place rather than through a link.
    """

    may_enter: Callable[[str], bool]
    entered: set[tuple[int, int]] = field(default_factory=set)

    def below(self, folder: str, relative_folder: str = "") -> Iterator[Found]:
        """All files below a folder, ordered by name within each folder."""
        self._is_new(folder)
        on_the_way = [(relative_folder, iter(_ordered(folder)))]
        while on_the_way:
            relative_folder, entries = on_the_way[-1]
            for entry in entries:
                relative_path = f"{relative_folder}/{entry.name}" if relative_folder else entry.name
                if entry.is_dir():
                    if self.may_enter(relative_path) and self._is_new(entry.path):
                        on_the_way.append((relative_path, iter(_ordered(entry.path))))
                        break
                elif status := _status(entry):
                    yield Found(entry.path, relative_path, status)
            else:
                on_the_way.pop()

    def matching(self, pattern: str) -> Iterator[Found]:
        """Files that a glob matches, and all below folders that it does; relative to its fixed first part."""
        folder = pattern
        while glob.has_magic(folder):
            folder = os.path.dirname(folder)
        segments = os.path.relpath(pattern, folder).split(os.sep)
        if segments[-1] == "**":
            segments.append("*")
        yield from self._matching(folder, "", segments)

    def _matching(self, folder: str, relative_folder: str, segments: list[str]) -> Iterator[Found]:
        segment, rest = segments[0], segments[1:]
        if segment == "**":
            yield from self._matching(folder, relative_folder, rest)
        for entry in _ordered(folder):
            relative_path = f"{relative_folder}/{entry.name}" if relative_folder else entry.name
            if segment == "**":
                if entry.is_dir() and not entry.name.startswith(".") and self._is_new(entry.path):
                    yield from self._matching(entry.path, relative_path, segments)
            elif not _matches(entry.name, segment):
                continue
            elif not entry.is_dir():
                status = None if rest else _status(entry)
                if status:
                    yield Found(entry.path, relative_path, status)
            elif rest:
                yield from self._matching(entry.path, relative_path, rest)
            elif self.may_enter(relative_path) and self._is_new(entry.path):
                yield from self.below(entry.path, relative_path)

    def _is_new(self, folder: str) -> bool:
        status = os.stat(folder)
        identity = (status.st_dev, status.st_ino)
        if identity in self.entered:
            return False
        self.entered.add(identity)
        return True


def _matches(name: str, segment: str) -> bool:
    is_hidden = name.startswith(".") and not segment.startswith(".")
    return not is_hidden and fnmatch.fnmatchcase(name, segment)


def _ordered(folder: str) -> list[Entry]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: (entry.is_symlink() and entry.is_dir(), entry.name))
    except FileNotFoundError:
        return []  # gone since its parent was read
    except OSError as error:
        raise SourceError(f"{folder}: {error.strerror}", "is the folder readable for this user?") from error


def _status(entry: Entry) -> os.stat_result | None:
    """None for a dangling link, or what is gone since the folder was read."""
    try:
        return entry.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError(f"{entry.path}: {error.strerror}") from error
