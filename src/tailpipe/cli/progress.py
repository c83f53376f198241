"""What a run shows while it goes on: a live display in a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from tailpipe.cli.diagnostics import is_logged, log
from tailpipe.cli.interruption import Interrupted, before_giving_up
from tailpipe.cli.terminal import counted, note, seconds, size
from tailpipe.collect.events import Watcher
from tailpipe.collect.outcome import PartitionOutcome, UnitDone, UnitFailed
from tailpipe.collect.plan import PartitionPlan
from tailpipe.collect.spool import Counts
from tailpipe.errors import TailpipeError
from tailpipe.query.widths import escape_controls

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table


_STOPPING = "stopping: files that are being read are read to their end and kept; Ctrl-C again ends at once …"


@contextmanager
def make_watcher(is_shown: bool) -> Iterator[Silence]:
    """Whoever hears of an early end hears what is kept."""
    with _shown(is_shown) as watcher:
        try:
            yield watcher
        except Interrupted as interrupted:
            interrupted.kept = _kept_words(watcher)
            raise
        except TailpipeError:
            if watcher.units_kept:
                note(_kept_words(watcher))
            raise


@contextmanager
def _shown(is_shown: bool) -> Iterator[Silence]:
    if is_logged("info"):
        yield PlainLines(partial(log, "info"))
    elif not is_shown:
        yield Silence()
    elif sys.stderr.isatty():
        display = LiveDisplay()
        with before_giving_up(display.erase):
            try:
                display.start()
                yield display
            finally:
                display.ended()
    else:
        yield PlainLines(note)


class Silence(Watcher):
    """Shows nothing, but counts what is kept for good."""

    units_kept = 0
    rows_kept = 0

    def unit_done(self, plan: PartitionPlan, unit: UnitDone) -> None:
        self.units_kept += 1
        self.rows_kept += unit.rows.stored


class _Telling(Silence):
    """Tells what nobody may miss."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def partition_broken_off(self, outcome: PartitionOutcome) -> None:
        self._tell(_broken_off_words(outcome))

    def stopping(self) -> None:
        self._tell(_STOPPING)

    def planning_again(self, reason: str) -> None:
        self._tell(reason)


class PlainLines(_Telling):
    """One line per event, for logs."""

    def waiting_for(self, what: str) -> None:
        self._tell(f"{what} …")

    def partition_planned(self, plan: PartitionPlan) -> None:
        if plan.units:
            work = f"{counted(len(plan.units), 'unit')}, {counted(plan.artifact_count, 'artifact')}"
            self._tell(f"{plan.target.name}: {work}, {size(plan.size_bytes)}")
        else:
            self._tell(f"{plan.target.name}: nothing new")

    def unit_done(self, plan: PartitionPlan, unit: UnitDone) -> None:
        super().unit_done(plan, unit)
        self._tell(f"{plan.target.name} {unit.unit.label}: {_unit_words(unit)}")

    def unit_failed(self, plan: PartitionPlan, failure: UnitFailed) -> None:
        self._tell(escape_controls(f"{plan.target.name} {failure.label}: failed: {failure.message}"))


class LiveDisplay(_Telling):
    """Two lines that change in place: what is going on, and how far it is."""

    def __init__(self) -> None:
        from rich.live import Live

        self._waiting = "reading the configuration"
        self._plan: PartitionPlan | None = None
        self._done = Counts()
        self._running = Counts()
        self._days: set[str] = set()
        self._units = self._lines = 0
        self._since = self._started = time.monotonic()
        # Last, because it renders at once.
        self._live: Live = Live(
            console=_console(), get_renderable=self._render, refresh_per_second=8, transient=True
        )
        super().__init__(partial(self._live.console.print, markup=False, highlight=False))

    def start(self) -> None:
        self._live.start()

    def ended(self) -> None:
        try:
            self._live.stop()
        except BaseException:
            self.erase()
            raise
        self._lines = 0

    def erase(self) -> None:
        """Takes what is shown off the terminal without a lock: whoever is drawing may never end."""
        if self._lines:
            os.write(sys.stderr.fileno(), b"\r\x1b[2K" + b"\x1b[1A\x1b[2K" * (self._lines - 1))

    def waiting_for(self, what: str) -> None:
        self._waiting = what
        self._since = time.monotonic()

    def partition_planned(self, plan: PartitionPlan) -> None:
        self._plan = plan
        self._done = self._running = Counts()
        self._days, self._units = set(), 0
        self._started = time.monotonic()

    def counted(self, counts: Counts) -> None:
        self._waiting = ""
        self._running = counts

    def unit_done(self, plan: PartitionPlan, unit: UnitDone) -> None:
        super().unit_done(plan, unit)
        self._done += Counts(len(unit.unit.artifacts), unit.size_bytes, unit.rows.read)
        self._running = Counts()
        self._days |= unit.days
        self._units += 1

    def unit_failed(self, plan: PartitionPlan, failure: UnitFailed) -> None:
        self._tell(f"{plan.target.name} {failure.label}: failed: {failure.message}")

    def partition_finished(self, outcome: PartitionOutcome) -> None:
        self._plan = None

    def _render(self) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.spinner import Spinner
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1))
        name = self._plan.target.name if self._plan else ""
        if self._waiting or self._plan is None:
            elapsed = seconds(time.monotonic() - self._since)
            words = f"{name}  {self._waiting} … {elapsed}".strip()
            grid.add_row(Spinner("dots"), Text(words, no_wrap=True, overflow="ellipsis"))
            self._lines = 1
            return grid
        now = self._done + self._running
        bar = ProgressBar(total=max(1, self._plan.size_bytes), completed=now.size_bytes, width=30)
        head = Table.grid(padding=(0, 1))
        head.add_row(Text(name, no_wrap=True, overflow="ellipsis"), bar)
        grid.add_row(Spinner("dots"), head)
        grid.add_row("", Text(self._counts_words(now), no_wrap=True, overflow="ellipsis"))
        self._lines = 2
        return grid

    def _counts_words(self, now: Counts) -> str:
        assert self._plan is not None
        elapsed = time.monotonic() - self._started
        rate = f"{now.rows / elapsed:,.0f} rows/s" if elapsed > 0.5 else ""
        return (
            f"{now.artifacts:,}/{self._plan.artifact_count:,} artifacts  "
            f"{size(now.size_bytes)}/{size(self._plan.size_bytes)}  {now.rows:,} rows read, "
            f"{self._done.rows:,} of them safe ({counted(len(self._days), 'day')})  {rate}"
        )


def _console() -> Console:
    """On standard error, and one that never hides the cursor: nobody would show it again after a sudden end."""
    from rich.console import Console

    class CursorStays(Console):
        def show_cursor(self, show: bool = True) -> bool:
            return False

    return CursorStays(stderr=True)


def _kept_words(watcher: Silence) -> str:
    if not watcher.units_kept:
        return "Nothing was committed yet: run the same command again."
    units, rows = counted(watcher.units_kept, "unit"), counted(watcher.rows_kept, "row")
    return f"{units} with {rows} committed in this run and kept. The next run takes up the rest."


def _broken_off_words(outcome: PartitionOutcome) -> str:
    lines = outcome.failed[-1].message.splitlines()
    return "\n".join(map(escape_controls, (f"{outcome.name}: failed: {lines[0]}", *lines[1:])))


def _unit_words(unit: UnitDone) -> str:
    words = f"{counted(unit.rows.stored, 'row')} stored"
    words += f", {unit.rows.left_out:,} filtered" if unit.rows.left_out else ""
    words += f", {unit.rows.rejected:,} rejected" if unit.rows.rejected else ""
    return f"{words} from {counted(len(unit.unit.artifacts), 'artifact')}"
