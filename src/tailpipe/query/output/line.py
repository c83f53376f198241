"""One block per row: `-[ RECORD 1 ]-`, then a line per column."""

from __future__ import annotations

from typing import TextIO

from tailpipe.query.output.options import OutputOptions
from tailpipe.query.results import Result, Row
from tailpipe.query.widths import display_width, escape_controls, pad, shown

MARK_WIDTH_COLUMNS = 72


def write(result: Result, out: TextIO, options: OutputOptions) -> int:
    names = [escape_controls(column.name) for column in result.columns]
    width = max(map(display_width, names))
    labels = [pad(name, width) for name in names]
    count = 0
    for batch in result.text_batches():
        for row in batch:
            count += 1
            out.write(_record(count, labels, row))
    return count


def _record(number: int, labels: list[str], row: Row) -> str:
    mark = f"-[ RECORD {number} ]".ljust(MARK_WIDTH_COLUMNS, "-")
    lines = (f"{label} | {shown(cell)}" for label, cell in zip(labels, row, strict=True))
    return "\n".join((mark, *lines)) + "\n"
