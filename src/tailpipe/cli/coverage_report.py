"""What is known of the days of one partition, for people or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Any

from tailpipe.cli.calendar import Pen, draw, legend
from tailpipe.cli.terminal import counted
from tailpipe.lake.coverage import FAILED, MISSING, PARTIAL, STATES, Day
from tailpipe.lake.manifest import Failure
from tailpipe.query.widths import escape_controls

_MAX_LINES = 10


@dataclass(frozen=True)
class Report:
    """`later_rows` are those of days after today. `sources` are those that count; empty means all.

    `is_known` says that something of the partition was collected or tried.
    """

    name: str
    days: tuple[Day, ...]
    failures: tuple[Failure, ...]
    today: date
    later_rows: int = 0
    sources: tuple[str, ...] = ()
    is_configured: bool = True
    is_known: bool = True


def report_json(report: Report) -> dict[str, Any]:
    return {
        "partition": report.name,
        "sources": list(report.sources) or None,
        "days": [_day_json(day) for day in report.days],
        "summary": {state: sum(day.state == state for day in report.days) for state in STATES},
        "rows": sum(day.rows for day in report.days),
        "later_rows": report.later_rows,
        "failures": [
            {
                "what": failure.label,
                "cause": failure.message,
                "artifacts": failure.artifacts,
                "at": failure.at.isoformat(timespec="seconds"),
            }
            for failure in report.failures
        ],
    }


def report_lines(report: Report, width_columns: int, pen: Pen) -> Iterator[str]:
    yield _title(report)
    if report.days:
        yield ""
        yield from draw(report.days, width_columns, pen)
        yield ""
        yield legend(report.days, pen)
    if report.later_rows:
        yield f"{counted(report.later_rows, 'row')} of days after today"
    for state in (FAILED, PARTIAL, MISSING):
        yield from _reasons(report, state)
    if report.failures:
        yield "failed, and of no day:"
        for failure in report.failures:
            yield f"  {_plain(failure.label)}: {_plain(failure.message)}"
    hint = _hint(report)
    if hint:
        yield f"hint: {hint}"


def _day_json(day: Day) -> dict[str, Any]:
    facts: dict[str, Any] = {"date": day.date.isoformat(), "state": day.state, "rows": day.rows}
    if day.rejected:
        facts["rejected"] = day.rejected
    if day.reason:
        facts["reason"] = day.reason
    return facts


def _title(report: Report) -> str:
    name = f"{report.name} ({', '.join(report.sources)})" if report.sources else report.name
    if not report.days:
        return (
            f"{name}: no day of the window has begun" if report.is_known else f"{name}: nothing is collected"
        )
    rows = counted(sum(day.rows for day in report.days), "row")
    return f"{name}  {_range(report.days[0].date, report.days[-1].date)}, {rows}"


def _reasons(report: Report, state: str) -> Iterator[str]:
    """Neighbours that share a reason share a line."""
    runs = [
        (reason, list(group))
        for (found, reason), group in groupby(report.days, key=lambda day: (day.state, day.reason))
        if found == state
    ]
    if runs:
        yield f"{state}:"
    for reason, run in runs[-_MAX_LINES:]:
        yield f"  {_range(run[0].date, run[-1].date)}: {_plain(reason or '')}"
    if len(runs) > _MAX_LINES:
        yield f"  and {len(runs) - _MAX_LINES:,} before them; --output json tells all"


def _hint(report: Report) -> str | None:
    """One window around all that a run could add; what is there already is not stored twice."""
    if not report.is_configured:
        return None
    words = ["tailpipe collect", report.name, *report.sources]
    if not report.days:
        return None if report.is_known else " ".join(words)
    wanting = [
        day.date for day in report.days if day.state in (FAILED, PARTIAL, MISSING) and not day.is_stuck
    ]
    if not wanting:
        return " ".join(words) if report.failures else None
    words.append(f"--from {wanting[0].isoformat()}")
    if wanting[-1] != report.today:
        words.append(f"--to {wanting[-1].isoformat()}")
    return " ".join(words)


def _range(first: date, last: date) -> str:
    return first.isoformat() if first == last else f"{first.isoformat()} to {last.isoformat()}"


def _plain(text: str) -> str:
    """On one line, without a hint of its own."""
    return escape_controls(" ".join(text.split("\nhint: ")[0].split()))
