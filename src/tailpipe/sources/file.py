"""Source `file`: files, folders and globs on a file system that every executor can see."""

from __future__ import annotations

import glob
import json
import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import BinaryIO, cast

from tailpipe.config.schema import STRING_MAP, STRINGS, Argument, BlockSchema
from tailpipe.config.values import SourceConfig
from tailpipe.errors import ArtifactError, ConfigError, Problem
from tailpipe.records import Mark
from tailpipe.sources.artifact import Artifact, Listed, Skipped, SkipReason, Source, Unlisted
from tailpipe.sources.content import at_mark, first_bytes, goes_on_at_line_end
from tailpipe.sources.layout import Layout, LayoutError, parse_layout
from tailpipe.sources.listed_file import ListedFile, open_file, version_of
from tailpipe.sources.walk import Seen, Walker, fixed_part
from tailpipe.times import Window

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SCHEMA = BlockSchema(
    (
        Argument(
            "paths",
            STRINGS,
            required=True,
            description="Files, folders (taken whole) and globs (`**` crosses folders; `~` is your home).",
        ),
        Argument(
            "file_layout",
            description="Grok pattern that paths below each folder must match; year, month, day… date them.",
        ),
        Argument("patterns", STRING_MAP, description="Grok patterns of your own for file_layout, by name."),
    ),
    "Files on disk, plain or compressed, alone or in archives.",
)


@dataclass(frozen=True)
class FileSource(Source):
    name: str
    paths: tuple[str, ...]
    layout: Layout | None = None
    type: str = "file"
    can_recognise = True

    def list(self, window: Window) -> Iterator[Listed]:
        """In the order of `paths`, and by name below each. A file that several paths reach comes once."""
        inodes: defaultdict[int, set[int]] = defaultdict(set)
        told: set[str] = set()
        for path in self.paths:
            root, seen = self._walk(path, window)
            judge = _Judge(self.layout, root, window)
            for found in seen:
                item: Listed
                if isinstance(found, tuple):
                    status = found[1]
                    taken = inodes[status.st_dev]
                    if status.st_ino in taken:
                        continue
                    item = judge(*found)
                    if isinstance(item, Artifact):
                        taken.add(status.st_ino)
                        yield item
                        continue
                else:
                    item = replace(found, location=_text(found.location))
                if item.location not in told:
                    told.add(item.location)
                    yield item

    @contextmanager
    def open(self, artifact: Artifact) -> Iterator[BinaryIO]:
        """Exactly as many bytes as were listed: what was appended since is for the next run."""
        with ListedFile(artifact) as file:
            yield cast(BinaryIO, file)
            file.check_unchanged()

    @property
    def capture_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.layout.names)) if self.layout else ()

    def captures(self, location: str) -> Mapping[str, str]:
        for path in self.paths:
            folder = fixed_part(path) if glob.has_magic(path) else path
            relative = os.path.basename(location) if location == path else os.path.relpath(location, folder)
            found = self.layout.match(relative) if self.layout and not relative.startswith("..") else None
            if found is not None:
                return found
        return {}

    def head(self, location: str) -> bytes | None:
        with suppress(OSError, ArtifactError), open_file(location) as file:
            return first_bytes(file, location)
        return None

    def holds(self, location: str, mark: Mark) -> bool:
        with suppress(OSError, ArtifactError), open_file(location) as file:
            return mark.offset > 0 and bool(at_mark(file, location, mark))
        return False

    def goes_on_at_line_end(self, location: str, mark: Mark) -> bool:
        """Whether the content holds the mark, and can be read on from it without what lies before."""
        if mark.offset == 0:
            return True
        with suppress(OSError, ArtifactError), open_file(location) as file:
            return goes_on_at_line_end(*at_mark(file, location, mark))
        return False

    def _walk(self, path: str, window: Window) -> tuple[str, Iterator[Seen]]:
        """The folder below which the layout is looked for, and what a path of the configuration leads to."""
        try:
            status = os.stat(path)
        except OSError as error:
            if not glob.has_magic(path):
                return path, iter([_missing(path, error)])
            root = fixed_part(path)
            return root, _any(self._walker(root, window).matching(path), path)
        if stat.S_ISDIR(status.st_mode):
            return path, self._walker(path, window).below(path)
        return os.path.dirname(path), iter([(path, status)])

    def _walker(self, root: str, window: Window) -> Walker:
        layout, start = self.layout, len(os.path.join(root, ""))
        return Walker(lambda folder: layout is None or layout.may_contain(folder[start:], window))


class _Judge:
    """Whether a file is taken, and as what. Files of a folder share what their paths mean, so that is remembered."""

    def __init__(self, layout: Layout | None, root: str, window: Window) -> None:
        self._layout = layout
        self._start = len(os.path.join(root, ""))
        self._window = window
        self._meaning = lru_cache(maxsize=10_000)(self._meaning_of)

    def __call__(self, path: str, status: os.stat_result) -> Artifact | Skipped:
        if not path.isascii() and (text := _text(path)) != path:
            return Skipped(text, SkipReason.NOT_UTF8)
        if not stat.S_ISREG(status.st_mode):
            return Skipped(path, SkipReason.NOT_A_FILE)
        if status.st_size == 0:
            return Skipped(path, SkipReason.EMPTY)
        modified, version = _modified(status), version_of(status)
        if self._layout is None:
            return Artifact(path, status.st_size, version, modified=modified)
        relative_path = path[self._start :]
        found = self._layout.regex.search(relative_path)
        if found is None:
            hint = f'the file_layout is "{self._layout.text}", which is looked for in "{relative_path}"'
            return Skipped(path, SkipReason.LAYOUT, hint)
        captures, span, is_wanted = self._meaning(found.groups())
        if not is_wanted:
            return Skipped(path, SkipReason.OUTSIDE_WINDOW)
        return Artifact(path, status.st_size, version, span, captures, modified)

    def _meaning_of(self, groups: tuple[str | None, ...]) -> tuple[Mapping[str, str], Window | None, bool]:
        assert self._layout is not None
        captures = self._layout.captures(groups)
        span = self._layout.span(captures)
        return captures, span, span is None or span.overlaps(self._window)


def make(config: SourceConfig, default_layout: str | None = None) -> FileSource:
    """`default_layout` is the table's, for a source that names none."""
    text = config.arguments.get("file_layout") or default_layout
    try:
        layout = parse_layout(text, config.arguments.get("patterns") or {}) if text else None
    except LayoutError as error:
        position = config.argument_positions.get("file_layout") or config.position
        raise ConfigError([Problem(f"file_layout: {error}", position, error.hint)]) from error
    return FileSource(config.name, _paths(config), layout)


def _paths(config: SourceConfig) -> tuple[str, ...]:
    """Absolute. A path without a name would mean the working folder, which nobody asks for like that."""
    paths = config.arguments["paths"]
    position = config.argument_positions.get("paths") or config.position
    problems = [
        Problem(
            f"paths: {json.dumps(path)} is not a path",
            position,
            'name a file, a folder or a glob; "." is the folder in which the command runs',
        )
        for path in paths
        if not path.strip() or "\0" in path
    ]
    if not paths:
        hint = 'name files, folders or globs: paths = ["/var/log/nginx"]'
        problems.append(Problem("paths: the list is empty", position, hint))
    if problems:
        raise ConfigError(problems)
    return tuple(os.path.abspath(os.path.expanduser(path)) for path in paths)


def _text(path: str) -> str:
    """Names are bytes on disk; those that are no UTF-8 can be neither stored nor shown as they are."""
    return path if path.isascii() else os.fsencode(path).decode(errors="replace")


def _modified(status: os.stat_result) -> datetime | None:
    """None for times that only a file system can express."""
    try:
        return _EPOCH + timedelta(0, 0, status.st_mtime_ns // 1000)
    except OverflowError:
        return None


def _any(found: Iterator[Seen], pattern: str) -> Iterator[Seen]:
    first = next(found, None)
    if first is None:
        yield Unlisted(pattern, "nothing matches", _nearest_hint(pattern))
        return
    yield first
    yield from found


def _missing(path: str, error: OSError) -> Unlisted:
    """Why nothing is known of a path that the configuration names."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if os.path.islink(path):
            return Unlisted(path, f"the link leads to {os.readlink(path)}, which does not exist")
        return Unlisted(path, "there is no such file or folder", _nearest_hint(path))
    return Unlisted(path, error.strerror or str(error))


def _nearest_hint(path: str) -> str:
    folder = os.path.dirname(path)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return f"{folder} exists; check the rest of the path, and that this machine sees it"
