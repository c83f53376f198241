"""`tailpipe compact`: merge small files, and give rows the index that is configured now."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from tailpipe.cli.arguments import add_output, add_partitions, add_switch, add_window
from tailpipe.cli.compaction_report import Report, exit_code, print_reports
from tailpipe.cli.interruption import Interrupted, interruptible
from tailpipe.cli.progress import make_watcher
from tailpipe.cli.selection import chosen_partitions, whole_window
from tailpipe.cli.setup import Setup, load_setup
from tailpipe.cli.terminal import counted, note, size
from tailpipe.errors import LakeError
from tailpipe.lake.catalog import list_tables
from tailpipe.lake.compaction import (
    ASKED,
    Compaction,
    DayCompacted,
    DayFailed,
    DayPlan,
    Planner,
    compact_days,
    plan_days,
)
from tailpipe.lake.log import TableLog
from tailpipe.lake.reindexing import find_index, plan_reindexing
from tailpipe.lake.removal import LiveFile
from tailpipe.partition_names import Key
from tailpipe.times import Window, day_window

HELP = "Merge small files of days into large ones, sorted by time."

_EXAMPLES = """
examples:
  tailpipe compact                                       every partition
  tailpipe compact aws_cloudtrail_log.prod --from T-30d  days of the last month
  tailpipe compact nginx_access_log.* --reindex          rows get the tp_index that is configured now
  tailpipe compact --dry-run                             show what would be merged
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add_partitions(parser)
    add_window(
        parser, "the first day, such as 2024-01-31 or T-30d", "the last day; a day is merged as a whole"
    )
    reindex = "move rows to the tp_index that is configured now"
    parser.add_argument("--reindex", action="store_true", help=reindex)
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be merged, and change nothing"
    )
    add_switch(parser, "--progress", "show progress on standard error (default: true)")
    add_output(parser, "how the summary is printed")


def run(arguments: argparse.Namespace) -> int:
    setup = load_setup(arguments, needs_config=arguments.reindex, writes=not arguments.dry_run)
    started = time.monotonic()
    work = _Work(
        setup,
        whole_window(arguments, setup.now),
        arguments.partitions,
        is_reindexing=arguments.reindex,
        is_dry=arguments.dry_run,
    )
    try:
        with interruptible(), make_watcher(is_shown=arguments.progress != "false") as watcher:
            reports = [work.report(key, watcher.waiting_for) for key in work.chosen()]
            watcher.ended()
    except Interrupted as interrupted:
        interrupted.kept = work.kept_words
        raise
    print_reports(reports, arguments.output, time.monotonic() - started)
    return exit_code(reports, is_whole=not work.unreadable)


@dataclass
class _Work:
    setup: Setup
    window: Window
    words: list[str]
    is_reindexing: bool
    is_dry: bool
    logs: dict[str, TableLog] = field(default_factory=dict)
    files: dict[Key, list[LiveFile]] = field(default_factory=dict)
    days_done: int = 0
    unreadable: bool = False

    def chosen(self) -> list[Key]:
        """Partitions that have files, or are configured; a table that cannot be read costs itself."""
        for table in list_tables(self.setup.lake):
            try:
                self._open(table)
            except LakeError as error:
                note(str(error))
                self.unreadable = True
        configured = (*self.setup.partitions, *self.setup.broken_partitions)
        chosen = chosen_partitions(self.words, dict.fromkeys((*configured, *self.files)))
        stored = [key for key in chosen if key in self.files]
        return self._reindexable(stored, configured) if self.is_reindexing and not self.words else stored

    def _reindexable(self, stored: list[Key], configured: Sequence[Key]) -> list[Key]:
        """Other machines may collect into the same lake: what nobody named and only they know is left to them."""
        known = [key for key in stored if key in configured]
        if known and len(known) < len(stored):
            names = ", ".join(".".join(key) for key in stored if key not in known)
            note(f"left alone, because they are not configured here: {names}")
        return known or stored

    def _open(self, table: str) -> None:
        log = TableLog(self.setup.lake.table(table), pa.schema([]))
        log.refresh()
        for file in log.live_files():
            self.files.setdefault((table, file.partition_values["tp_partition"]), []).append(file)
        self.logs[table] = log

    def report(self, key: Key, waiting_for: Callable[[str], None]) -> Report:
        """Whatever fails of a partition is its own failure."""
        name, log = ".".join(key), self.logs[key[0]]
        try:
            waiting_for(f"looking at {name}")
            plan = self._planner(key, log)
            plans = plan(self._wanted(key))
        except LakeError as error:
            return Report(name, failed=(DayFailed(None, str(error)),))
        if self.is_dry:
            return Report(name, plans=tuple(plans))

        def begins(day: DayPlan) -> None:
            files = f"{counted(len(day.files), 'file')}, {size(day.size_bytes)}"
            waiting_for(f"compacting {name} {day.day} ({files})")

        results = []
        for result in compact_days(log, plans, plan, begins):
            results.append(result)
            self.days_done += isinstance(result, DayCompacted)
        compaction = Compaction.of(results)
        return Report(name, compaction.done, compaction.failed)

    def _wanted(self, key: Key) -> list[LiveFile]:
        files = self.files[key]
        days = {day for day in {file.day for file in files} if self.window.overlaps(day_window(day))}
        return [file for file in files if file.day in days]

    def _planner(self, key: Key, log: TableLog) -> Planner:
        if not self.is_reindexing:
            return partial(plan_days, ASKED)
        config = self.setup.partitions.get(key)
        if config is None:
            what = "configured with problems" if key in self.setup.broken_partitions else "not configured"
            raise LakeError(f"it is {what}, so nothing says which index its rows have")
        return partial(plan_reindexing, log.address, find_index(config.tp_index, log.stored_schema()), ASKED)

    @property
    def kept_words(self) -> str:
        if not self.days_done:
            return "Nothing was changed."
        return f"{counted(self.days_done, 'day')} compacted and kept; of the others nothing was changed."
