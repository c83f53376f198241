"""What `partition show` tells of a partition's collection: runs, failures, what is pending and what is quarantined."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tailpipe.cli.terminal import counted
from tailpipe.lake.address import Lake
from tailpipe.lake.runs import COLLECTING, FAILED, UNFINISHED, Run

if TYPE_CHECKING:
    from tailpipe.lake.manifest import Failure
    from tailpipe.lake.state import PartitionState


def collection_facts(lake: Lake, table: str, partition: str, now: datetime) -> dict[str, Any]:
    """Empty while nothing was ever collected or tried."""
    from tailpipe.lake.catalog import partition_states
    from tailpipe.lake.quarantine import quarantined
    from tailpipe.lake.runs import partition_runs

    state = partition_states(lake, table, lambda name: name == partition).get(partition)
    if state is None:
        return {}
    artifacts = state.artifacts
    return {
        "artifacts": int(artifacts.is_kept.sum()),
        "waiting_for_line_end": artifacts.locations((artifacts.is_kept & artifacts.is_waiting).nonzero()[0]),
        "rejects": quarantined(lake.table(table), state.reject_files),
        **_last_run(partition_runs(lake, table, partition)),
        "failed": [_failure(failure) for failure in state.failures],
        "pending": list(_pending(state, now)),
    }


def last_endings(lake: Lake, table: str) -> dict[str, dict[str, Any]]:
    """By name of the partition: when the last run that left a record ended, and how many of its units failed."""
    from tailpipe.lake.catalog import partition_states

    return {
        name: {
            "last_run": state.last_run.finished_at.isoformat(timespec="seconds"),
            "last_run_failed": state.last_run.failed or None,
        }
        for name, state in partition_states(lake, table).items()
        if state.last_run
    }


def _last_run(runs: list[Run]) -> dict[str, Any]:
    last = next((run for run in reversed(runs) if run.kind in COLLECTING), None)
    if last is None:
        return {}
    return {
        "last_run": (last.finished_at or last.started_at).isoformat(timespec="seconds"),
        "last_run_status": _status(last),
        "last_run_rows": last.rows,
        "last_run_stored": last.stored,
    }


def _status(run: Run) -> str:
    if run.status == FAILED:
        return f"{counted(run.failed, 'unit')} failed"
    return "unfinished: interrupted, or still running" if run.status == UNFINISHED else run.status


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "what": failure.label,
        "at": failure.at.isoformat(timespec="seconds"),
        "artifacts": failure.artifacts,
        "cause": failure.message.split("\nhint: ")[0],
    }


def _pending(state: PartitionState, now: datetime) -> Iterator[dict[str, Any]]:
    """Without the time since a source was last collected: that is ahead of it, and not left behind."""
    from tailpipe.collect.windows import pending

    for source, asked in state.asked.items():
        covered = state.covered.get(source, ())
        newest = max((window.end for window in covered), default=None)
        for window in pending(asked, covered, now):
            if window.start == newest:
                continue
            yield {
                "source": source,
                "from": window.start.isoformat(timespec="seconds"),
                "to": window.end.isoformat(timespec="seconds"),
            }
