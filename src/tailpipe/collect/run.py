"""A whole collection: plan every partition, start the engine only if there is work, run, tell."""

from __future__ import annotations

import os
import time
import traceback
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tailpipe.collect.decide import decide
from tailpipe.collect.observe import observe
from tailpipe.collect.outcome import Cause, PartitionOutcome, RunOutcome, UnitDone, UnitFailed, unlisted
from tailpipe.collect.plan import PartitionPlan
from tailpipe.collect.run_report import Ending
from tailpipe.collect.runner import Prepared, Run, Runner, joined
from tailpipe.collect.target import Target
from tailpipe.collect.upkeep import Collected, keep_up
from tailpipe.collect.windows import DEFAULT_LATENESS, DEFAULT_LOOKBACK, AskedWindow, Horizons, wanted_windows
from tailpipe.config.values import WorkspaceConfig
from tailpipe.errors import LakeError, UsageError, told
from tailpipe.lake.catalog import stored_columns
from tailpipe.lake.folder import make_writable
from tailpipe.lake.lifecycle import edge_of, last_run_of, may_expire
from tailpipe.lake.state import PartitionState
from tailpipe.times import Window


def plan_partition(
    target: Target,
    state: PartitionState,
    asked: AskedWindow,
    horizons: Horizons,
    now: datetime,
    is_overwrite: bool = False,
) -> PartitionPlan:
    """Lists the sources and leaves out what the lake has. Reads no log content but parts of files that changed."""
    wanted = [
        wanted_windows(state, feed.source.name, asked, horizons, now, is_overwrite) for feed in target.feeds
    ]
    plan = decide(target, state, wanted, observe(target, state, wanted, now))
    return replace(plan, edge=horizons.edge)


@dataclass(kw_only=True)
class Collection(Run):
    """One `collect`: of which window, whether what is stored is read again, and whether small files are merged.

    The workspace speaks for partitions that say nothing.
    """

    asked: AskedWindow
    workspace: WorkspaceConfig = field(default_factory=WorkspaceConfig)
    is_overwrite: bool = False
    is_compacting: bool = True

    def plan(self) -> tuple[list[PartitionPlan], RunOutcome]:
        """Lists sources and compares with the lake; starts no engine. Partitions that cannot be planned are told in
        the outcome."""
        plans: list[PartitionPlan] = []
        outcomes: list[PartitionOutcome] = []
        for target in self.targets:
            try:
                plans.append(self.plan_target(target))
            except Exception as error:
                outcomes.append(self._broken_off(target, error))
        return plans, RunOutcome(tuple(outcomes))

    def execute(self) -> RunOutcome:
        """Partitions fail alone, whatever the reason; the others are collected."""
        started = time.monotonic()
        make_writable(self.lake)
        with ExitStack() as stack:
            runner = Runner(self, stack)
            try:
                outcomes = tuple(self._collect(runner, target) for target in self.targets)
            finally:
                self.watcher.ended()
        seconds = time.monotonic() - started
        return RunOutcome(outcomes, seconds, runner.timings(seconds), self.engine.name)

    def plan_target(self, target: Target) -> PartitionPlan:
        self.watcher.waiting_for(f"listing {target.name}")
        state = self.log(target).state(target.config.name)
        own, others = target.config, self.workspace
        expire_after = own.expire_after or others.expire_after
        horizons = Horizons(
            own.lookback or others.lookback or DEFAULT_LOOKBACK,
            own.lateness or others.lateness or DEFAULT_LATENESS,
            edge_of(expire_after, self.now, last_run_of([state])) if expire_after else None,
        )
        return plan_partition(target, state, self.asked, horizons, self.now, self.is_overwrite)

    def tell(self, plan: PartitionPlan, unit: UnitDone | UnitFailed) -> None:
        if isinstance(unit, UnitDone):
            self.watcher.unit_done(plan, unit)
        else:
            self.watcher.unit_failed(plan, unit)

    def _collect(self, runner: Runner, target: Target) -> PartitionOutcome:
        """Whatever one partition's run raises is its own failure: the next partition is collected all the same."""
        try:
            limit = target.config.max_rejects or self.workspace.max_rejects
            plan = runner.execute(lambda: self._prepare(target), limit).plan
            assert runner.outcome is not None
            failed = (*unlisted(plan.listings), *runner.outcome.failed)
            outcome = self._leave_report(runner, plan, replace(runner.outcome, failed=failed))
            outcome = self._kept_up(plan, outcome)
        except Exception as error:
            if error is runner.engine_error:
                raise
            outcome = joined(runner.outcome, self._broken_off(target, error))
            self.watcher.partition_broken_off(outcome)
            if not isinstance(error, UsageError):
                self._report_broken_off(runner, target, outcome)
        self.watcher.partition_finished(outcome)
        return outcome

    def _kept_up(self, plan: PartitionPlan, outcome: PartitionOutcome) -> PartitionOutcome:
        edge = plan.edge if plan.edge and may_expire(plan.state, plan.edge) else None
        collected = Collected(self.lake, plan.target, outcome, self.watcher, self.is_compacting, edge)
        return replace(outcome, upkeep=keep_up(collected))

    def _prepare(self, target: Target) -> Prepared:
        plan = self.plan_target(target)
        self.watcher.partition_planned(plan)
        if not plan.units:
            return Prepared(plan)
        # What only jobs need is loaded by runs that have any.
        from tailpipe.collect.recipes import make_recipes, without_unreadable

        stored = stored_columns(self.lake.table(target.config.table))
        recipes, errors = make_recipes(target, plan.units, stored)
        units, failed = without_unreadable(plan.units, errors)
        feeds = {item.feed for unit in units for item in unit.artifacts}
        used = {number: recipe for number, recipe in recipes.items() if number in feeds}
        return Prepared(replace(plan, units=units), used, failed)

    def _report_broken_off(self, runner: Runner, target: Target, outcome: PartitionOutcome) -> None:
        """It claims nothing of what this run wanted, so that the next one wants it again."""
        try:
            state = self.log(target).state(target.config.name)
        except Exception:
            return
        if state.version:
            runner.version = state.version
            self._leave_report(runner, PartitionPlan(target, outcome.window, state, (), ()), outcome)

    def _leave_report(
        self, runner: Runner, plan: PartitionPlan, outcome: PartitionOutcome
    ) -> PartitionOutcome:
        """What was stored stays stored where the report cannot be written; the next run then looks again."""
        run, version = runner.run_id, runner.version
        ending = Ending(plan, outcome, run, self.engine.name, self.now, datetime.now(UTC), version)
        try:
            ending.leave(self.log(plan.target))
        except (LakeError, OSError) as error:
            failure = UnitFailed.of_no_unit(Cause.UNREPORTED, str(error))
            return replace(outcome, failed=(*outcome.failed, failure))
        return outcome

    def _broken_off(self, target: Target, error: Exception) -> PartitionOutcome:
        """The outcome of a partition that could not even be planned."""
        window = Window(self.now, self.now)
        return PartitionOutcome(target.name, window, (), failed=(self.failure(error),))

    def failure(self, error: Exception) -> UnitFailed:
        if self.engine_log is not None:
            with open(os.dup(self.engine_log), "a") as log:
                traceback.print_exception(error, file=log)
        cause = Cause.LAKE if isinstance(error, LakeError) else Cause.UNEXPECTED
        if isinstance(error, UsageError):
            cause = Cause.USAGE
        return UnitFailed.of_no_unit(cause, told(error))
