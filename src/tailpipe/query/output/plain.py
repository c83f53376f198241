"""For pipes: tab-separated, one line a row, no border, an empty field for null."""

from __future__ import annotations

from typing import TextIO

from tailpipe.query.output.options import OutputOptions
from tailpipe.query.results import Result, Row
from tailpipe.query.widths import escape_controls


def write(result: Result, out: TextIO, options: OutputOptions) -> int:
    if options.has_header:
        out.write(_line(tuple(column.name for column in result.columns)))
    count = 0
    for batch in result.text_batches():
        out.writelines(map(_line, batch))
        count += len(batch)
    return count


def _line(row: Row) -> str:
    return "\t".join("" if cell is None else escape_controls(cell) for cell in row) + "\n"
