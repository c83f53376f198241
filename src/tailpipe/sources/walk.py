"""Walking folders and matching globs: by name, fast, through links but never in circles.

What cannot be looked at costs itself: it is told in the place of what would have been found there.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from tailpipe.sources.artifact import Skipped, SkipReason, Unlisted

Entry = os.DirEntry[str]

# What can never be opened under its name, whoever asks.
_UNUSABLE = {errno.ELOOP: SkipReason.CIRCULAR_LINK, errno.ENAMETOOLONG: SkipReason.LONG_PATH}


class Found(msgspec.Struct, frozen=True, gc=False):
    """`relative_path` is what a layout is matched against."""

    path: str
    relative_path: str
    stat: os.stat_result


class _Folder(NamedTuple):
    """A folder to look into; `segments` are the parts of a glob that what lies in it must match, none: all of it."""

    path: str
    relative_path: str
    segments: tuple[str, ...] = ()


Seen = Found | Skipped | Unlisted


def fixed_part(pattern: str) -> str:
    """The folder at which a glob begins to match."""
    folder = pattern
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    return folder


@dataclass(frozen=True)
class Walker:
    """Enters folders for which `may_enter` says so of their relative path. Good for one listing.

    Each folder is entered once, links to folders after all else beside them: circles of links end, many links
    stay cheap, and a file is found at its own place rather than through a link.
    """

    may_enter: Callable[[str], bool]
    entered: set[tuple[int, int]] = field(default_factory=set)

    def below(self, folder: str) -> Iterator[Seen]:
        """All files below a folder, ordered by name within each folder."""
        return self._walk(_Folder(folder, ""))

    def matching(self, pattern: str) -> Iterator[Seen]:
        """Files that a glob matches, and all below folders that it does; relative to its fixed first part."""
        folder = fixed_part(pattern)
        segments = os.path.relpath(pattern, folder).split(os.sep)
        if segments[-1] == "**":
            segments.append("*")
        return self._walk(_Folder(folder, "", tuple(segments)))

    def _walk(self, folder: _Folder) -> Iterator[Seen]:
        """Depth first, without recursion: folders may lie deeper than Python's stack."""
        on_the_way = [self._look(folder)]
        while on_the_way:
            for item in on_the_way[-1]:
                if isinstance(item, _Folder):
                    on_the_way.append(self._look(item))
                    break
                yield item
            else:
                on_the_way.pop()

    def _look(self, folder: _Folder) -> Iterator[Seen | _Folder]:
        if not folder.segments:
            return self._look_at_all(folder)
        return self._look_at_matching(folder)

    def _look_at_all(self, folder: _Folder) -> Iterator[Seen | _Folder]:
        for entry in self._new_entries(folder.path):
            if not isinstance(entry, os.DirEntry):
                yield entry
            elif _is_folder(entry):
                yield self._entering(folder, entry)
            else:
                yield from _file(folder, entry)

    def _look_at_matching(self, folder: _Folder) -> Iterator[Seen | _Folder]:
        segment, rest = folder.segments[0], folder.segments[1:]
        if segment == "**":
            yield folder._replace(segments=rest)
        for entry in _ordered(folder.path):
            if not isinstance(entry, os.DirEntry):
                yield entry
            elif segment == "**":
                if _is_folder(entry) and not entry.name.startswith("."):
                    yield from self._crossing(_Folder(entry.path, _relative(folder, entry), folder.segments))
            elif _matches(entry.name, segment):
                if not _is_folder(entry):
                    yield from () if rest else _file(folder, entry)
                elif rest:
                    yield _Folder(entry.path, _relative(folder, entry), rest)
                else:
                    yield self._entering(folder, entry)

    def _crossing(self, folder: _Folder) -> Iterator[Seen | _Folder]:
        is_new = self._is_new(folder.path)
        if isinstance(is_new, Skipped | Unlisted):
            yield is_new
        elif is_new:
            yield folder

    def _entering(self, folder: _Folder, entry: Entry) -> _Folder | Skipped:
        relative_path = _relative(folder, entry)
        if self.may_enter(relative_path):
            return _Folder(entry.path, relative_path)
        return Skipped(entry.path, SkipReason.FOLDER_OUTSIDE_WINDOW)

    def _new_entries(self, folder: str) -> Sequence[Entry | Skipped | Unlisted]:
        is_new = self._is_new(folder)
        if isinstance(is_new, Skipped | Unlisted):
            return [is_new]
        return _ordered(folder) if is_new else []

    def _is_new(self, folder: str) -> bool | Skipped | Unlisted:
        try:
            status = os.stat(folder)
        except OSError as error:
            return _unfit(folder, error) or False
        identity = (status.st_dev, status.st_ino)
        if identity in self.entered:
            return False
        self.entered.add(identity)
        return True


def _relative(folder: _Folder, entry: Entry) -> str:
    return f"{folder.relative_path}/{entry.name}" if folder.relative_path else entry.name


def _matches(name: str, segment: str) -> bool:
    is_hidden = name.startswith(".") and not segment.startswith(".")
    return not is_hidden and fnmatch.fnmatchcase(name, segment)


def _ordered(folder: str) -> Sequence[Entry | Skipped | Unlisted]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: (entry.is_symlink() and _is_folder(entry), entry.name))
    except OSError as error:
        unfit = _unfit(folder, error)
        return [unfit] if unfit else []


def _is_folder(entry: Entry) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # `_file` tells why


def _file(folder: _Folder, entry: Entry) -> Iterator[Seen]:
    try:
        yield Found(entry.path, _relative(folder, entry), entry.stat())
    except OSError as error:
        unfit = _unfit(entry.path, error)
        if unfit:
            yield unfit


def _unfit(path: str, error: OSError) -> Skipped | Unlisted | None:
    """What is told of a path that cannot be looked at; None where it is gone since its folder was read."""
    if isinstance(error, FileNotFoundError):
        return Skipped(path, SkipReason.DANGLING_LINK) if os.path.islink(path) else None
    if error.errno in _UNUSABLE:
        return Skipped(path, _UNUSABLE[error.errno])
    return Unlisted(path, error.strerror or str(error), "is it readable for this user?")
