"""The table that is printed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench import table
from bench.cases import Case
from bench.contenders import DUCKDB, Result
from bench.data import Data

HEADER = ("contender", "seconds", "x duckdb", "start", "first job", "rest", "peak MB", "bytes/row", "rows/s")


def heading(case: Case, data: Data) -> str:
    size = f"{data.raw_bytes / 1e6:,.0f} MB raw"
    title = f"{case.name}: {data.rows:,} rows, {case.files:,} files, {size}"
    return table.heading(title, HEADER)


def row(results: Sequence[Result], peer: Result | None) -> str:
    """The run in the middle by time stands for all."""
    result = middle(results)
    ratio = f"{result.seconds / peer.seconds:.2f}" if peer and result.contender != DUCKDB else ""
    timings = [
        f"{result.timings[key]:.1f}" if key in result.timings else ""
        for key in ("engine_start_seconds", "first_job_seconds", "rest_seconds")
    ]
    numbers = (f"{result.peak_bytes / 1e6:,.0f}", f"{result.stored_bytes / max(result.rows, 1):.0f}")
    rate = f"{result.rows / result.seconds:,.0f}"
    seconds = f"{result.seconds:.2f}{'!' if result.was_paused else ''}"
    return table.row([result.contender, seconds, ratio, *timings, *numbers, rate])


def middle(results: Sequence[Result]) -> Result:
    median = statistics.median_low(result.seconds for result in results)
    return next(result for result in results if result.seconds == median)
