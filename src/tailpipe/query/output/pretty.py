"""For people: types under names, long cells wrapped to the terminal, and how many rows it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from tailpipe.query.output.grid import Grid, fill_head
from tailpipe.query.output.options import OutputOptions
from tailpipe.query.results import Result
from tailpipe.query.widths import character_width, display_width, escape_controls, shown_row

_NARROWEST = 8
_WIDEST_TYPE = 20


def write(result: Result, out: TextIO, options: OutputOptions) -> None:
    started = options.clock()
    heading = _heading(result)
    head, rest = fill_head(result.text_batches())
    shown_head = [shown_row(row) for row in head]
    widths = _fit(_natural_widths([*heading, *shown_head], len(result.columns)), options.width_columns)
    grid = Grid(widths, [column.is_number for column in result.columns])
    out.write(grid.top)
    if options.has_header:
        for row in heading:
            out.writelines(grid.line(line, is_heading=True) for line in _wrapped(row, widths))
        out.write(grid.middle)
    _write_rows(out, grid, widths, shown_head)
    count = len(head)
    for batch in rest:
        _write_rows(out, grid, widths, map(shown_row, batch))
        count += len(batch)
    out.write(grid.bottom)
    rows = "1 row" if count == 1 else f"{count:,} rows"
    out.write(f"{rows} in {options.clock() - started:.2f} s\n")


def _heading(result: Result) -> list[tuple[str, ...]]:
    names = tuple(escape_controls(column.name) for column in result.columns)
    return [names, tuple(_short_type(column.data_type) for column in result.columns)]


def _short_type(data_type: str) -> str:
    text = data_type.lower()
    if len(text) <= _WIDEST_TYPE:
        return text
    suffix = "[]" if text.endswith("[]") else ""
    return f"{text.partition('(')[0]}(…){suffix}" if "(" in text else text


def _write_rows(out: TextIO, grid: Grid, widths: Sequence[int], rows: Iterable[Sequence[str]]) -> None:
    for row in rows:
        out.writelines(map(grid.line, _wrapped(row, widths)))


def _natural_widths(rows: Iterable[Sequence[str]], count: int) -> list[int]:
    widths = [0] * count
    for row in rows:
        for place, cell in enumerate(row):
            widths[place] = max(widths[place], display_width(cell))
    return widths


def _fit(widths: list[int], total: int | None) -> list[int]:
    """Lowers the widest columns to one common width, so that the table fits where it can."""
    room = None if total is None else total - 3 * len(widths) - 1
    if room is None or sum(widths) <= room:
        return widths
    left, columns_left = room, len(widths)
    for width in sorted(widths):
        if width * columns_left > left:
            break
        left, columns_left = left - width, columns_left - 1
    limit = max(_NARROWEST, left // max(1, columns_left))
    return [min(width, limit) for width in widths]


def _wrapped(row: Sequence[str], widths: Sequence[int]) -> Iterator[tuple[str, ...]]:
    pieces = [list(_pieces(cell, width)) for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, pieces))):
        yield tuple(lines[number] if number < len(lines) else "" for lines in pieces)


def _pieces(text: str, width: int) -> Iterator[str]:
    """Parts of at most the width, cut after a space or a comma where one is near the end."""
    while display_width(text) > width:
        end = _longest_prefix(text, width)
        near = max(text.rfind(" ", 0, end), text.rfind(",", 0, end)) + 1
        cut = near if near > end // 2 else end
        yield text[:cut].rstrip(" ")
        text = text[cut:].lstrip(" ")
    yield text


def _longest_prefix(text: str, width: int) -> int:
    used = 0
    for place, character in enumerate(text):
        used += character_width(character)
        if used > width:
            return max(1, place)
    return len(text)
