"""Reads and parses configuration files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tailpipe.config.language.parse import parse
from tailpipe.config.language.source_text import read_source
from tailpipe.config.language.syntax import Body
from tailpipe.config.report import Report
from tailpipe.errors import Position, Problem


def read_files(files: Sequence[tuple[int, Path]], report: Report) -> Iterator[tuple[int, Body]]:
    """A file that cannot be read is reported and counts as one that may hold anything."""
    for layer, path in files:
        yield layer, _read(path, report)


def _read(path: Path, report: Report) -> Body:
    read = read_source(path)
    if isinstance(read, Problem):
        report.add(read)
        return Body((), (), is_whole=False, lost_text=None)
    source, damage = read
    try:
        body, problems = parse(source, damage)
    except RecursionError:
        report.error(Position(source.name, 1, 1), "the file is nested too deeply to be read")
        return Body((), (), is_whole=False, lost_text=source.data)
    report.add(*problems)
    return body
