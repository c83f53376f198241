"""Rows of artifacts that are alike in all that says which times they have rows of, and which of these are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tailpipe.arrow import np, pa
from tailpipe.lake.columns import Numbers
from tailpipe.lake.manifest import read_kept
from tailpipe.lake.manifest_columns import microseconds
from tailpipe.lake.row_folding import shared_codes

TIMES = ("source", "span", "kept", "oldest", "newest", "filtered", "stored", "outside", "rejected", "is_gone")
_HOUR = 3_600_000_000
_MANY = 1 << 62


def alike_rows(facts: pa.Table) -> list[Numbers]:
    """Numbers of rows with the same answer to each question of `extent`, from a table of `TIMES`."""
    return _groups(_codes(facts), facts.num_rows)


def _codes(facts: pa.Table) -> Iterator[Numbers]:
    """Times count by the hour, but for what is kept to the moment."""
    for name in ("source", "span", "kept"):
        yield shared_codes(facts.column(name))[0]
    yield _is_within(facts)
    for name in ("oldest", "newest"):
        hours = _moments(facts, name, 0) // _HOUR
        yield np.where(facts.column(name).is_null().to_numpy(), hours.min(initial=0) - 1, hours)
    for name in ("filtered", "stored", "outside", "rejected"):
        yield facts.column(name).to_numpy() > 0
    yield facts.column("is_gone").to_numpy()


def _is_within(facts: pa.Table) -> Numbers:
    """Whether all rows are within the first window that is kept."""
    codes, texts = shared_codes(facts.column("kept"))
    firsts = [windows[0] if (windows := read_kept(text)) else None for text in texts]
    starts = np.array([microseconds(window.start) if window else _MANY for window in firsts], np.int64)
    ends = np.array([microseconds(window.end) if window else -_MANY for window in firsts], np.int64)
    is_after: Numbers = _moments(facts, "oldest", -_MANY) >= starts[codes]
    is_before: Numbers = _moments(facts, "newest", _MANY) < ends[codes]
    return is_after & is_before


def _moments(facts: pa.Table, name: str, missing: int) -> Any:
    return facts.column(name).cast(pa.int64()).fill_null(missing).to_numpy()


def _groups(columns: Iterable[Numbers], count: int) -> list[Numbers]:
    """Rows that have the same values in all columns."""
    codes, values = np.zeros(count, np.int64), 1
    for column in columns:
        least = int(column.min(initial=0))
        size = int(column.max(initial=0)) - least + 1
        if values * size > _MANY:
            codes = np.unique(codes, return_inverse=True)[1]
            values = count
        codes *= size
        codes += column
        codes -= least
        values *= size
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if count else []
