"""A whole collection: plan every partition, start the engine only if there is work, run, tell."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from tailpipe.collect.events import Watcher
from tailpipe.collect.limits import RejectLimit, parse_reject_limit
from tailpipe.collect.outcome import UNLISTED, UNRECORDED, PartitionOutcome, RunOutcome, UnitFailed
from tailpipe.collect.plan import PartitionPlan, plan_partition
from tailpipe.collect.record import Ending
from tailpipe.collect.target import Target
from tailpipe.collect.windows import DEFAULT_LATENESS, DEFAULT_LOOKBACK, AskedWindow, Horizons
from tailpipe.config.values import PartitionConfig
from tailpipe.engine.session import Session, open_session
from tailpipe.engine.settings import EngineSettings
from tailpipe.errors import ConflictError, LakeError, SourceError
from tailpipe.lake.layout import table_location
from tailpipe.lake.log import TYPE_KEY, TableLog
from tailpipe.tables.shape import table_schema
from tailpipe.times import Window, parse_lookback

MAX_ATTEMPTS = 5


@dataclass(frozen=True)
class Defaults:
    """What the workspace says for partitions that say nothing."""

    lookback: str | None = None
    lateness: str | None = None
    max_rejects: str | None = None

    def horizons(self, partition: PartitionConfig) -> Horizons:
        lookback = partition.lookback or self.lookback or DEFAULT_LOOKBACK
        lateness = partition.lateness or self.lateness or DEFAULT_LATENESS
        return Horizons(parse_lookback(lookback), parse_lookback(lateness))

    def reject_limit(self, partition: PartitionConfig) -> RejectLimit | None:
        text = partition.max_rejects or self.max_rejects
        return parse_reject_limit(text) if text else None


@dataclass
class Collection:
    """One `collect`: which partitions, of which window, into which lake, on which engine.

    `open_engine` is called when the first unit needs a session; the session ends with the run.
    """

    targets: Sequence[Target]
    data_dir: Path
    asked: AskedWindow
    engine: EngineSettings
    now: datetime
    watcher: Watcher
    defaults: Defaults = field(default_factory=Defaults)
    is_overwrite: bool = False
    engine_log: Path | None = None
    open_engine: Callable[[EngineSettings, Path | None], AbstractContextManager[Session]] = open_session

    def plan(self) -> list[PartitionPlan]:
        """Lists sources and compares with the lake; starts no engine."""
        return [self.plan_target(target) for target in self.targets]

    def execute(self) -> RunOutcome:
        """Partitions whose source cannot be listed fail alone; the others are collected."""
        started = time.monotonic()
        self._check_writable()
        with ExitStack() as stack:
            runner = _Runner(self, stack)
            outcomes = tuple(runner.collect(target) for target in self.targets)
        seconds = time.monotonic() - started
        return RunOutcome(outcomes, seconds, runner.timings(seconds), self.engine.name)

    def plan_target(self, target: Target) -> PartitionPlan:
        self.watcher.waiting_for(f"listing {target.name}")
        state = self.log(target).state(target.config.name)
        horizons = self.defaults.horizons(target.config)
        return plan_partition(target, state, self.asked, horizons, self.now, self.is_overwrite)

    def log(self, target: Target) -> TableLog:
        return TableLog(self.location(target), table_schema(target.table, TYPE_KEY))

    def _check_writable(self) -> None:
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.data_dir):
                pass
        except OSError as error:
            raise LakeError(
                f"{self.data_dir}: the workspace cannot be written: {error.strerror or error}",
                hint="set data_dir in the workspace block or TAILPIPE_INSTALL_DIR to a folder you may write",
            ) from error

    def location(self, target: Target) -> str:
        return str(table_location(self.data_dir, target.config.table))


class _Runner:
    """Runs plans one after another in one session, which starts when the first unit needs it."""

    def __init__(self, collection: Collection, stack: ExitStack) -> None:
        self._collection = collection
        self._stack = stack
        self._session: Session | None = None
        self._engine_start_seconds = 0.0
        self._first_job_seconds = 0.0
        self._run_id = uuid.uuid4().hex

    def collect(self, target: Target) -> PartitionOutcome:
        try:
            plan = self._collection.plan_target(target)
        except SourceError as error:
            return self._unlisted(target, error)
        return self._run(plan)

    def _unlisted(self, target: Target, error: SourceError) -> PartitionOutcome:
        failure = UnitFailed(UNLISTED, 0, str(error))
        window = Window(self._collection.now, self._collection.now)
        outcome = PartitionOutcome(target.name, window, (), failed=(failure,))
        state = self._collection.log(target).state(target.config.name)
        if state.version:
            outcome = self._leave_record(PartitionPlan(target, window, state, (), ()), outcome)
        self._collection.watcher.partition_finished(outcome)
        return outcome

    def _leave_record(self, plan: PartitionPlan, outcome: PartitionOutcome) -> PartitionOutcome:
        """What was stored stays stored where the record cannot be written; the next run then looks again."""
        collection = self._collection
        ending = Ending(
            plan, outcome, self._run_id, collection.engine.name, collection.now, datetime.now(UTC)
        )
        try:
            ending.leave(collection.log(plan.target))
        except LakeError as error:
            failure = UnitFailed(UNRECORDED, 0, str(error))
            return replace(outcome, failed=(*outcome.failed, failure))
        return outcome

    def _run(self, plan: PartitionPlan) -> PartitionOutcome:
        """Plans again, on top of what the other one committed, when another collector was faster.

        Where the other one takes work off this one, it may be faster as often as it likes.
        """
        watcher = self._collection.watcher
        done: PartitionOutcome | None = None
        attempts = 0
        while attempts < MAX_ATTEMPTS:
            watcher.partition_planned(plan)
            try:
                outcome = self._leave_record(plan, _joined(done, self._run_once(plan)))
                watcher.partition_finished(outcome)
                return outcome
            except _Overtaken as overtaken:
                done = _joined(done, overtaken.outcome)
                watcher.planning_again(f"{overtaken.conflict.message}. Planning again on top of it.")
                left = plan.artifact_count
                plan = self._collection.plan_target(plan.target)
                attempts = attempts + 1 if plan.artifact_count >= left else 0
        raise LakeError(
            f"{plan.target.name}: other collectors were faster {MAX_ATTEMPTS} times",
            hint="run again when they are done; nothing was lost and nothing was stored twice",
        )

    def _run_once(self, plan: PartitionPlan) -> PartitionOutcome:
        from tailpipe.collect.execute import PartitionRun

        if not plan.units:
            return PartitionOutcome(plan.target.name, plan.window, plan.listings)
        run = PartitionRun(
            plan=plan,
            location=self._collection.location(plan.target),
            session=self._ready_session(),
            watcher=self._collection.watcher,
            run_id=self._run_id,
            now=self._collection.now,
            is_embedded=self._collection.engine.is_embedded,
            reject_limit=self._collection.defaults.reject_limit(plan.target.config),
        )
        try:
            return run.execute()
        except ConflictError as conflict:
            raise _Overtaken(conflict, run.outcome()) from conflict
        finally:
            self._first_job_seconds = self._first_job_seconds or run.first_job_seconds or 0.0

    def _ready_session(self) -> Session:
        if self._session is None:
            collection = self._collection
            collection.watcher.waiting_for(f"starting {collection.engine.label}")
            started = time.monotonic()
            self._session = self._stack.enter_context(
                collection.open_engine(collection.engine, collection.engine_log)
            )
            self._engine_start_seconds = time.monotonic() - started
        return self._session

    def timings(self, seconds: float) -> dict[str, float]:
        rest = seconds - self._engine_start_seconds - self._first_job_seconds
        return {
            "engine_start_seconds": round(self._engine_start_seconds, 3),
            "first_job_seconds": round(self._first_job_seconds, 3),
            "rest_seconds": round(rest, 3),
        }


class _Overtaken(Exception):
    """Another collector committed first; `outcome` is what this run had committed before."""

    def __init__(self, conflict: ConflictError, outcome: PartitionOutcome) -> None:
        super().__init__(conflict.message)
        self.conflict = conflict
        self.outcome = outcome


def _joined(earlier: PartitionOutcome | None, later: PartitionOutcome) -> PartitionOutcome:
    if earlier is None:
        return later
    return replace(later, done=earlier.done + later.done, failed=earlier.failed + later.failed)
