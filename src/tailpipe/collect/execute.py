"""Runs a plan: batches of units become jobs, finished units become commits, failed ones leave nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING

from tailpipe.collect.events import Watcher
from tailpipe.collect.jobs import batches, common_schema, make_read_job, make_write_job, run_job
from tailpipe.collect.messages import engine_message
from tailpipe.collect.outcome import PartitionOutcome, UnitDone, UnitFailed
from tailpipe.collect.plan import PartitionPlan, Unit
from tailpipe.collect.replacement import remove_replaced
from tailpipe.collect.settle import Limits, judge, whole_failed
from tailpipe.collect.stopping import Stopping, run_stoppable
from tailpipe.collect.tally import UnitTally, add_facts
from tailpipe.config.reject_limit import RejectLimit
from tailpipe.errors import TailpipeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.log import TableLog
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.lake.transaction import Change, Transaction

if TYPE_CHECKING:
    import pyarrow as pa

    from tailpipe.engine.session import Session
    from tailpipe.lake.facts import Fact
    from tailpipe.tables.standardise import Recipe

RETRY = "retry"


@dataclass
class PartitionRun:
    """One partition's way through the engine. `tell` hears of each unit when it is done or has failed.

    `first_job_seconds` is kept for those who measure.
    """

    plan: PartitionPlan
    recipes: Mapping[int, Recipe]
    address: TableAddress
    session: Session
    watcher: Watcher
    tell: Callable[[UnitDone | UnitFailed], None]
    run_id: str
    now: datetime
    is_embedded: bool = True
    reject_limit: RejectLimit | None = None
    done: list[UnitDone] = field(default_factory=list)
    failed: list[UnitFailed] = field(default_factory=list)
    first_job_seconds: float | None = None

    def execute(self) -> None:
        """Raises ConflictError when another process was faster; units done before stay done."""
        self.version = self.plan.state.version
        self.reject_files = list(self.plan.state.reject_files)
        self.log = TableLog(self.address, common_schema(self.plan.target, self.recipes.values()))
        self.stored: dict[str, pa.Field] = self.log.prepare(self.watcher.waiting_for)
        for batch in batches(self.plan.units):
            self._run_all(batch)

    @property
    def outcome(self) -> PartitionOutcome:
        plan = self.plan
        return PartitionOutcome(
            plan.target.name, plan.window, plan.listings, tuple(self.done), tuple(self.failed)
        )

    def _run_all(self, units: tuple[Unit, ...]) -> None:
        may_stop = True
        while units:
            left = self._run_batch(units, may_stop)
            # One that was stopped before it began anything must come to its end the next time.
            may_stop = left != units
            units = left

    def _run_batch(self, units: tuple[Unit, ...], may_stop: bool) -> tuple[Unit, ...]:
        """Commits what was read, and returns what was not: of files without a date the rest, of days all or nothing."""
        stopping = Stopping(may_stop and not any(unit.is_whole for unit in units))
        tallies = {unit.key: UnitTally(self.plan.target, unit, self.run_id, self.now) for unit in units}
        try:
            for number, recipe in self.recipes.items():
                if not stopping.is_requested:
                    self._run_feed(number, recipe, units, tallies, stopping)
        except Exception as error:
            self._discard(tallies.values())
            if isinstance(error, TailpipeError):
                raise
            stopping.raise_interruption()
            self._after_engine_error(units, error)
            return ()
        left: list[Unit] = []
        try:
            while tallies:
                left += self._settle(tallies.pop(next(iter(tallies))))
        finally:
            self._discard(tallies.values())
            stopping.raise_interruption()
        return tuple(left)

    def _run_feed(
        self,
        number: int,
        recipe: Recipe,
        units: Sequence[Unit],
        tallies: dict[str, UnitTally],
        stopping: Stopping,
    ) -> None:
        slots = [(unit, item) for unit in units for item in unit.artifacts if item.feed == number]
        if not slots:
            return
        target, address = self.plan.target, self.address.resolved()
        write = make_write_job(
            target, address, recipe, slots, tuple(self.reject_files), self.now, self.stored
        )
        can_stop = self.is_embedded and not any(unit.rejects for unit in units)
        started = time.monotonic()

        def job(spool: str | None) -> list[Fact]:
            read = make_read_job(self.session, target, address, recipe, slots, spool)
            return run_job(self.session, recipe, read, write)

        facts = run_stoppable(job, stopping, self.watcher if can_stop else None)
        if self.first_job_seconds is None:
            self.first_job_seconds = time.monotonic() - started
        add_facts(tallies, slots, facts, stopping.is_requested)

    def _settle(self, tally: UnitTally) -> tuple[Unit, ...]:
        """What is left of the unit, to be read by another job."""
        target = self.plan.target
        with self.log.transaction(self.version) as transaction:
            transaction.wrote(tally.written)
            if tally.can_be_committed:
                files, wrote = self.reject_files, transaction.wrote
                tally.replace(remove_replaced(target, self.log, tally.read, files, tally.restarted, wrote))
            verdict = judge(tally, Limits(self._known_of_day, self.reject_limit, target.config.tp_index))
            if verdict.is_committed:
                self._commit(tally, transaction)
        self._fail(verdict.failed)
        return verdict.left

    def _known_of_day(self, day: date) -> Sequence[KnownArtifact]:
        artifacts = self.plan.state.artifacts
        return artifacts.known(
            artifacts.where(lambda each: bool(each.kept and each.span and each.span.start.date() == day))
        )

    def _commit(self, tally: UnitTally, transaction: Transaction) -> None:
        change = self._change(tally)
        self.version = transaction.commit(change)
        gone = set(change.removed_rejects)
        self.reject_files = [path for path in self.reject_files if path not in gone] + list(change.rejects)
        done = tally.done()
        self.done.append(done)
        self.tell(done)

    def _change(self, tally: UnitTally) -> Change:
        """What is replaced goes in the same commit in which the new comes."""
        gone, plan = tally.replacement, self.plan
        is_retry = tally.unit.rejects is not None
        kind = "overwrite" if plan.is_overwrite else "collect"
        return Change(
            partition=plan.target.config.name,
            kind=RETRY if is_retry else kind,
            unit="" if is_retry else tally.unit.key,
            run=self.run_id,
            files=(*tally.files, *gone.files),
            removed=gone.removed,
            rejects=tuple(fact.path for fact in (*tally.rejects, *gone.rejects)),
            removed_rejects=gone.removed_rejects,
            artifacts=tuple(tally.known.values()),
            asked=plan.asked,
            # Known artifacts would settle them, but in a retry no artifact was read.
            failures=plan.state.failures if is_retry else (),
        )

    def _after_engine_error(self, units: tuple[Unit, ...], error: Exception) -> None:
        """One bad unit must not take its neighbours along: they are tried alone."""
        if len(units) > 1:
            for unit in units:
                self._run_all((unit,))
            return
        self._fail([whole_failed(units[0], engine_message(error))])

    def _fail(self, failures: Iterable[UnitFailed]) -> None:
        for failure in failures:
            self.failed.append(failure)
            self.tell(failure)

    def _discard(self, tallies: Iterable[UnitTally]) -> None:
        """Files that no commit names are invisible; removing them only frees the room."""
        for tally in tallies:
            self.address.discard(tally.written)
