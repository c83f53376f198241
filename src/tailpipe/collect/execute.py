"""Runs a plan: batches of units become jobs, finished units become commits, failed ones leave nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from tailpipe.collect.events import Watcher
from tailpipe.collect.jobs import batches, common_schema, make_slot, make_write_job, run_job
from tailpipe.collect.messages import engine_message
from tailpipe.collect.outcome import PartitionOutcome, UnitDone, UnitFailed
from tailpipe.collect.plan import Action, PartitionPlan, Unit
from tailpipe.collect.recipes import make_recipes, without_feed
from tailpipe.collect.replacement import remove_replaced
from tailpipe.collect.settle import Limits, judge, whole_failed
from tailpipe.collect.stopping import Stopping, read_together, run_stoppable
from tailpipe.collect.tally import UnitTally, add_facts
from tailpipe.config.reject_limit import RejectLimit
from tailpipe.errors import TailpipeError, UnknownOutcome
from tailpipe.lake.address import TableAddress
from tailpipe.lake.log import Change, TableLog, stored_columns
from tailpipe.lake.manifest import KnownArtifact

if TYPE_CHECKING:
    from tailpipe.engine.session import Session
    from tailpipe.tables.standardise import Recipe


@dataclass
class PartitionRun:
    """One partition's way through the engine. `first_job_seconds` is kept for those who measure."""

    plan: PartitionPlan
    address: TableAddress
    session: Session
    watcher: Watcher
    run_id: str
    now: datetime
    is_embedded: bool = True
    reject_limit: RejectLimit | None = None
    done: list[UnitDone] = field(default_factory=list)
    failed: list[UnitFailed] = field(default_factory=list)
    first_job_seconds: float | None = None

    def execute(self) -> None:
        """Raises ConflictError when another collector was faster; units done before stay done."""
        plan = self.plan
        self.version = plan.state.version
        self.reject_files = list(plan.state.reject_files)
        recipes = make_recipes(plan.target, plan.units, stored_columns(self.address))
        units = plan.units
        for number, error in recipes.errors.items():
            units, failed = without_feed(units, number, error)
            self._fail(failed)
        read = {item.feed for unit in units for item in unit.artifacts}
        self.recipes = {number: recipe for number, recipe in recipes.made.items() if number in read}
        self.log = TableLog(self.address, common_schema(plan.target, self.recipes.values()))
        self.stored = self.log.prepare(self.watcher.waiting_for)
        for batch in batches(units):
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
        tallies = {unit.key: UnitTally(unit, self.run_id, self.now) for unit in units}
        try:
            for number, recipe in self.recipes.items():
                if not stopping.is_requested:
                    self._run_feed(number, recipe, units, tallies, stopping)
        except TailpipeError:
            self._discard(tallies.values())
            raise
        except Exception as error:
            self._discard(tallies.values())
            stopping.raise_interruption()
            self._after_engine_error(units, error)
            return ()
        left: list[Unit] = []
        try:
            while tallies:
                left += self._settle(tallies.pop(next(iter(tallies))))
        except TailpipeError:
            self._discard(tallies.values())
            stopping.raise_interruption()
            raise
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
        target = self.plan.target
        feed = target.feeds[number]
        files = tuple(self.reject_files)
        write = make_write_job(
            target,
            self.address,
            recipe,
            (make_slot(target, feed, unit, item, files) for unit, item in slots),
            self.now,
            self.stored,
        )
        started = time.monotonic()
        artifacts = [item.artifact for _, item in slots]
        facts = run_stoppable(
            lambda spool: run_job(self.session, recipe, feed, write, artifacts, spool, read_together(slots)),
            stopping,
            self.watcher if self.is_embedded else None,
        )
        if self.first_job_seconds is None:
            self.first_job_seconds = time.monotonic() - started
        add_facts(tallies, target, slots, facts, stopping.is_requested)

    def _settle(self, tally: UnitTally) -> tuple[Unit, ...]:
        """What is left of the unit, to be read by another job."""
        if tally.can_be_committed:
            self._remove_replaced(tally)
        limits = Limits(self._known_of_day, self.reject_limit, self.plan.target.config.tp_index)
        verdict = judge(tally, limits)
        if verdict.is_committed:
            self._commit(tally)
        else:
            self._discard([tally])
        self._fail(verdict.failed)
        return verdict.left

    def _known_of_day(self, day: date) -> Sequence[KnownArtifact]:
        return self._known_by_day.get(day, ())

    @cached_property
    def _known_by_day(self) -> dict[date, list[KnownArtifact]]:
        by_day: dict[date, list[KnownArtifact]] = {}
        for known in self.plan.state.artifacts.known():
            if known.span is not None and known.kept:
                by_day.setdefault(known.span.start.date(), []).append(known)
        return by_day

    def _commit(self, tally: UnitTally) -> None:
        try:
            change = self._change(tally)
            self.version = self.log.commit(change, self.version)
        except UnknownOutcome:
            raise
        except TailpipeError:
            self._discard([tally])
            raise
        gone = set(change.removed_rejects)
        self.reject_files = [path for path in self.reject_files if path not in gone] + list(change.rejects)
        done = tally.done()
        self.done.append(done)
        self.watcher.unit_done(self.plan, done)

    def _change(self, tally: UnitTally) -> Change:
        """What is replaced goes in the same commit in which the new comes."""
        gone = tally.replacement
        return Change(
            partition=self.plan.target.config.name,
            kind="overwrite" if self.plan.is_overwrite else "collect",
            unit=tally.unit.key,
            run=self.run_id,
            files=(*tally.files, *gone.files),
            removed=gone.removed,
            rejects=tuple(fact.path for fact in (*tally.rejects, *gone.rejects)),
            removed_rejects=gone.removed_rejects,
            artifacts=tuple(tally.records),
            asked=self.plan.asked,
        )

    def _remove_replaced(self, tally: UnitTally) -> None:
        replaced = [item for item in tally.read.artifacts if item.action is Action.REPLACE]
        try:
            replacement = remove_replaced(
                self.plan.target, self.log, self.reject_files, tally.unit.key, replaced, tally.restarted
            )
        except TailpipeError:
            self._discard([tally])
            raise
        tally.replace(self.plan.target, replacement)

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
            self.watcher.unit_failed(self.plan, failure)

    def _discard(self, tallies: Iterable[UnitTally]) -> None:
        """Files that no commit names are invisible; removing them only frees the room."""
        for tally in tallies:
            self.address.discard(tally.written)
