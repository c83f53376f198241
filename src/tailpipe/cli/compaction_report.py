"""What was compacted, or would be: for people, or as JSON for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tailpipe.cli.terminal import counted, say, say_json, seconds, size
from tailpipe.errors import EXIT_DONE, EXIT_LAKE, EXIT_PARTIAL
from tailpipe.lake.compaction import Compaction, DayCompacted, DayFailed, DayPlan


@dataclass(frozen=True)
class Report:
    """Of one partition. `plans` are those of a dry run."""

    name: str
    done: tuple[DayCompacted, ...] = ()
    failed: tuple[DayFailed, ...] = ()
    plans: tuple[DayPlan, ...] = ()


def exit_code(reports: Sequence[Report], *, is_whole: bool) -> int:
    if is_whole and not any(report.failed for report in reports):
        return EXIT_DONE
    return EXIT_PARTIAL if any(report.done for report in reports) else EXIT_LAKE


def print_reports(reports: Sequence[Report], form: str, elapsed: float) -> None:
    if form == "json":
        say_json({"seconds": round(elapsed, 3), "partitions": [_json(report) for report in reports]})
        return
    for report in reports:
        _print(report)
    if not any(report.done or report.failed or report.plans for report in reports):
        say("Nothing to compact.")
    days = tuple(day for report in reports for day in report.done)
    if days:
        say(f"total: {compaction_words(Compaction(days))}  ({seconds(elapsed)})")


def compaction_words(compaction: Compaction) -> str:
    files = f"{counted(compaction.files, 'file')} became {compaction.files_after:,}"
    sizes = f"{size(compaction.size_bytes)} to {size(compaction.size_bytes_after)}"
    return (
        f"{counted(len(compaction.done), 'day')} compacted: {files}{_moved(compaction.rows_moved)} ({sizes})"
    )


def compaction_json(compaction: Compaction) -> dict[str, int]:
    return {
        "days": len(compaction.done),
        "rows": compaction.rows,
        "files": compaction.files,
        "files_after": compaction.files_after,
        "size_bytes": compaction.size_bytes,
        "size_bytes_after": compaction.size_bytes_after,
    }


def _print(report: Report) -> None:
    if report.done:
        say(f"{report.name}: {compaction_words(Compaction(report.done))}")
    if report.plans or report.failed:
        say(report.name)
    for plan in report.plans:
        files = f"{counted(len(plan.files), 'file')} would become {plan.files_after:,}"
        say(f"  {plan.day}: {files}{_moved(plan.rows_moved)} ({size(plan.size_bytes)})")
    for failure in report.failed:
        cause, *hints = failure.message.split("\nhint: ")
        say(f"  failed: {f'{failure.day}: ' if failure.day else ''}{cause}")
        for hint in hints:
            say(f"  hint: {hint}")


def _moved(rows: int) -> str:
    return f", {counted(rows, 'row')} under another index" if rows else ""


def _json(report: Report) -> dict[str, Any]:
    return {
        "partition": report.name,
        "days": [
            *({**asdict(day), "day": str(day.day)} for day in report.done),
            *map(_plan_json, report.plans),
        ],
        "failed": [
            {"day": str(failure.day) if failure.day else None, "message": failure.message}
            for failure in report.failed
        ],
    }


def _plan_json(plan: DayPlan) -> dict[str, Any]:
    return {
        "day": str(plan.day),
        "rows": sum(file.rows for file in plan.files),
        "rows_moved": plan.rows_moved,
        "files": len(plan.files),
        "files_after": plan.files_after,
        "size_bytes": plan.size_bytes,
    }
