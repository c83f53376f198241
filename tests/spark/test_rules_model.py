"""The rules of collection against the model, on a real lake: any history of files, runs, deletions and crashes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from pipelines import Place
from rules_histories import UPKEEPS, beginnings, divided_windows, operations
from rules_model import Run
from rules_play import (
    GONE,
    WHOLE,
    Came,
    Collect,
    Operation,
    Trap,
    assert_deaths_leave_no_trace,
    assert_order_does_not_matter,
    days_of,
    play,
)
from rules_world import CONFIG, Happening, World, moment
from tailpipe.collect import run_report
from tailpipe.collect.outcome import Cause
from tailpipe.collect.windows import ALWAYS
from tailpipe.engine.session import Session
from tailpipe.errors import LakeError, UsageError
from tailpipe.lake import retention, snapshots
from tailpipe.lake import transaction as transactions
from tailpipe.lake.address import TableAddress
from tailpipe.lake.catalog import partition_states, reject_files
from tailpipe.lake.compaction import ASKED, Compaction, compact_days, plan_days
from tailpipe.lake.deletion import delete_window
from tailpipe.lake.lifecycle import edge_of, expirable, expire, last_run_of
from tailpipe.lake.log import TableLog
from tailpipe.lake.restoring import restore
from tailpipe.lake.sizes import rows_per_day
from tailpipe.lake.state import PartitionState
from tailpipe.lake.transaction import Change, Transaction
from tailpipe.lake.vacuum import vacuum_table
from tailpipe.times import Window, parse_lookback

EXAMPLES = int(os.environ.get("TAILPIPE_TEST_EXAMPLES", "30"))
TABLE = "app_log"


@dataclass
class InLake:
    """Runs on a real engine into a real Delta table."""

    place: Place

    def collect(self, world: World, run: Run, trap: Trap) -> Came:
        start, end = (None if hour is None else moment(hour).isoformat() for hour in (run.start, run.end))
        with _caught(trap):
            outcome = self.place.collect(
                *(f"{TABLE}.p.{source}" for source in run.sources),
                start=start,
                end=end,
                now=moment(world.now),
                is_overwrite=run.is_overwrite,
            )
        if any(failure.cause is Cause.USAGE for failure in outcome.failed):
            raise UsageError("the window is empty")
        labels = {failure.label.removeprefix(f"{world.folder}/") for failure in outcome.failed}
        return Came(outcome.rows.stored, labels)

    def delete(self, start: int | None, end: int | None) -> None:
        window = ALWAYS if start is None or end is None else Window(moment(start), moment(end))
        delete_window(self.place.lake, TABLE, "p", window)

    def configure(self, expire_after: int | None) -> None:
        said = f'\n  expire_after = "{expire_after}d"' if expire_after else ""
        self.place.configure(CONFIG.replace('lookback = "6d"', f'lookback = "6d"{said}'))

    def expire(self, world: World, days: int, is_forced: bool) -> None:
        seen = None if is_forced else last_run_of(partition_states(self.place.lake, TABLE).values())
        edge = edge_of(parse_lookback(f"{days}d"), moment(world.now), seen)
        foretold = expirable(self.place.lake, TABLE, "p", edge)
        assert expire(self.place.lake, TABLE, "p", edge) == foretold

    def compact(self) -> None:
        log = TableLog(self.address, pa.schema([]))
        log.refresh()
        planner = partial(plan_days, ASKED)
        plans = planner(log.live_files("p"))
        compaction = Compaction.of(compact_days(log, plans, planner, lambda plan: None))
        assert not compaction.failed
        assert compaction.files == sum(len(plan.files) for plan in plans)

    def vacuum(self) -> None:
        if self.version() is not None:
            vacuum_table(self.address, parse_lookback("0d"))

    def version(self) -> int | None:
        delta = self.address.opened() if self.address.is_table() else None
        return None if delta is None else int(delta.version())

    def restore(self, version: int) -> bool:
        try:
            restore(self.address, version)
        except LakeError:
            return False
        return True

    @property
    def address(self) -> TableAddress:
        return self.place.lake.table(TABLE)

    def rows(self) -> dict[str, str]:
        rows = self.place.rows(TABLE)
        by_id = {row["tp_id"]: _raw(row) for row in rows}
        assert len(by_id) == len(rows)
        return by_id

    def rejects(self) -> dict[str, str]:
        rows = [
            row for path in reject_files(self.place.lake, TABLE) for row in pq.read_table(path).to_pylist()
        ]
        by_id = {row["id"]: row["raw"] for row in rows}
        assert len(by_id) == len(rows)
        return by_id

    def whole_days(self, world: World) -> set[int]:
        return self._days(WHOLE, world)

    def expired_days(self, world: World) -> set[int]:
        return self._days(GONE, world)

    def _days(self, states: Sequence[str], world: World) -> set[int]:
        state = partition_states(self.place.lake, TABLE).get("p", PartitionState())
        return days_of(states, state, rows_per_day(self.place.lake, TABLE).get("p", {}), world)


def _raw(row: dict[str, Any]) -> str:
    """The line that the row came from."""
    fields = {"number": row["number"], "at": f"{row['tp_timestamp']}Z"}
    return json.dumps({**fields, "level": row["level"], "size": row["size"]})


@contextmanager
def _caught(trap: Trap) -> Iterator[None]:
    """Commits go through the trap."""
    commit = Transaction.commit

    def trapped(transaction: Transaction, change: Change) -> int:
        versions: list[int] = []
        trap.commit(change.kind, change.unit, lambda: versions.append(commit(transaction, change)))
        return versions[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transaction, "commit", trapped)
        yield


@pytest.fixture(autouse=True, scope="module")
def every_run_is_recorded() -> Iterator[None]:
    """Idle runs too, whatever the clock on the wall says, and often enough together for snapshots."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_report, "IDLE_INTERVAL", timedelta(0))
        patch.setattr(transactions, "MANIFESTS_PER_SNAPSHOT", 5)
        # A vacuum removes all that it may, and has snapshots written whenever they help.
        patch.setattr(retention, "LONGEST_COMMAND", timedelta(hours=-2))
        patch.setattr(snapshots, "_FEW", 1)
        patch.setattr(snapshots, "_QUIET", timedelta(hours=-2))
        yield


on_sail = pytest.mark.parametrize("engine", ["sail"], indirect=True)


def some(share: int) -> settings:
    """So many percent of the examples. A failing one is shown as it is: the same rules in memory shrink faster."""
    return settings(
        max_examples=max(1, EXAMPLES * share // 100),
        phases=(Phase.explicit, Phase.generate),
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )


@pytest.fixture(scope="module")
def make_place(engine: Session, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Place]:
    def made() -> Place:
        place = Place(tmp_path_factory.mktemp("place"), engine)
        place.configure(CONFIG)
        return place

    return made


def beside(place: Place) -> Place:
    """Another lake for the same logs."""
    return Place(place.folder, place.session, place.folder / "other")


@on_sail
@some(100)
@given(operations=operations)
def test_any_history_ends_in_what_the_rules_say(
    make_place: Callable[[], Place], operations: list[Operation]
) -> None:
    place = make_place()
    play(operations, World(place.logs), InLake(place))


@on_sail
@pytest.mark.parametrize("story", UPKEEPS)
def test_upkeep_is_what_the_rules_say(make_place: Callable[[], Place], story: str) -> None:
    place = make_place()
    play(UPKEEPS[story], World(place.logs), InLake(place))


@on_sail
@some(25)
@given(beginning=beginnings, windows=divided_windows())
def test_the_order_of_windows_does_not_matter(
    make_place: Callable[[], Place], beginning: list[Happening], windows: tuple[Collect, list[Collect]]
) -> None:
    place = make_place()
    world = World(place.logs)
    for happening in beginning:
        happening.apply(world)
    whole, parts = windows
    runs = [part.run(world.now) for part in parts]
    assert_order_does_not_matter(world, whole.run(world.now), runs, InLake(place), InLake(beside(place)))


@on_sail
@some(25)
@given(operations=operations)
def test_deaths_leave_no_trace(make_place: Callable[[], Place], operations: list[Operation]) -> None:
    place = make_place()
    assert_deaths_leave_no_trace(operations, World(place.logs), InLake(place), InLake(beside(place)))
