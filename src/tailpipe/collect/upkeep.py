"""What follows the collection of a partition: small files of the days that it wrote to are merged, and rows leave that
are too old.

Collected rows are safe before it begins. Whatever fails here is told, and costs nothing but the upkeep itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import pyarrow as pa

from tailpipe.collect.events import Watcher
from tailpipe.collect.outcome import PartitionOutcome, Upkeep
from tailpipe.collect.target import Target
from tailpipe.errors import told
from tailpipe.lake.address import Lake
from tailpipe.lake.compaction import AFTER_COLLECTION, Compaction, DayPlan, compact_days, plan_days
from tailpipe.lake.lifecycle import expire
from tailpipe.lake.log import TableLog


@dataclass(frozen=True)
class Collected:
    """A partition of which the collection is over, and what of the upkeep is wanted. Rows before the `edge` leave."""

    lake: Lake
    target: Target
    outcome: PartitionOutcome
    watcher: Watcher
    is_compacting: bool = True
    edge: datetime | None = None

    @property
    def log(self) -> TableLog:
        return TableLog(self.lake.table(self.target.config.table), pa.schema([]))


def keep_up(collected: Collected) -> Upkeep:
    """One step after another; one that fails leaves the others alone."""
    upkeep = Upkeep()
    for step in _STEPS:
        try:
            upkeep = step(collected, upkeep)
        except Exception as error:
            upkeep = replace(upkeep, problems=(*upkeep.problems, told(error)))
    return upkeep


def _compact(collected: Collected, upkeep: Upkeep) -> Upkeep:
    """A day that this run did not write to is left to the runs that do, and to `tailpipe compact`."""
    days = collected.outcome.days
    if not days or not collected.is_compacting:
        return upkeep

    def begins(plan: DayPlan) -> None:
        collected.watcher.waiting_for(f"compacting {collected.outcome.name} {plan.day}")

    log = collected.log
    log.refresh()
    planner = partial(plan_days, AFTER_COLLECTION)
    plans = planner(log.live_files(collected.target.config.name, days))
    compaction = Compaction.of(compact_days(log, plans, planner, begins))
    problems = [f"{failure.day} was not compacted: {failure.message}" for failure in compaction.failed]
    return replace(upkeep, compaction=compaction, problems=(*upkeep.problems, *problems))


def _expire(collected: Collected, upkeep: Upkeep) -> Upkeep:
    if collected.edge is None:
        return upkeep
    config = collected.target.config
    return replace(upkeep, expired=expire(collected.lake, config.table, config.name, collected.edge))


_STEPS: tuple[Callable[[Collected, Upkeep], Upkeep], ...] = (_compact, _expire)
