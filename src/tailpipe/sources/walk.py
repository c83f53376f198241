"""Walking folders and matching globs: by name, fast, through links but never in circles.

What cannot be looked at costs itself: it is told in the place of what would have been found there.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from tailpipe.sources.artifact import Skipped, SkipReason, Unlisted

# What can never be opened under its name, whoever asks.
_UNUSABLE = {errno.ELOOP: SkipReason.CIRCULAR_LINK, errno.ENAMETOOLONG: SkipReason.LONG_PATH}

# A path with its status. A plain tuple, because there may be millions.
Found = tuple[str, os.stat_result]
Unfit = Skipped | Unlisted
Seen = Found | Unfit


class _Folder(NamedTuple):
    """A folder to look into; `segments` are the parts of a glob that what lies in it must match, none: all of it."""

    path: str
    segments: tuple[str, ...] = ()

    def below(self, name: str) -> str:
        return os.path.join(self.path, name)


class _Open(NamedTuple):
    """A folder whose names are being gone through. Names alone are remembered: a folder may have millions."""

    folder: _Folder
    names: Iterator[str]
    folders: frozenset[str]


def fixed_part(pattern: str) -> str:
    """The folder at which a glob begins to match."""
    folder = pattern
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    return folder


@dataclass(frozen=True)
class Walker:
    """Enters folders for which `may_enter` says so of their path. Good for one listing.

    Each folder is entered once, links to folders after all else beside them: circles of links end, many links
    stay cheap, and a file is found at its own place rather than through a link.
    """

    may_enter: Callable[[str], bool]
    entered: set[tuple[int, int]] = field(default_factory=set)

    def below(self, folder: str) -> Iterator[Seen]:
        """All files below a folder, ordered by name within each folder."""
        return self._walk(self._opened_once(_Folder(folder)))

    def matching(self, pattern: str) -> Iterator[Seen]:
        """Files that a glob matches, and all below folders that it does."""
        folder = fixed_part(pattern)
        segments = os.path.relpath(pattern, folder).split(os.sep)
        if segments[-1] == "**":
            segments.append("*")
        return self._walk(self._opened(_Folder(folder, tuple(segments))))

    def _walk(self, on_the_way: list[_Open | Unfit]) -> Iterator[Seen]:
        """Depth first, without recursion: folders may lie deeper than Python's stack."""
        while on_the_way:
            here = on_the_way[-1]
            if not isinstance(here, _Open):
                yield here
                on_the_way.pop()
                continue
            prefix, names, folders = here.folder.below(""), here.names, here.folders
            for name in names:
                if name in folders:
                    on_the_way += self._entered(here.folder, name)
                    break
                path = prefix + name
                try:
                    status = os.stat(path)
                except OSError as error:
                    yield from _unfit(path, error)
                else:
                    yield path, status
            else:
                on_the_way.pop()

    def _opened(self, folder: _Folder) -> list[_Open | Unfit]:
        """What is to be gone through, the first last."""
        if folder.segments[:1] == ("**",):
            return [*_scanned(folder), *self._opened(folder._replace(segments=folder.segments[1:]))]
        return _scanned(folder)

    def _opened_once(self, folder: _Folder) -> list[_Open | Unfit]:
        try:
            status = os.stat(folder.path)
        except OSError as error:
            return [*_unfit(folder.path, error)]
        identity = (status.st_dev, status.st_ino)
        if identity in self.entered:
            return []
        self.entered.add(identity)
        return self._opened(folder)

    def _entered(self, folder: _Folder, name: str) -> list[_Open | Unfit]:
        path, rest = folder.below(name), folder.segments[1:]
        if folder.segments[:1] == ("**",):
            return self._opened_once(_Folder(path, folder.segments))
        if rest:
            return self._opened(_Folder(path, rest))
        if self.may_enter(path):
            return self._opened_once(_Folder(path))
        return [Skipped(path, SkipReason.FOLDER_OUTSIDE_WINDOW)]


def _scanned(folder: _Folder) -> list[_Open | Unfit]:
    names: list[str] = []
    folders: list[str] = []
    links: list[str] = []
    try:
        with os.scandir(folder.path) as entries:
            for entry in entries:
                try:
                    is_folder = entry.is_dir()
                except OSError:
                    is_folder = False  # asking for its status tells why
                if is_folder:
                    (links if entry.is_symlink() else folders).append(entry.name)
                else:
                    names.append(entry.name)
    except OSError as error:
        return [*_unfit(folder.path, error)]
    if folder.segments:
        fits = _fitting(folder.segments[0])
        names = [] if len(folder.segments) > 1 else [*filter(fits, names)]
        folders, links = [*filter(fits, folders)], [*filter(fits, links)]
    ordered = [*sorted(names + folders), *sorted(links)]
    return [_Open(folder, iter(ordered), frozenset(folders + links))]


@lru_cache
def _fitting(segment: str) -> Callable[[str], object]:
    """Whether a name fits the part of a glob; hidden ones do only where it says so."""
    pattern = fnmatch.translate("*" if segment == "**" else segment)
    return re.compile(pattern if segment.startswith(".") else rf"(?!\.){pattern}").match


def _unfit(path: str, error: OSError) -> Iterator[Unfit]:
    """What is told of a path that cannot be looked at; nothing where it is gone since its folder was read."""
    if isinstance(error, FileNotFoundError):
        if os.path.islink(path):
            yield Skipped(path, SkipReason.DANGLING_LINK)
    elif error.errno in _UNUSABLE:
        yield Skipped(path, _UNUSABLE[error.errno])
    else:
        yield Unlisted(path, error.strerror or str(error), "is it readable for this user?")
