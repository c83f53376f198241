"""A bordered table."""

from __future__ import annotations

from typing import TextIO

from tailpipe.query.output.grid import Grid, fill_head
from tailpipe.query.output.options import OutputOptions
from tailpipe.query.results import Result
from tailpipe.query.widths import display_width, escape_controls, shown_row


def write(result: Result, out: TextIO, options: OutputOptions) -> int:
    """Widths come from the first rows; a later cell that is wider pushes its border, and nothing is cut."""
    names = tuple(escape_controls(column.name) for column in result.columns)
    head, rest = fill_head(result.text_batches())
    shown_head = [shown_row(row) for row in head]
    measured = [names, *shown_head] if options.has_header else shown_head
    widths = [max((display_width(row[place]) for row in measured), default=0) for place in range(len(names))]
    grid = Grid(widths, [column.is_number for column in result.columns])
    out.write(grid.top)
    if options.has_header:
        out.write(grid.line(names, is_heading=True) + grid.middle)
    out.writelines(map(grid.line, shown_head))
    count = len(head)
    for batch in rest:
        out.writelines(grid.line(shown_row(row)) for row in batch)
        count += len(batch)
    out.write(grid.bottom)
    return count
