"""Rejects are tried again as the configuration is now: what becomes a row is stored, the rest stays in quarantine.

Rows come and rejects go in one commit per partition, so that a record is never in both places or in none.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from tailpipe.collect.background import run_watched
from tailpipe.collect.events import Watcher
from tailpipe.collect.jobs import PACKS_PER_CORE, common_schema, make_write_job, run_packs
from tailpipe.collect.messages import engine_message
from tailpipe.collect.outcome import Rows
from tailpipe.collect.retry_fields import FieldsUnknown, retry_recipe
from tailpipe.collect.retry_plan import UNIT, Left, RetryPlan, plan_retry
from tailpipe.collect.retry_reading import RetryJob
from tailpipe.collect.retry_tally import RetryTally
from tailpipe.collect.target import Target
from tailpipe.engine.session import Session, open_session
from tailpipe.engine.settings import EngineSettings
from tailpipe.errors import ConflictError, LakeError, TailpipeError, UnknownOutcome
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.log import TYPE_KEY, Change, TableLog, stored_columns
from tailpipe.lake.quarantine import ReasonCount, count_reasons
from tailpipe.lake.removal import remove_rejects
from tailpipe.tables.standardise import reading_format
from tailpipe.tables.stored_schema import column_types, table_schema
from tailpipe.times import Window

if TYPE_CHECKING:
    from tailpipe.lake.facts import Fact
    from tailpipe.tables.standardise import Recipe

KIND = "retry"
MAX_ATTEMPTS = 5


@dataclass(frozen=True)
class RetryOutcome:
    """`rows.read` are the rejects that were tried. `remaining` is what lies in quarantine now, whenever rejected.

    `failure` tells why nothing was changed.
    """

    name: str
    rows: Rows = field(default_factory=Rows)
    days: frozenset[str] = frozenset()
    left: tuple[Left, ...] = ()
    remaining: tuple[ReasonCount, ...] = ()
    failure: str | None = None


@dataclass
class Retry:
    """One `rejects retry`: which partitions, rejects of which window, on which engine.

    The engine is started when the first reject needs it.
    """

    targets: Sequence[Target]
    lake: Lake
    window: Window | None
    engine: EngineSettings
    now: datetime
    watcher: Watcher
    engine_log: int | None = None
    open_engine: Callable[[EngineSettings, int | None], AbstractContextManager[Session]] = open_session

    def execute(self) -> tuple[RetryOutcome, ...]:
        """Partitions fail alone; the others are tried."""
        self._session: Session | None = None
        self._engine_error: Exception | None = None
        with ExitStack() as stack:
            self._stack = stack
            return tuple(self._retry_alone(target) for target in self.targets)

    def _retry_alone(self, target: Target) -> RetryOutcome:
        try:
            return self._retry(target)
        except TailpipeError as error:
            if error is self._engine_error:
                raise
            return RetryOutcome(target.name, failure=error.message.rstrip("."))

    def _retry(self, target: Target) -> RetryOutcome:
        """Plans again, on top of what the other one committed, when another process was faster."""
        address = self.lake.table(target.config.table)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            state = TableLog(address, table_schema(target.table, TYPE_KEY)).state(target.config.name)
            plan = plan_retry(address, target, state, self.window)
            try:
                return self._run(plan, address)
            except ConflictError as conflict:
                again = f"Planning again on top of it (attempt {attempt + 1} of {MAX_ATTEMPTS})."
                self.watcher.planning_again(f"{conflict.message}. {again}")
        raise LakeError(
            f"{target.name}: others were faster {MAX_ATTEMPTS} times",
            hint="run again when they are done; nothing was lost and nothing was stored twice",
        )

    def _run(self, plan: RetryPlan, address: TableAddress) -> RetryOutcome:
        plan, recipes = _with_recipes(plan, address)
        partition = plan.target.config.name
        outcome = RetryOutcome(plan.target.name, left=plan.left)
        if recipes:
            run = _PartitionRetry(plan, recipes, address, self._ready_session(), self.now)
            self.watcher.waiting_for(f"{plan.target.name}: trying {plan.rejects:,} rejects again")
            try:
                rows, days = run.execute()
                outcome = replace(outcome, rows=rows, days=days)
            except TailpipeError:
                raise
            except Exception as error:
                outcome = replace(outcome, failure=engine_message(error))
        state = TableLog(address, table_schema(plan.target.table, TYPE_KEY)).state(partition)
        return replace(outcome, remaining=tuple(count_reasons(address, state.reject_files)))

    def _ready_session(self) -> Session:
        if self._session is None:
            self.watcher.waiting_for(f"starting {self.engine.label}")
            try:
                self._session = self._stack.enter_context(self.open_engine(self.engine, self.engine_log))
            except Exception as error:
                self._engine_error = error
                raise
        return self._session


@dataclass
class _PartitionRetry:
    plan: RetryPlan
    recipes: Mapping[int, Recipe]
    address: TableAddress
    session: Session
    now: datetime

    def execute(self) -> tuple[Rows, frozenset[str]]:
        """Raises ConflictError when another process was faster; after any error nothing is changed."""
        self.log = TableLog(self.address, common_schema(self.plan.target, self.recipes.values()))
        self.stored = self.log.prepare()
        tally = RetryTally()
        try:
            for number, recipe in self.recipes.items():
                tally.add(self.plan.feeds[number], self._run_feed(number, recipe))
            removed = self._take_out(tally)
            self._check(tally)
            self._commit(tally, removed)
        # An interruption may come when the commit is done: then files must stay, so it is none of these.
        except UnknownOutcome:
            raise
        except Exception:
            self.address.discard(tally.written)
            raise
        return tally.rows, frozenset(fact.partition_values["tp_date"] for fact in tally.files)

    def _run_feed(self, number: int, recipe: Recipe) -> list[Fact]:
        plan, session = self.plan, self.session
        count = session.cores * (1 if session.runs_all_tasks_at_once else PACKS_PER_CORE)
        packs = tuple(plan.files[k::count] for k in range(min(count, len(plan.files))))
        read = RetryJob(self.address, reading_format(recipe), plan.choice(number), packs)
        write = make_write_job(plan.target, self.address, recipe, plan.slots(number), self.now, self.stored)
        write = replace(write, keeps_all_rejects=True)
        return run_watched(lambda: run_packs(session, recipe, read, len(packs), write), lambda: None)

    def _take_out(self, tally: RetryTally) -> tuple[str, ...]:
        """Files that held what was tried; what they held beside it is carried over into new ones."""
        choice = self.plan.choice()
        removal = remove_rejects(
            self.address,
            self.plan.target.config.name,
            self.plan.files,
            lambda rows: choice.slots_of(rows).is_valid(),
            UNIT,
        )
        tally.rejects += removal.added
        return removal.removed

    def _check(self, tally: RetryTally) -> None:
        rows = tally.rows
        if not rows.is_balanced or rows.read != self.plan.rejects:
            raise LakeError(
                f"{self.plan.target.name}: the counts do not add up: {self.plan.rejects:,} rejects to try, "
                f"{rows.read:,} read, {rows.stored:,} stored, {rows.filtered:,} filtered, {rows.rejected:,} rejected. "
                "Nothing was changed.",
                hint="please report this",
            )

    def _commit(self, tally: RetryTally, removed: tuple[str, ...]) -> None:
        change = Change(
            partition=self.plan.target.config.name,
            kind=KIND,
            unit="",
            run=uuid.uuid4().hex,
            files=tuple(tally.files),
            rejects=tuple(fact.path for fact in tally.rejects),
            removed_rejects=removed,
            artifacts=tally.records,
            # Records of artifacts would settle them, but no artifact was read.
            failures=self.plan.state.failures,
        )
        self.log.commit(change, self.plan.state.version)


def _with_recipes(plan: RetryPlan, address: TableAddress) -> tuple[RetryPlan, dict[int, Recipe]]:
    """Feeds whose rejects cannot be read are left out of the plan."""
    recipes: dict[int, Recipe] = {}
    stored = stored_columns(address) if plan.feeds else {}
    for number in plan.feeds:
        try:
            recipes[number] = retry_recipe(plan, number, address, stored)
        except FieldsUnknown as unknown:
            plan = plan.without(number, unknown.message, unknown.hint or "")
            continue
        stored |= column_types(recipes[number].table)
    return plan, recipes
