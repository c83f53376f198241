"""What a run leaves in the log beside its units: what it covered, what failed, how it ended.

Runs that found nothing new leave it only now and then, so that a log does not grow by looking at it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tailpipe.collect.outcome import Cause, PartitionOutcome
from tailpipe.collect.plan import PartitionPlan
from tailpipe.collect.windows import END_OF_TIME, claimed
from tailpipe.errors import TooManyConflicts
from tailpipe.lake.log import TableLog
from tailpipe.lake.manifest import Failure, RunReport
from tailpipe.lake.state import PartitionState
from tailpipe.lake.transaction import Change, until_committed
from tailpipe.times import day_window, without

KIND = "run"
IDLE_INTERVAL = timedelta(hours=1)


@dataclass(frozen=True)
class Ending:
    """A run over one partition that came to its end; `version` is the last that it saw or committed."""

    plan: PartitionPlan
    outcome: PartitionOutcome
    run: str
    engine: str
    started_at: datetime
    finished_at: datetime
    version: int

    def leave(self, log: TableLog) -> None:
        """Writes the report, on top of whatever other collectors committed meanwhile.

        It only helps later runs to look at less: where others are faster all the time, it is left out.
        """
        if not self._is_worth_it(self.plan.state):
            return
        change = self._change()
        with suppress(TooManyConflicts):
            until_committed(self.plan.target.name, lambda: self._commit(log, change))

    def _commit(self, log: TableLog, change: Change) -> None:
        """What others committed is newer than where this run saw artifacts; a table that is gone stays so."""
        version = log.version(change.partition)
        if version or not self.version:
            log.commit(change if version == self.version else replace(change, artifacts=()), version)

    def _is_worth_it(self, state: PartitionState) -> bool:
        has_failed_units = any(failure.cause is not Cause.UNLISTED for failure in self.outcome.failed)
        if state.version == 0 and not (self.outcome.done or has_failed_units):
            return False
        last = state.last_run
        return (
            bool(self.outcome.done or self.outcome.failed or self.plan.renamed or state.failures)
            or last is None
            or abs(self.finished_at - last.finished_at) >= IDLE_INTERVAL
            or any(listing.doubted for listing in self.plan.listings)
            or any(
                without(windows, state.asked.get(source, ())) for source, windows in self.plan.asked.items()
            )
        )

    def _change(self) -> Change:
        failed = [day_window(failure.day) for failure in self.outcome.failed if failure.day]
        covered = {
            source: claimed(windows, failed, self.started_at)
            for source, windows in self.plan.asked.items()
            if source not in self.plan.unlisted
        }
        failures = tuple(
            Failure(
                failure.label,
                failure.message,
                failure.artifacts,
                self.finished_at,
                self.run,
                failure.day,
                failure.location,
            )
            for failure in self.outcome.failed
        )
        return Change(
            partition=self.plan.target.config.name,
            kind=KIND,
            unit="",
            run=self.run,
            artifacts=self.plan.renamed,
            asked=self.plan.asked,
            covered=covered,
            failures=failures,
            report=self._report(),
        )

    def _report(self) -> RunReport:
        outcome = self.outcome
        window = outcome.window
        return RunReport(
            started_at=self.started_at,
            finished_at=self.finished_at,
            engine=self.engine,
            window_from=window.start,
            window_to=None if window.end == END_OF_TIME else window.end,
            sources=tuple(self.plan.asked),
            is_overwrite=self.plan.is_overwrite,
            units=len(outcome.done),
            failed=len(outcome.failed),
            artifacts=outcome.artifacts,
            size_bytes=sum(unit.size_bytes for unit in outcome.done),
            rows=outcome.rows.read,
            stored=outcome.rows.stored,
            filtered=outcome.rows.left_out,
            rejected=outcome.rows.rejected,
        )
