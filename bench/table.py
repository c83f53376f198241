"""Lines of a table as they are printed, one by one."""

from __future__ import annotations

from collections.abc import Sequence

_WIDTH = 10


def heading(title: str, columns: Sequence[str]) -> str:
    return f"\n{title}\n{row(columns)}\n{row(['-' * _WIDTH] * len(columns))}"


def row(cells: Sequence[str]) -> str:
    first, *rest = cells
    return "  ".join([first.ljust(_WIDTH), *(cell.rjust(_WIDTH) for cell in rest)])
