"""Walking a folder: by name, fast, through links but never in circles, and only where a layout may match."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from tailpipe.errors import SourceError
from tailpipe.sources.layout import Layout
from tailpipe.times import Window


@dataclass(frozen=True, slots=True)
class Found:
    """`relative_path` is what a layout is matched against."""

    path: str
    relative_path: str
    stat: os.stat_result


def walk(
    folder: str,
    relative_folder: str,
    layout: Layout | None,
    window: Window,
    above: frozenset[tuple[int, int]] = frozenset(),
) -> Iterator[Found]:
    """Files below a folder, ordered by name within each folder. `above` are the folders that led here."""
    try:
        status = os.stat(folder)
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise SourceError(f"{folder}: {error.strerror}", "is the folder readable for this user?") from error
    identity = (status.st_dev, status.st_ino)
    if identity in above:
        return
    for entry in ordered:
        relative_path = f"{relative_folder}/{entry.name}" if relative_folder else entry.name
        if entry.is_dir():
            if layout is None or layout.may_contain(relative_path, window):
                yield from walk(entry.path, relative_path, layout, window, above | {identity})
        else:
            try:
                status = entry.stat()
            except FileNotFoundError:
                continue  # a dangling link, or gone since the folder was read
            except OSError as error:
                raise SourceError(f"{entry.path}: {error.strerror}") from error
            yield Found(entry.path, relative_path, status)
