"""What `collect` and `rejects retry` share: one session for all partitions, and plans that are made again when another
process commits first."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from tailpipe.collect.events import Watcher
from tailpipe.collect.outcome import PartitionOutcome, UnitDone, UnitFailed
from tailpipe.collect.plan import PartitionPlan
from tailpipe.collect.target import Target
from tailpipe.config.reject_limit import RejectLimit
from tailpipe.engine.session import Session, open_session
from tailpipe.engine.settings import EngineSettings
from tailpipe.errors import ConflictError
from tailpipe.lake.address import Lake
from tailpipe.lake.log import TYPE_KEY, TableLog
from tailpipe.lake.transaction import Attempts
from tailpipe.tables.stored_schema import table_schema

if TYPE_CHECKING:
    from tailpipe.tables.standardise import Recipe


@dataclass(kw_only=True)
class Run:
    """Which partitions, in which lake, on which engine.

    `open_engine` is called when the first unit needs a session; the session ends with the run.
    """

    targets: Sequence[Target]
    lake: Lake
    engine: EngineSettings
    now: datetime
    watcher: Watcher
    engine_log: int | None = None
    open_engine: Callable[[EngineSettings, int | None], AbstractContextManager[Session]] = open_session
    _logs: dict[str, TableLog] = field(default_factory=dict, init=False)

    def log(self, target: Target) -> TableLog:
        """One for each table: to open a table takes many times longer than to look for what is new in it."""
        name = target.config.table
        if name not in self._logs:
            self._logs[name] = TableLog(self.lake.table(name), table_schema(target.table, TYPE_KEY))
        return self._logs[name]

    def begins(self, plan: PartitionPlan) -> None:
        """The engine is there, and the plan is about to be executed."""

    def tell(self, plan: PartitionPlan, unit: UnitDone | UnitFailed) -> None:
        """A unit of the plan is done, or has failed."""


@dataclass(frozen=True)
class Prepared:
    """A plan with the units that can be read, how their records become rows, and the units that failed for theirs."""

    plan: PartitionPlan
    recipes: Mapping[int, Recipe] = field(default_factory=dict)
    failed: tuple[UnitFailed, ...] = ()


AnyPrepared = TypeVar("AnyPrepared", bound=Prepared)


class Runner:
    """Runs plans one after another. `outcome` is what came of the last partition, also where an error broke it off."""

    def __init__(self, run: Run, stack: ExitStack) -> None:
        self.run_id = uuid.uuid4().hex
        self.outcome: PartitionOutcome | None = None
        self.engine_error: Exception | None = None
        self.version = 0
        self._run = run
        self._stack = stack
        self._session: Session | None = None
        self._engine_start_seconds = 0.0
        self._first_job_seconds = 0.0

    def execute(self, prepare: Callable[[], AnyPrepared], limit: RejectLimit | None = None) -> AnyPrepared:
        """Does what was prepared, and prepares again on top of what another process committed first.

        Without limit while others make progress on the same units.
        """
        self.outcome = None
        prepared = prepare()
        attempts = Attempts(prepared.plan.target.name)
        while True:
            try:
                self._execute_once(prepared, limit)
                return prepared
            except ConflictError as conflict:
                self._run.watcher.planning_again(f"{conflict.message}. Planning again on top of it.")
                left = prepared.plan.artifact_count
                prepared = prepare()
                attempts.conflicted(is_less_left=prepared.plan.artifact_count < left)

    def _execute_once(self, prepared: Prepared, limit: RejectLimit | None) -> None:
        from tailpipe.collect.execute import PartitionRun

        run, plan = self._run, prepared.plan
        for failure in prepared.failed:
            run.tell(plan, failure)
        if not plan.units:
            self._add(PartitionOutcome(plan.target.name, plan.window, plan.listings, failed=prepared.failed))
            self.version = plan.state.version
            return
        execution = PartitionRun(
            plan=plan,
            recipes=prepared.recipes,
            address=run.lake.table(plan.target.config.table),
            session=self._ready_session(),
            watcher=run.watcher,
            tell=lambda unit: run.tell(plan, unit),
            run_id=self.run_id,
            now=run.now,
            is_embedded=run.engine.is_embedded,
            reject_limit=limit,
            failed=list(prepared.failed),
        )
        run.begins(plan)
        try:
            execution.execute()
        finally:
            self._add(execution.outcome)
            self.version = execution.version
            self._first_job_seconds = self._first_job_seconds or execution.first_job_seconds or 0.0

    def _add(self, outcome: PartitionOutcome) -> None:
        """What was done before a conflict stays done."""
        self.outcome = joined(self.outcome, outcome)

    def _ready_session(self) -> Session:
        if self._session is None:
            run = self._run
            run.watcher.waiting_for(f"starting {run.engine.label}")
            started = time.monotonic()
            try:
                self._session = self._stack.enter_context(run.open_engine(run.engine, run.engine_log))
            except Exception as error:
                self.engine_error = error
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


def joined(earlier: PartitionOutcome | None, later: PartitionOutcome) -> PartitionOutcome:
    if earlier is None:
        return later
    return replace(later, done=earlier.done + later.done, failed=earlier.failed + later.failed)
