"""The rules of collection against the model, on a real lake: any history of files, runs, deletions and crashes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from pipelines import Place
from rules_model import Run
from rules_play import (
    Came,
    Collect,
    Operation,
    Trap,
    assert_deaths_leave_no_trace,
    assert_order_does_not_matter,
    beginnings,
    divided_windows,
    operations,
    play,
    whole_days,
)
from rules_world import CONFIG, Happening, World, moment
from tailpipe.collect import run_report
from tailpipe.collect.outcome import Cause
from tailpipe.collect.windows import ALWAYS
from tailpipe.engine.session import Session
from tailpipe.errors import UsageError
from tailpipe.lake import transaction as transactions
from tailpipe.lake.catalog import partition_states, reject_files
from tailpipe.lake.deletion import delete_window
from tailpipe.lake.sizes import rows_per_day
from tailpipe.lake.state import PartitionState
from tailpipe.lake.transaction import Change, Transaction
from tailpipe.times import Window

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
        states = partition_states(self.place.lake, TABLE)
        rows = rows_per_day(self.place.lake, TABLE).get("p", {})
        return whole_days(states.get("p", PartitionState()), rows, world)


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
