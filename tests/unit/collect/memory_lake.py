"""A lake in memory: plans are carried out by reading files and judging their lines here, without an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from tailpipe.collect.plan import Action, PartitionPlan, PlannedArtifact, Unit
from tailpipe.collect.replacement import Replacement, open_line_id
from tailpipe.collect.tally import UnitTally
from tailpipe.collect.windows import claimed
from tailpipe.lake.columns import id_prefix, row_id
from tailpipe.lake.deletion import CountedRejects
from tailpipe.lake.facts import RowsFact
from tailpipe.lake.lifecycle import Expiry
from tailpipe.lake.manifest import Failure, KnownArtifact, RunReport
from tailpipe.lake.manifest_file import Manifest
from tailpipe.lake.state import PartitionState, fold
from tailpipe.lake.transaction import Change, manifest_of, snapshot
from tailpipe.records import Failed, Reading, decode_closing
from tailpipe.sources.read import read_artifacts
from tailpipe.times import Window, day_window, days_between, without

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Few enough that short histories have snapshots in them.
MANIFESTS_PER_SNAPSHOT = 7


@dataclass(frozen=True)
class Delivery:
    """A change with the records that come, the artifacts whose records go, by their prefixes, and the ids of single
    records that go.
    """

    change: Change
    rows: dict[str, str] = field(default_factory=dict)
    rejects: dict[str, str] = field(default_factory=dict)
    replaced: dict[str, KnownArtifact] = field(default_factory=dict)
    went_on: frozenset[str] = frozenset()
    at: datetime = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class _Reading:
    """What a unit gives, and what of it failed."""

    delivery: Delivery | None
    failed: tuple[str, ...]


Commit = Callable[[Delivery], None]


@dataclass
class MemoryLake:
    """`rows` and `rejects` are records as their text, by id; `rejected_at` is when those were rejected."""

    manifests: list[Manifest] = field(default_factory=list)
    rows: dict[str, str] = field(default_factory=dict)
    rejects: dict[str, str] = field(default_factory=dict)
    rejected_at: dict[str, datetime] = field(default_factory=dict)

    @property
    def state(self) -> PartitionState:
        return fold(len(self.manifests), self.manifests)

    def execute(self, plan: PartitionPlan, now: datetime, commit: Commit | None = None) -> list[str]:
        """Does all that is planned, and returns the labels of what failed.

        `commit` may stand in the way of the lake's own, to stop a run there.
        """
        commit = commit or self.commit
        failures: dict[str, Failure] = {}
        for unit in plan.units:
            reading = self._read(plan, unit, now)
            for label in reading.failed:
                failures[label] = Failure(
                    label, "broken", 1, now, "run", unit.day, None if unit.day else label
                )
            if reading.delivery is not None:
                commit(replace(reading.delivery, at=now))
        if self.manifests or failures:
            failed = [day_window(unit.day) for unit in plan.units if unit.day and unit.label in failures]
            claims = {source: claimed(windows, failed, now) for source, windows in plan.asked.items()}
            ending = Change(
                "p",
                "run",
                "",
                "run",
                artifacts=plan.renamed,
                asked=plan.asked,
                covered=claims,
                failures=tuple(failures.values()),
                report=_report(plan, now),
            )
            commit(Delivery(ending))
        return list(failures)

    def commit(self, delivery: Delivery) -> None:
        self.manifests.append(manifest_of(delivery.change))
        for prefix, record in delivery.replaced.items():
            self._remove(prefix, record)
        for id in delivery.went_on:
            self.rows.pop(id, None)
            self.rejects.pop(id, None)
        assert not self.rows.keys() & delivery.rows.keys(), "rows stored twice"
        assert not self.rejects.keys() & delivery.rejects.keys(), "records rejected twice"
        self.rows |= delivery.rows
        self.rejects |= delivery.rejects
        self.rejected_at |= dict.fromkeys(delivery.rejects, delivery.at)
        if len(self.manifests) % MANIFESTS_PER_SNAPSHOT == 0:
            self.manifests = [snapshot("p", "run", self.state)]

    def delete(self, window: Window) -> None:
        if not self.manifests:
            return
        kept = [known for known in self.state.artifacts.known() if known.kept]
        emptied = [known.key for known in kept if not without(known.kept, [window])]
        self.rows = {
            id: raw for id, raw in self.rows.items() if not window.contains(moment_of(raw) or _EPOCH)
        }
        for key in emptied:
            prefix = id_prefix("app_log.p", *key).decode()
            self.rejects = _without(self.rejects, prefix)
        self.commit(Delivery(Change("p", "delete", "", "run", deleted=(window,))))

    def expire(self, edge: datetime, commit: Commit | None = None) -> None:
        """Rows and rejects go with the commit or not at all."""
        expiry = Expiry("app_log.p", self.state, edge)
        windows = expiry.windows(
            at.date() for raw in self.rows.values() if (at := moment_of(raw)) and at < edge
        )
        if not self.manifests or not windows:
            return
        choice = CountedRejects(expiry.is_gone)
        ids = list(self.rejects)
        rejected_at = pa.array([self.rejected_at[id].replace(tzinfo=None) for id in ids], pa.timestamp("us"))
        columns = {"id": pa.array(ids, pa.string()), "rejected_at": rejected_at, "records": [1] * len(ids)}
        rejects = pa.array(ids, pa.string()).filter(choice(pa.table(columns))).to_pylist()
        rows = [id for id, raw in self.rows.items() if (moment_of(raw) or _EPOCH) < edge]
        change = expiry.change("p", windows, choice)
        (commit or self.commit)(Delivery(change, went_on=frozenset([*rejects, *rows])))

    def copy(self) -> MemoryLake:
        return MemoryLake(list(self.manifests), dict(self.rows), dict(self.rejects), dict(self.rejected_at))

    def restore(self, then: MemoryLake) -> None:
        """What was known then stands in place of all that was known since."""
        self.rows, self.rejects = dict(then.rows), dict(then.rejects)
        self.rejected_at = dict(then.rejected_at)
        self.manifests = [snapshot("p", "run", then.state)]

    def vacuum(self) -> None:
        """A snapshot stands for all manifests before it."""
        self.manifests = [snapshot("p", "run", self.state)] if self.manifests else []

    def _remove(self, prefix: str, record: KnownArtifact) -> None:
        """Only where the record says that there is something: nobody looks elsewhere."""
        days = days_between(record.first, record.last) if record.first and record.last else ()
        self.rows = {
            id: raw
            for id, raw in self.rows.items()
            if not (id.startswith(prefix) and (moment_of(raw) or _EPOCH).date() in days)
        }
        if record.rows.rejected:
            self.rejects = _without(self.rejects, prefix)

    def _read(self, plan: PartitionPlan, unit: Unit, now: datetime) -> _Reading:
        """A day fails as a whole, files without a day each alone."""
        records = {planned.key: _records(plan, planned) for planned in unit.artifacts}
        broken = [
            item
            for item in unit.artifacts
            if isinstance(decode_closing(records[item.key][-1]["raw"]), Failed)
        ]
        if broken and unit.day is not None:
            return _Reading(None, (unit.label,))
        tally = UnitTally(plan.target, unit, "run", now)
        judged = [
            self._judge(plan, tally, planned, records[planned.key])
            for planned in unit.artifacts
            if planned not in broken
        ]
        failed = tuple(planned.artifact.location for planned in broken)
        if not judged:
            return _Reading(None, failed)
        ids = frozenset(open_line_id(plan.target, planned) for planned in tally.restarted)
        rows_found, rejects_found = ids & self.rows.keys(), ids & self.rejects.keys()
        tally.replace(Replacement(rows_found=rows_found, rejects_found=rejects_found))
        for record in tally.known.values():
            counts = record.rows.stored, record.rows.filtered, record.rows.outside, record.rows.rejected
            assert record.rows.read == sum(counts)
            assert min(counts) >= 0
        change = Change(
            "p", "collect", unit.key, "run", artifacts=tuple(tally.known.values()), asked=plan.asked
        )
        delivery = Delivery(
            change,
            {id: raw for one in judged for id, raw in one.rows.items()},
            {id: raw for one in judged for id, raw in one.rejects.items()},
            {prefix: record for one in judged for prefix, record in one.replaced.items()},
            ids,
        )
        return _Reading(delivery, failed)

    def _judge(
        self, plan: PartitionPlan, tally: UnitTally, planned: PlannedArtifact, read: list[dict[str, Any]]
    ) -> Delivery:
        *records, closing = read
        feed = plan.target.feeds[planned.feed]
        prefix = id_prefix(plan.target.name, feed.source.name, planned.identity).decode()
        by_id = {row_id(prefix.encode(), record["position"]): record["raw"] for record in records}
        moments = {id: moment_of(raw) for id, raw in by_id.items()}
        is_reread = planned.action is Action.WIDEN
        rejects = {} if is_reread else {id: by_id[id] for id, moment in moments.items() if moment is None}
        rows = {
            id: by_id[id]
            for id, moment in moments.items()
            if moment is not None
            and any(window.contains(moment) for window in planned.keep)
            and not (is_reread and planned.known and planned.known.rows.rejected and id in self.rejects)
        }
        timed = [moment for id, moment in moments.items() if moment and id not in self.rejects]
        counts = _counts(
            [moments[id] for id in rows], timed, len(records) - len(rows) - len(rejects), len(rejects)
        )
        reading = decode_closing(closing["raw"])
        assert isinstance(reading, Reading)
        tally.add(planned, reading, counts)
        assert tally.rows.is_balanced
        replaced = {prefix: planned.known} if planned.action is Action.REPLACE and planned.known else {}
        return Delivery(Change("p", "", "", ""), rows, rejects, replaced)


def moment_of(raw: str) -> datetime | None:
    """None for a record that cannot become a row."""
    try:
        return datetime.fromisoformat(json.loads(raw)["at"]).replace(tzinfo=UTC)
    except (ValueError, TypeError, KeyError):
        return None


def _without(records: dict[str, str], prefix: str) -> dict[str, str]:
    return {id: raw for id, raw in records.items() if not id.startswith(prefix)}


def _records(plan: PartitionPlan, planned: PlannedArtifact) -> list[dict[str, Any]]:
    """With the closing row behind them."""
    feed = plan.target.feeds[planned.feed]
    batches = read_artifacts(feed.source, feed.format, [(0, planned.artifact)])
    return [row for batch in batches for row in batch.to_pylist()]


def _counts(stored: list[datetime | None], timed: list[datetime], outside: int, rejected: int) -> RowsFact:
    return RowsFact(0, len(stored), outside, rejected, *_ends(stored), *_ends(timed))


def _ends(moments: Iterable[datetime | None]) -> tuple[int | None, int | None]:
    microseconds = [(moment - _EPOCH) // timedelta(microseconds=1) for moment in moments if moment]
    return min(microseconds, default=None), max(microseconds, default=None)


def _report(plan: PartitionPlan, now: datetime) -> RunReport:
    """That there was a run, and when; nobody here asks for more."""
    return RunReport(now, now, "memory", plan.window.start, None, tuple(plan.asked), False, *[0] * 8)
