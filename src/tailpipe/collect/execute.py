"""Runs a plan: batches of units become jobs, finished units become commits, failed ones leave nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from tailpipe.collect.background import run_watched
from tailpipe.collect.events import Watcher
from tailpipe.collect.jobs import batches, common_schema, make_slot, make_write_job, run_job
from tailpipe.collect.limits import RejectLimit
from tailpipe.collect.messages import engine_message
from tailpipe.collect.outcome import PartitionOutcome, UnitDone, UnitFailed
from tailpipe.collect.plan import Action, PartitionPlan, PlannedArtifact, Unit
from tailpipe.collect.replacement import remove_replaced
from tailpipe.collect.sample import feed_recipe
from tailpipe.collect.spool import read_spool
from tailpipe.collect.stopping import Stopping, read_together
from tailpipe.collect.tally import UnitTally, add_facts
from tailpipe.errors import SourceError, TailpipeError, UnknownOutcome
from tailpipe.lake.files import discard, table_filesystem
from tailpipe.lake.folder_limit import refusal
from tailpipe.lake.log import Change, TableLog, stored_columns
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.scratch import scratch_folder
from tailpipe.tables.stored_schema import column_types

if TYPE_CHECKING:
    import pyarrow as pa

    from tailpipe.engine.session import Session
    from tailpipe.lake.facts import Fact
    from tailpipe.tables.standardise import Recipe


@dataclass
class PartitionRun:
    """One partition's way through the engine. `first_job_seconds` is kept for those who measure."""

    plan: PartitionPlan
    location: str
    session: Session
    watcher: Watcher
    run_id: str
    now: datetime
    is_embedded: bool = True
    reject_limit: RejectLimit | None = None
    first_job_seconds: float | None = None

    def __post_init__(self) -> None:
        self.done: list[UnitDone] = []
        self.failed: list[UnitFailed] = []
        self.version = self.plan.state.version
        self.reject_files = list(self.plan.state.reject_files)
        self.recipes = self._make_recipes()
        schema = common_schema(self.plan.target, self.recipes.values())
        self.log = TableLog(self.location, schema)
        self.stored: dict[str, pa.Field] = {}

    def execute(self) -> PartitionOutcome:
        """Raises ConflictError when another collector was faster; units done before stay done."""
        self.stored = self.log.prepare(self.watcher.waiting_for)
        for batch in batches(self.plan.units):
            self._run_all(batch)
        return self.outcome()

    def _run_all(self, units: tuple[Unit, ...]) -> None:
        may_stop = True
        while units:
            left = self._run_batch(units, may_stop)
            # One that was stopped before it began anything must come to its end the next time.
            may_stop = left != units
            units = left

    def outcome(self) -> PartitionOutcome:
        return PartitionOutcome(
            self.plan.target.name, self.plan.window, self.plan.listings, tuple(self.done), tuple(self.failed)
        )

    def _artifacts(self, feed: int) -> list[PlannedArtifact]:
        return [item for unit in self.plan.units for item in unit.artifacts if item.feed == feed]

    def _make_recipes(self) -> dict[int, Recipe]:
        """Each source of the partition adds its columns to those that the lake and the sources before it have."""
        recipes: dict[int, Recipe] = {}
        stored = stored_columns(self.location)
        for number, feed in enumerate(self.plan.target.feeds):
            artifacts = self._artifacts(number)
            if not artifacts:
                continue
            try:
                recipes[number] = feed_recipe(self.plan.target, feed, artifacts, stored)
            except SourceError as error:
                self._leave_out(number, error)
                continue
            stored |= column_types(recipes[number].table)
        return recipes

    def _leave_out(self, number: int, error: SourceError) -> None:
        """Units with files of a source that cannot be read fail, for they are stored whole or not at all.

        Files without a date share a unit, which goes on without those of the source.
        """
        sentence = f"{error.message}. {error.hint}" if error.hint else error.message
        units: list[Unit] = []
        for unit in self.plan.units:
            rest = tuple(item for item in unit.artifacts if item.feed != number)
            count = len(unit.artifacts) - len(rest)
            if count:
                self._fail(UnitFailed(unit.label, len(unit.artifacts) if unit.day else count, sentence))
            if rest and (unit.day is None or not count):
                units.append(replace(unit, artifacts=rest))
        self.plan = replace(self.plan, units=tuple(units))

    def _run_batch(self, units: tuple[Unit, ...], may_stop: bool) -> tuple[Unit, ...]:
        """Commits what was read, and returns what was not: of files without a date the rest, of days all or nothing."""
        stopping = Stopping(may_stop and all(unit.day is None for unit in units))
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
            self.location,
            recipe,
            (make_slot(target, feed, unit, item, files) for unit, item in slots),
            self.now,
            self.stored,
        )
        started = time.monotonic()
        artifacts = [item.artifact for _, item in slots]
        with scratch_folder("counts") as folder:
            spool = str(folder) if self.is_embedded else None

            def look() -> None:
                self.watcher.counted(read_spool(folder))
                if stopping.is_due(time.monotonic() - started):
                    stopping.request(folder)

            def stop(interruption: BaseException) -> None:
                self.watcher.stopping()
                stopping.request(folder, interruption)

            facts: list[Fact] = run_watched(
                lambda: run_job(self.session, recipe, feed, write, artifacts, spool, read_together(slots)),
                look,
                stop if self.is_embedded else None,
            )
        if self.first_job_seconds is None:
            self.first_job_seconds = time.monotonic() - started
        add_facts(tallies, target, slots, facts, stopping.is_requested)

    def _settle(self, tally: UnitTally) -> tuple[Unit, ...]:
        """What is left of the unit, to be read by another job."""
        unit, left = tally.unit, tally.left()
        if left and not tally.errors and (unit.day is not None or not tally.by_artifact):
            self._discard([tally])
            return (unit,)
        if not tally.errors:
            tally.unit = replace(
                unit, artifacts=tuple(item for item in unit.artifacts if item.key in tally.by_artifact)
            )
            self._remove_replaced(tally)
        self._apply_limit(tally)
        self._apply_folder_limit(tally)
        if not tally.errors:
            self._commit(tally)
            return (replace(unit, artifacts=left),) if left else ()
        self._discard([tally])
        if unit.day is not None:
            self._fail(UnitFailed(unit.label, len(unit.artifacts), _unit_message(tally)))
            return ()
        for (_, location), message in tally.errors.items():
            sentence = message.removeprefix(f"{location}: ")
            self._fail(UnitFailed(location, 1, f"{sentence}. Nothing of it was stored."))
        rest = tuple(item for item in unit.artifacts if item.key not in tally.errors)
        return (replace(unit, artifacts=rest),) if rest else ()

    def _apply_limit(self, tally: UnitTally) -> None:
        """A day answers for its rejects as a whole, files without a date each for its own.

        What earlier runs read of it counts, so that it does not matter in how many runs a file grew.
        """
        if self.reject_limit is None or tally.errors or not tally.rows.rejected:
            return
        if tally.unit.day is not None:
            message = _limit_message(self.reject_limit, self._records_of_day(tally))
            if message:
                tally.errors[0, tally.unit.label] = message
            return
        for (key, rows), record in zip(tally.by_artifact.items(), tally.records, strict=True):
            message = _limit_message(self.reject_limit, [record]) if rows.rejected else None
            if message:
                tally.errors[key] = message

    def _apply_folder_limit(self, tally: UnitTally) -> None:
        """Each task kept to it; together they may not have."""
        values = [
            (fact.partition_values["tp_index"], fact.partition_values["tp_date"]) for fact in tally.files
        ]
        message = refusal(values, self.plan.target.config.tp_index)
        if message and not tally.errors:
            tally.errors.update(dict.fromkeys((item.key for item in tally.unit.artifacts), message))

    def _records_of_day(self, tally: UnitTally) -> list[KnownArtifact]:
        """All artifacts of the unit's day as they will be known after it."""
        known = {record.key: record for record in self._known_by_day.get(tally.unit.day, ())}
        return list((known | {record.key: record for record in tally.records}).values())

    @cached_property
    def _known_by_day(self) -> dict[date | None, list[KnownArtifact]]:
        by_day: dict[date | None, list[KnownArtifact]] = {}
        for record in self.plan.state.artifacts.known():
            if record.span is not None and record.kept:
                by_day.setdefault(record.span.start.date(), []).append(record)
        return by_day

    def _commit(self, tally: UnitTally) -> None:
        rows = tally.rows
        if not rows.is_balanced:
            self._discard([tally])
            message = (
                f"the counts do not add up: {rows.read:,} rows in, {rows.stored:,} stored, "
                f"{rows.filtered:,} filtered, {rows.rejected:,} rejected. "
                "Nothing was stored; please report this."
            )
            self._fail(UnitFailed(tally.unit.label, len(tally.unit.artifacts), message))
            return
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
        done = UnitDone(
            unit=tally.unit,
            rows=rows,
            size_bytes=tally.unit.size_bytes,
            raw_bytes=tally.raw_bytes,
            stored_bytes=sum(fact.size_bytes for fact in tally.files),
            files=len(tally.files),
            days=frozenset(fact.partition_values["tp_date"] for fact in tally.files),
            waiting=tuple(record.location for record in tally.records if record.waiting_bytes),
            went_on=len(tally.restarted),
        )
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
        replaced = [item for item in tally.unit.artifacts if item.action is Action.REPLACE]
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
        self._fail(UnitFailed(units[0].label, len(units[0].artifacts), engine_message(error)))

    def _fail(self, failure: UnitFailed) -> None:
        self.failed.append(failure)
        self.watcher.unit_failed(self.plan, failure)

    def _discard(self, tallies: Iterable[UnitTally]) -> None:
        """Files that no commit names are invisible; removing them only frees the room."""
        filesystem, base = table_filesystem(self.location)
        for tally in tallies:
            discard(filesystem, [f"{base}/{path}" for path in tally.written])


def _limit_message(limit: RejectLimit, records: Iterable[KnownArtifact]) -> str | None:
    rejected, read = map(sum, zip(*((record.rejected, record.rows) for record in records), strict=True))
    if not limit.is_exceeded(rejected, read):
        return None
    return f"{rejected:,} of {read:,} records were rejected, which is more than max_rejects = {limit.text}"


def _unit_message(tally: UnitTally) -> str:
    first, *others = tally.errors.values()
    more = f" (and {len(others):,} more)" if others else ""
    return f"{first}{more}. Nothing of {tally.unit.label} was stored; the day stays pending."
