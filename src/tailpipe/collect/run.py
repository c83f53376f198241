"""A whole collection: plan every partition, start the engine only if there is work, run, tell."""

from __future__ import annotations

import os
import time
import traceback
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tailpipe.collect.events import Watcher
from tailpipe.collect.outcome import (
    LAKE,
    UNEXPECTED,
    UNRECORDED,
    USAGE,
    PartitionOutcome,
    RunOutcome,
    UnitFailed,
    unlisted,
)
from tailpipe.collect.plan import PartitionPlan
from tailpipe.collect.planning import plan_partition
from tailpipe.collect.run_report import Ending
from tailpipe.collect.target import Target
from tailpipe.collect.windows import DEFAULT_LATENESS, DEFAULT_LOOKBACK, AskedWindow, Horizons
from tailpipe.config.reject_limit import RejectLimit
from tailpipe.config.values import PartitionConfig
from tailpipe.engine.session import Session, open_session
from tailpipe.engine.settings import EngineSettings
from tailpipe.errors import ConflictError, LakeError, TailpipeError, UsageError, system_message
from tailpipe.lake.address import Lake
from tailpipe.lake.folder import make_writable
from tailpipe.lake.log import TYPE_KEY, TableLog
from tailpipe.tables.stored_schema import table_schema
from tailpipe.times import Lookback, Window

MAX_ATTEMPTS = 5


@dataclass(frozen=True)
class Defaults:
    """What the workspace says for partitions that say nothing."""

    lookback: Lookback | None = None
    lateness: Lookback | None = None
    max_rejects: RejectLimit | None = None

    def horizons(self, partition: PartitionConfig) -> Horizons:
        lookback = partition.lookback or self.lookback or DEFAULT_LOOKBACK
        lateness = partition.lateness or self.lateness or DEFAULT_LATENESS
        return Horizons(lookback, lateness)

    def reject_limit(self, partition: PartitionConfig) -> RejectLimit | None:
        return partition.max_rejects or self.max_rejects


@dataclass
class Collection:
    """One `collect`: which partitions, of which window, into which lake, on which engine.

    `open_engine` is called when the first unit needs a session; the session ends with the run.
    """

    targets: Sequence[Target]
    lake: Lake
    asked: AskedWindow
    engine: EngineSettings
    now: datetime
    watcher: Watcher
    defaults: Defaults = field(default_factory=Defaults)
    is_overwrite: bool = False
    engine_log: int | None = None
    open_engine: Callable[[EngineSettings, int | None], AbstractContextManager[Session]] = open_session

    def plan(self) -> tuple[list[PartitionPlan], RunOutcome]:
        """Lists sources and compares with the lake; starts no engine. Partitions that cannot be planned are told in
        the outcome."""
        plans: list[PartitionPlan] = []
        outcomes: list[PartitionOutcome] = []
        for target in self.targets:
            try:
                plans.append(self.plan_target(target))
            except Exception as error:
                outcomes.append(self.broken_off(target, error))
        return plans, RunOutcome(tuple(outcomes))

    def execute(self) -> RunOutcome:
        """Partitions fail alone, whatever the reason; the others are collected."""
        started = time.monotonic()
        make_writable(self.lake)
        with ExitStack() as stack:
            runner = _Runner(self, stack)
            try:
                outcomes = tuple(runner.collect(target) for target in self.targets)
            finally:
                self.watcher.ended()
        seconds = time.monotonic() - started
        return RunOutcome(outcomes, seconds, runner.timings(seconds), self.engine.name)

    def plan_target(self, target: Target) -> PartitionPlan:
        self.watcher.waiting_for(f"listing {target.name}")
        state = self.log(target).state(target.config.name)
        horizons = self.defaults.horizons(target.config)
        return plan_partition(target, state, self.asked, horizons, self.now, self.is_overwrite)

    def log(self, target: Target) -> TableLog:
        return TableLog(self.lake.table(target.config.table), table_schema(target.table, TYPE_KEY))

    def broken_off(self, target: Target, error: Exception) -> PartitionOutcome:
        """The outcome of a partition that could not even be planned."""
        window = Window(self.now, self.now)
        return PartitionOutcome(target.name, window, (), failed=(self.failure(error),))

    def failure(self, error: Exception) -> UnitFailed:
        if self.engine_log is not None:
            with open(os.dup(self.engine_log), "a") as log:
                traceback.print_exception(error, file=log)
        if isinstance(error, UsageError):
            return UnitFailed(USAGE, 0, str(error))
        if isinstance(error, TailpipeError):
            return UnitFailed(LAKE if isinstance(error, LakeError) else UNEXPECTED, 0, str(error))
        if isinstance(error, OSError):
            return UnitFailed(UNEXPECTED, 0, system_message(error))
        message = f"unexpected {type(error).__name__}: {error}"
        return UnitFailed(UNEXPECTED, 0, f"{message}\nhint: run with --debug to see where, and report it")


class _Runner:
    """Runs plans one after another in one session, which starts when the first unit needs it."""

    def __init__(self, collection: Collection, stack: ExitStack) -> None:
        self._collection = collection
        self._stack = stack
        self._session: Session | None = None
        self._engine_error: Exception | None = None
        self._engine_start_seconds = 0.0
        self._first_job_seconds = 0.0
        self._run_id = uuid.uuid4().hex

    def collect(self, target: Target) -> PartitionOutcome:
        """Whatever one partition's run raises is its own failure: the next partition is collected all the same."""
        self._done: PartitionOutcome | None = None
        try:
            outcome = self._run(self._collection.plan_target(target))
        except Exception as error:
            if error is self._engine_error:
                raise
            outcome = self._broken_off(target, error)
        self._collection.watcher.partition_finished(outcome)
        return outcome

    def _broken_off(self, target: Target, error: Exception) -> PartitionOutcome:
        """The record claims nothing of what this run wanted, so that the next one wants it again.

        A command that asks for nothing leaves none.
        """
        outcome = _joined(self._done, self._collection.broken_off(target, error))
        self._collection.watcher.partition_broken_off(outcome)
        if isinstance(error, UsageError):
            return outcome
        try:
            state = self._collection.log(target).state(target.config.name)
        except Exception:
            return outcome
        if state.version:
            self._leave_record(PartitionPlan(target, outcome.window, state, (), ()), outcome)
        return outcome

    def _leave_record(self, plan: PartitionPlan, outcome: PartitionOutcome) -> PartitionOutcome:
        """What was stored stays stored where the record cannot be written; the next run then looks again."""
        collection = self._collection
        ending = Ending(
            plan, outcome, self._run_id, collection.engine.name, collection.now, datetime.now(UTC)
        )
        try:
            ending.leave(collection.log(plan.target))
        except (LakeError, OSError) as error:
            failure = UnitFailed(UNRECORDED, 0, str(error))
            return replace(outcome, failed=(*outcome.failed, failure))
        return outcome

    def _run(self, plan: PartitionPlan) -> PartitionOutcome:
        """Plans again, on top of what the other one committed, when another collector was faster.

        Where the other one takes work off this one, it may be faster as often as it likes.
        """
        watcher = self._collection.watcher
        attempts = 0
        while attempts < MAX_ATTEMPTS:
            watcher.partition_planned(plan)
            try:
                self._run_once(plan)
                outcome = self._done or _nothing(plan)
                failed = (*unlisted(plan.listings), *outcome.failed)
                return self._leave_record(plan, replace(outcome, failed=failed))
            except ConflictError as conflict:
                watcher.planning_again(f"{conflict.message}. Planning again on top of it.")
                left = plan.artifact_count
                plan = self._collection.plan_target(plan.target)
                attempts = attempts + 1 if plan.artifact_count >= left else 0
        raise LakeError(
            f"{plan.target.name}: other collectors were faster {MAX_ATTEMPTS} times",
            hint="run again when they are done; nothing was lost and nothing was stored twice",
        )

    def _run_once(self, plan: PartitionPlan) -> None:
        """What was done before an error is kept in the lake and in `_done`."""
        from tailpipe.collect.execute import PartitionRun

        if not plan.units:
            self._done = _joined(self._done, _nothing(plan))
            return
        run = PartitionRun(
            plan=plan,
            address=self._collection.lake.table(plan.target.config.table),
            session=self._ready_session(),
            watcher=self._collection.watcher,
            run_id=self._run_id,
            now=self._collection.now,
            is_embedded=self._collection.engine.is_embedded,
            reject_limit=self._collection.defaults.reject_limit(plan.target.config),
        )
        try:
            run.execute()
        finally:
            self._done = _joined(self._done, run.outcome)
            self._first_job_seconds = self._first_job_seconds or run.first_job_seconds or 0.0

    def _ready_session(self) -> Session:
        if self._session is None:
            collection = self._collection
            collection.watcher.waiting_for(f"starting {collection.engine.label}")
            started = time.monotonic()
            try:
                self._session = self._stack.enter_context(
                    collection.open_engine(collection.engine, collection.engine_log)
                )
            except Exception as error:
                self._engine_error = error
                raise
            self._engine_start_seconds = time.monotonic() - started
        return self._session

    def timings(self, seconds: float) -> dict[str, float]:
        rest = seconds - self._engine_start_seconds - self._first_job_seconds
        return {
            "engine_start_seconds": round(self._engine_start_seconds, 3),
            "first_job_seconds": round(self._first_job_seconds, 3),
            "rest_seconds": round(rest, 3),
        }


def _nothing(plan: PartitionPlan) -> PartitionOutcome:
    return PartitionOutcome(plan.target.name, plan.window, plan.listings)


def _joined(earlier: PartitionOutcome | None, later: PartitionOutcome) -> PartitionOutcome:
    if earlier is None:
        return later
    return replace(later, done=earlier.done + later.done, failed=earlier.failed + later.failed)
