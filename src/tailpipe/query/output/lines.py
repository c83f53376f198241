"""A line per row, or per value: `csv`, `plain` and `line`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TextIO

from tailpipe.query.output.options import OutputOptions
from tailpipe.query.results import Result, Row
from tailpipe.query.widths import display_width, escape_controls, pad, shown

MARK_WIDTH_COLUMNS = 72


def write_csv(result: Result, out: TextIO, options: OutputOptions) -> None:
    """Comma-separated: a header, an empty field for null, quotes where RFC 4180 asks for them."""
    line = _csv_line_maker(options.separator)
    if options.has_header:
        out.write(line([column.name for column in result.columns]))
    for batch in result.text_batches():
        out.write("".join(map(line, batch)))


def _csv_line_maker(separator: str) -> Callable[[Sequence[str | None]], str]:
    # csv.writer leaves a lone carriage return unquoted before Python 3.13, and readers end the record there.
    needs_quotes = re.compile(f'["\r\n{re.escape(separator)}]').search

    def field(text: str | None) -> str:
        if text is None:
            return ""
        if not text or needs_quotes(text):
            return '"' + text.replace('"', '""') + '"'
        return text

    def line(cells: Sequence[str | None]) -> str:
        # A line with nothing on it is no record for most readers.
        return (separator.join(map(field, cells)) or '""') + "\n"

    return line


def write_plain(result: Result, out: TextIO, options: OutputOptions) -> None:
    """For pipes: tab-separated, one line a row, no border, an empty field for null."""
    if options.has_header:
        out.write(_plain_line(tuple(column.name for column in result.columns)))
    for batch in result.text_batches():
        out.writelines(map(_plain_line, batch))


def _plain_line(row: Row) -> str:
    return "\t".join("" if cell is None else escape_controls(cell) for cell in row) + "\n"


def write_line(result: Result, out: TextIO, options: OutputOptions) -> None:
    """One block per row: `-[ RECORD 1 ]-`, then a line per column."""
    names = [escape_controls(column.name) for column in result.columns]
    width = max(map(display_width, names))
    labels = [pad(name, width) for name in names]
    rows = (row for batch in result.text_batches() for row in batch)
    out.writelines(_block(number, labels, row) for number, row in enumerate(rows, start=1))


def _block(number: int, labels: list[str], row: Row) -> str:
    mark = f"-[ RECORD {number} ]".ljust(MARK_WIDTH_COLUMNS, "-")
    lines = (f"{label} | {shown(cell)}" for label, cell in zip(labels, row, strict=True))
    return "\n".join((mark, *lines)) + "\n"
