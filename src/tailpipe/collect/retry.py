"""Rejects are tried again as the configuration is now: what becomes a row is stored, the rest stays in quarantine.

Rows come and rejects go in one commit per partition, so that a record is never in both places or in none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from tailpipe.collect.outcome import Rows
from tailpipe.collect.plan import Action, PartitionPlan, PlannedArtifact, Rejects, Unit
from tailpipe.collect.recipes import RejectRecipes, make_recipes
from tailpipe.collect.reject_reading import CHOICE_COLUMNS
from tailpipe.collect.runner import Prepared, Run, Runner
from tailpipe.collect.target import Target
from tailpipe.collect.windows import ALWAYS
from tailpipe.errors import TailpipeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.log import stored_columns
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.lake.quarantine import (
    ReasonCount,
    count_reasons,
    is_within,
    prefixes_of,
    read_file,
    record_prefixes,
)
from tailpipe.lake.state import PartitionState
from tailpipe.records import is_final
from tailpipe.sources.artifact import Artifact, Capturing
from tailpipe.times import Window

_CUT_OFF = (
    "of which too little was kept to judge them anew",
    "after a change of the format, `tailpipe collect --overwrite` reads the files again",
)
_FORGOTTEN = (
    "of artifacts that were deleted from the lake",
    "`tailpipe collect --from …` reads them again; `tailpipe rejects drop` takes the rejects out",
)


@dataclass(frozen=True)
class Left:
    """Rejects that were not tried; `reason` goes on after their number: `of source …`."""

    rejects: int
    reason: str
    hint: str


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


@dataclass(frozen=True)
class PreparedRetry(Prepared):
    left: tuple[Left, ...] = ()


@dataclass(kw_only=True)
class Retry(Run):
    """One `rejects retry`: of what was rejected within the window."""

    window: Window | None

    def execute(self) -> tuple[RetryOutcome, ...]:
        """Partitions fail alone; the others are tried."""
        with ExitStack() as stack:
            runner = Runner(self, stack)
            return tuple(self._retry(runner, target) for target in self.targets)

    def begins(self, plan: PartitionPlan) -> None:
        rejects = sum(sum(unit.rejects.counts.values()) for unit in plan.units if unit.rejects)
        self.watcher.waiting_for(f"{plan.target.name}: trying {rejects:,} rejects again")

    def _retry(self, runner: Runner, target: Target) -> RetryOutcome:
        try:
            left = runner.execute(lambda: self._prepare(target)).left
            state = self.log(target).state(target.config.name)
            remaining = tuple(count_reasons(self.lake.table(target.config.table), state.reject_files))
        except TailpipeError as error:
            if error is runner.engine_error:
                raise
            return RetryOutcome(target.name, failure=error.message.rstrip("."))
        outcome = runner.outcome
        assert outcome is not None
        failure = outcome.failed[0].message if outcome.failed else None
        return RetryOutcome(target.name, outcome.rows, outcome.days, left, remaining, failure)

    def _prepare(self, target: Target) -> PreparedRetry:
        """Rejects of sources for which there is no recipe are left where they are."""
        address = self.lake.table(target.config.table)
        state = self.log(target).state(target.config.name)
        unit, left = plan_retry(address, target, state, self.window)
        plan = PartitionPlan(target, self.window or ALWAYS, state, (), ())
        if unit is None or unit.rejects is None:
            return PreparedRetry(plan, left=left)
        make = RejectRecipes(address, state, unit.rejects)
        recipes = make_recipes(target, [unit], stored_columns(address), make)
        for number, error in recipes.errors.items():
            left = (*left, Left(unit.rejects.counts[number], error.message, error.hint or ""))
        units = _of_feeds(unit, unit.rejects, recipes.made)
        return PreparedRetry(replace(plan, units=units), recipes.made, left=left)


def _of_feeds(unit: Unit, rejects: Rejects, feeds: Mapping[int, object]) -> tuple[Unit, ...]:
    counts = {number: count for number, count in rejects.counts.items() if number in feeds}
    artifacts = tuple(item for item in unit.artifacts if item.feed in feeds)
    return (replace(unit, artifacts=artifacts, rejects=replace(rejects, counts=counts)),) if artifacts else ()


def plan_retry(
    address: TableAddress, target: Target, state: PartitionState, window: Window | None
) -> tuple[Unit | None, tuple[Left, ...]]:
    """All rejects that are to be tried as one unit, and what is left. Reads whose they are, but not their texts."""
    feeds = {feed.source.name: number for number, feed in enumerate(target.feeds)}
    planning = _Planning(target, feeds, record_prefixes(target.name, state))
    for path in state.reject_files:
        rows = read_file(address, path, [*CHOICE_COLUMNS, "source", "records"])
        if planning.add(rows.filter(is_within(rows, window))):
            planning.files.append(path)
    left = tuple(Left(rejects, *why) for why, rejects in planning.left.items())
    artifacts = planning.artifacts()
    rejects = Rejects(tuple(planning.files), planning.counts, window)
    return (Unit(None, 1, artifacts, rejects) if artifacts else None), left


@dataclass
class _Planning:
    """`feeds` are numbers by name of the source, `known` artifacts by prefix of their ids.

    `tried` are prefixes, and where the artifact lay when its records were rejected.
    """

    target: Target
    feeds: Mapping[str, int]
    known: Mapping[str, KnownArtifact]
    files: list[str] = field(default_factory=list)
    tried: dict[tuple[str, str], None] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)
    left: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, rows: pa.Table) -> bool:
        """Whether any of the rejects is to be tried."""
        before = self.counts.total()
        for group in _groups(rows):
            why = self._why_left(group)
            if why is not None:
                self.left[why] += group["records_sum"]
                continue
            self.tried[group["prefix"], group["artifact"]] = None
            self.counts[self.feeds[group["source"]]] += group["records_sum"]
        return self.counts.total() > before

    def _why_left(self, group: Mapping[str, Any]) -> tuple[str, str] | None:
        if group["prefix"] not in self.known:
            return _FORGOTTEN
        if group["source"] not in self.feeds:
            return self._unknown_source(group["source"])
        return _CUT_OFF if group["is_final"] else None

    def artifacts(self) -> tuple[PlannedArtifact, ...]:
        found = ((self.known[prefix], location) for prefix, location in self.tried)
        planned = [self._planned(self.feeds[known.source], location, known) for known, location in found]
        return tuple(sorted(planned, key=lambda item: item.feed))

    def _planned(self, feed: int, location: str, known: KnownArtifact) -> PlannedArtifact:
        source = self.target.feeds[feed].source
        captures = source.captures(location) if isinstance(source, Capturing) else {}
        artifact = Artifact(location, known.size_bytes, known.version, known.span, captures)
        return PlannedArtifact(feed, artifact, Action.RETRY, known.identity, known.kept, known.kept, known)

    def _unknown_source(self, source: str) -> tuple[str, str]:
        return (
            f'of source "{source}", which {self.target.name} does not have now',
            f"configured: {', '.join(self.feeds)}; `tailpipe rejects drop {self.target.name}` takes them out",
        )


def _groups(rows: pa.Table) -> list[dict[str, Any]]:
    groups = (
        rows.append_column("prefix", prefixes_of(rows.column("id")))
        .append_column("is_final", is_final(rows.column("code")))
        .group_by(["prefix", "artifact", "source", "is_final"], use_threads=False)
        .aggregate([("records", "sum")])
    )
    found: list[dict[str, Any]] = groups.to_pylist()
    return found
