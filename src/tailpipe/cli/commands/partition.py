"""`tailpipe partition`: what is collected from where, and how much of it is in the lake."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any

from tailpipe.cli.arguments import add_listing, add_window
from tailpipe.cli.blocks import shown_arguments, used_blocks
from tailpipe.cli.freed_words import freed_facts, purged_words
from tailpipe.cli.listing import Entry, Facts, chosen, run_listing, unless_damaged
from tailpipe.cli.selection import whole_window
from tailpipe.cli.setup import Setup, load_setup
from tailpipe.cli.terminal import confirm, counted, say
from tailpipe.collect.windows import ALWAYS, pending
from tailpipe.config.values import PartitionConfig, SourceConfig
from tailpipe.errors import EXIT_DONE, UsageError
from tailpipe.lake.address import Lake
from tailpipe.lake.catalog import list_tables, partition_states
from tailpipe.lake.deletion import delete_window
from tailpipe.lake.manifest import Failure, RunReport
from tailpipe.lake.purge import purge
from tailpipe.lake.quarantine import quarantined
from tailpipe.lake.runs import COLLECTING, DONE, UNFINISHED, Run, partition_runs
from tailpipe.lake.sizes import Contents, partition_contents
from tailpipe.lake.state import PartitionState
from tailpipe.times import Window

_NOT_CONFIGURED = "(not configured)"
_BROKEN = "(configured with problems)"
_NOTHING = dict.fromkeys(("rows", "days", "first_day", "last_day", "files", "size_bytes"))
_NO_RUN = dict.fromkeys(("last_run", "last_run_failed"))

HELP = "List and show partitions and what is collected of them, or delete rows."


def configure(parser: argparse.ArgumentParser) -> None:
    add_listing(parser, "partition", {"delete": "take rows of a window, or all, out of it"})
    begin = "delete rows from this time on, such as T-7d"
    add_window(parser, begin, "delete rows before this time; a date includes its day")
    parser.add_argument("--force", action="store_true", help="delete without asking")
    purge = "delete, and remove all files that held these rows from the disk at once"
    parser.add_argument("--purge", action="store_true", help=purge)


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "delete":
        return _delete(arguments)
    if arguments.start or arguments.end or arguments.force or arguments.purge:
        raise UsageError("--from, --to, --force and --purge are for delete.", "tailpipe coverage shows days")
    return run_listing(arguments, "partition", _entries, needs_config=True)


def _entries(setup: Setup) -> list[Entry]:
    """The configured ones, then those that only the lake knows."""
    tables = list_tables(setup.lake)
    stored: dict[tuple[str, str], Contents] = {}
    endings: dict[tuple[str, str], Facts] = {}
    for table in tables:
        contents = unless_damaged(partial(partition_contents, setup.lake, table))
        stored |= {(table, name): each for name, each in contents.items()}
        last = unless_damaged(partial(_last_endings, setup.lake, table))
        endings |= {(table, name): each for name, each in last.items()}
    configured = (*setup.partitions, *setup.broken_partitions)
    keys = [*configured, *(key for key in stored if key not in configured)]
    return [_entry(setup, key, stored.get(key), endings.get(key, _NO_RUN)) for key in keys]


def _entry(setup: Setup, key: tuple[str, str], contents: Contents | None, ending: Facts) -> Entry:
    config = setup.partitions.get(key)
    sources = [source.type for source in config.sources] if config else [_absence(setup, key)]
    collected: dict[str, Any] = asdict(contents) if contents else dict(_NOTHING)
    return Entry(
        ".".join(key),
        {"sources": sources, **collected, **ending},
        lambda: _details(setup, key, config, collected),
    )


def _details(setup: Setup, key: tuple[str, str], config: PartitionConfig | None, collected: Facts) -> Facts:
    asked = _asked(setup, config) if config else {"sources": [_absence(setup, key)]}
    return {**asked, **collected, **_collection_facts(setup.lake, *key, setup.now)}


def _absence(setup: Setup, key: tuple[str, str]) -> str:
    return _BROKEN if key in setup.broken_partitions else _NOT_CONFIGURED


def _asked(setup: Setup, config: PartitionConfig) -> Facts:
    return {
        "origin": str(config.position or ""),
        "description": config.description,
        "filter": config.filter,
        "tp_index": config.tp_index,
        "lookback": str(config.lookback) if config.lookback else None,
        "expire_after": _expire_after(setup, config),
        "sources": [_source(setup, source) for source in config.sources],
    }


def _expire_after(setup: Setup, config: PartitionConfig) -> str | None:
    found = config.expire_after or setup.workspace.expire_after
    return str(found) if found else None


def _source(setup: Setup, source: SourceConfig) -> Facts:
    return {
        "name": source.name,
        "type": source.type,
        **used_blocks(source),
        "arguments": shown_arguments(source.arguments, setup.registry.source_types[source.type]),
    }


def _collection_facts(lake: Lake, table: str, partition: str, now: datetime) -> dict[str, Any]:
    """Empty while nothing was ever collected or tried."""
    state = partition_states(lake, table, lambda name: name == partition).get(partition)
    if state is None:
        return {}
    artifacts = state.artifacts
    return {
        "artifacts": int(artifacts.is_kept.sum()),
        "waiting_for_line_end": artifacts.locations((artifacts.is_kept & artifacts.is_waiting).nonzero()[0]),
        "rejects": quarantined(lake.table(table), state.reject_files),
        **_last_run(partition_runs(lake, table, partition), state.last_run),
        "failed": [_failure_facts(failure) for failure in state.failures],
        "pending": list(_pending(state, now)),
        "expired": [
            {"from": f"{window.start:%Y-%m-%d}", "before": f"{window.end:%Y-%m-%d}"}
            for window in state.expired
        ],
    }


def _last_endings(lake: Lake, table: str) -> dict[str, dict[str, Any]]:
    """By name of the partition: when the last run that left a record ended, and how many of its units failed."""
    return {
        name: {
            "last_run": state.last_run.finished_at.isoformat(timespec="seconds"),
            "last_run_failed": state.last_run.failed or None,
        }
        for name, state in partition_states(lake, table).items()
        if state.last_run
    }


def _last_run(runs: list[Run], report: RunReport | None) -> dict[str, Any]:
    """A vacuum may have removed what told of the run; the state keeps the last report."""
    last = next((run for run in reversed(runs) if run.kind in COLLECTING), None)
    known = last or report
    if known is None:
        return {}
    return {
        "last_run": (known.finished_at or known.started_at).isoformat(timespec="seconds"),
        "last_run_status": _status(known.failed, last.status if last else DONE),
        "last_run_rows": known.rows,
        "last_run_stored": known.stored,
    }


def _status(failed: int, status: str) -> str:
    if failed:
        return f"{counted(failed, 'unit')} failed"
    return "unfinished: interrupted, or still running" if status == UNFINISHED else status


def _failure_facts(failure: Failure) -> dict[str, Any]:
    return {
        "what": failure.label,
        "at": failure.at.isoformat(timespec="seconds"),
        "artifacts": failure.artifacts,
        "cause": failure.message.split("\nhint: ")[0],
    }


def _pending(state: PartitionState, now: datetime) -> Iterator[dict[str, Any]]:
    """Without the time since a source was last collected: that is ahead of it, and not left behind."""
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


def _delete(arguments: argparse.Namespace) -> int:
    """Rows leave in one commit. What is left of the sources' artifacts can be collected again."""
    if arguments.name is None:
        raise UsageError("which partition is meant?", "tailpipe partition list names them")
    setup = load_setup(arguments, needs_config=False, writes=True)
    window = whole_window(arguments, setup.now)
    table, name = chosen(arguments.name, "partition", _entries(setup)).name.split(".", 1)
    words = _window_words(window)
    purging = " and purge their files" if arguments.purge else ""
    confirm(f"Delete {words} of {table}.{name}{purging}?", arguments.force)
    deleted = delete_window(setup.lake, table, name, window)
    purged = purge(setup.lake.table(table), name, window) if arguments.purge else None
    told, code = purged_words(f"{table}.{name}", purged) if purged else ("", EXIT_DONE)
    if arguments.output == "json":
        more = {"purged": freed_facts(purged)} if purged else {}
        say(json.dumps({"partition": f"{table}.{name}", **asdict(deleted), **more}, indent=2))
        return code
    rejects = f" and {counted(deleted.rejects, 'reject')}" if deleted.rejects else ""
    say(f"{table}.{name}: {counted(deleted.rows, 'row')}{rejects} deleted ({words})")
    if told:
        say(told)
    return code


def _window_words(window: Window) -> str:
    start = f" from {window.start:%Y-%m-%d %H:%M}" if window.start != ALWAYS.start else ""
    end = f" before {window.end:%Y-%m-%d %H:%M}" if window.end != ALWAYS.end else ""
    return f"all rows{start}{end}"
