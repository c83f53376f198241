"""Rejects are tried again as the configuration is now: what becomes a row is stored, the rest stays in quarantine.

Rows come and rejects go in one commit per partition, so that a record is never in both places or in none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from tailpipe.collect.plan import Action, PartitionPlan, PlannedArtifact, Rejects, Unit
from tailpipe.collect.recipes import RejectRecipes, make_recipes
from tailpipe.collect.reject_reading import CHOICE_COLUMNS
from tailpipe.collect.runner import Prepared, Run, Runner
from tailpipe.collect.target import Target
from tailpipe.collect.windows import ALWAYS
from tailpipe.errors import TailpipeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.catalog import stored_columns
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
from tailpipe.records import RowCounts, is_final
from tailpipe.sources.artifact import Artifact
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
    rows: RowCounts = field(default_factory=RowCounts)
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
        recipes, errors = make_recipes(target, [unit], stored_columns(address), make)
        for number, error in errors.items():
            left = (*left, Left(unit.rejects.counts[number], error.message, error.hint or ""))
        units = _of_feeds(unit, unit.rejects, recipes)
        return PreparedRetry(replace(plan, units=units), recipes, left=left)


def _of_feeds(unit: Unit, rejects: Rejects, feeds: Mapping[int, object]) -> tuple[Unit, ...]:
    counts = {number: count for number, count in rejects.counts.items() if number in feeds}
    artifacts = tuple(item for item in unit.artifacts if item.feed in feeds)
    return (replace(unit, artifacts=artifacts, rejects=replace(rejects, counts=counts)),) if artifacts else ()


def plan_retry(
    address: TableAddress, target: Target, state: PartitionState, window: Window | None
) -> tuple[Unit | None, tuple[Left, ...]]:
    """All rejects that are to be tried as one unit, and what is left. Reads whose they are, but not their texts."""
    feeds = {feed.source.name: number for number, feed in enumerate(target.feeds)}
    known = record_prefixes(target.name, state)
    files: dict[str, None] = {}
    tried: dict[tuple[str, str], None] = {}
    counts: Counter[int] = Counter()
    left: Counter[tuple[str, str]] = Counter()
    for path, prefix, location, source, must_stay, rejects in _groups(address, state.reject_files, window):
        if prefix not in known:
            left[_FORGOTTEN] += rejects
        elif source not in feeds:
            left[_unknown_source(target, source, feeds)] += rejects
        elif must_stay:
            left[_CUT_OFF] += rejects
        else:
            files[path] = tried[prefix, location] = None
            counts[feeds[source]] += rejects
    artifacts = [_planned(target, feeds, location, known[prefix]) for prefix, location in tried]
    unit = Unit(None, 1, tuple(artifacts), Rejects(tuple(files), counts, window)) if artifacts else None
    return unit, tuple(Left(rejects, *why) for why, rejects in left.items())


def _planned(
    target: Target, feeds: Mapping[str, int], location: str, known: KnownArtifact
) -> PlannedArtifact:
    """`location` is where the artifact lay when its records were rejected."""
    number = feeds[known.source]
    source = target.feeds[number].source
    artifact = Artifact(location, known.size_bytes, known.version, known.span, source.captures(location))
    return PlannedArtifact(number, artifact, Action.RETRY, known.identity, known.kept, known.kept, known)


def _unknown_source(target: Target, source: str, configured: Iterable[str]) -> tuple[str, str]:
    return (
        f'of source "{source}", which {target.name} does not have now',
        f"configured: {', '.join(configured)}; `tailpipe rejects drop {target.name}` takes them out",
    )


def _groups(
    address: TableAddress, files: Iterable[str], window: Window | None
) -> Iterator[tuple[str, str, str, str, bool, int]]:
    """By file: prefix of the ids, location, source, whether they must stay rejected, and how many they are."""
    for path in files:
        rows = read_file(address, path, [*CHOICE_COLUMNS, "source", "records"])
        rows = rows.filter(is_within(rows, window))
        groups = (
            rows.append_column("prefix", prefixes_of(rows.column("id")))
            .append_column("is_final", is_final(rows.column("code")))
            .group_by(["prefix", "artifact", "source", "is_final"], use_threads=False)
            .aggregate([("records", "sum")])
        )
        for group in groups.to_pylist():
            yield path, *group.values()
