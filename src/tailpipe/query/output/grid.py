"""A bordered table, and how much of a result is held to find its widths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from tailpipe.query.output.options import OutputOptions
from tailpipe.query.results import Result, Row
from tailpipe.query.widths import display_width, escape_controls, pad, shown_row

HEAD_ROWS = 10_000
HEAD_CHARACTERS = 16_000_000


def write_table(result: Result, out: TextIO, options: OutputOptions) -> None:
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
    for batch in rest:
        out.writelines(grid.line(shown_row(row)) for row in batch)
    out.write(grid.bottom)


class Grid:
    """Columns of fixed width between vertical lines."""

    def __init__(self, widths: Sequence[int], is_right_aligned: Sequence[bool]) -> None:
        self._columns = tuple(zip(widths, is_right_aligned, strict=True))
        self.top = self._rule("┌", "┬", "┐")
        self.middle = self._rule("├", "┼", "┤")
        self.bottom = self._rule("└", "┴", "┘")

    def line(self, cells: Sequence[str], *, is_heading: bool = False) -> str:
        padded = (
            pad(cell, width, is_right_aligned=is_right and not is_heading)
            for cell, (width, is_right) in zip(cells, self._columns, strict=True)
        )
        return f"│ {' │ '.join(padded)} │\n"

    def _rule(self, left: str, cross: str, right: str) -> str:
        return left + cross.join("─" * (width + 2) for width, _ in self._columns) + right + "\n"


def fill_head(batches: Iterator[list[Row]]) -> tuple[list[Row], Iterator[list[Row]]]:
    """Rows to measure, and the batches after them. What is held is bounded in rows and in characters."""
    head: list[Row] = []
    characters = 0
    for batch in batches:
        head.extend(batch)
        characters += sum(len(cell) for row in batch for cell in row if cell is not None)
        if len(head) >= HEAD_ROWS or characters >= HEAD_CHARACTERS:
            break
    return head, batches
