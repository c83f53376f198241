"""The rules of collection against the model, on a real lake: any history of files, runs, deletions and crashes."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from pipelines import Place
from rules_model import Run
from rules_play import Operation, Trap, operations, play
from rules_world import CONFIG, World, moment
from tailpipe.collect import record
from tailpipe.collect.windows import ALWAYS
from tailpipe.engine.session import Session
from tailpipe.lake.deletion import delete_window
from tailpipe.lake.log import Change, TableLog
from tailpipe.times import Window

EXAMPLES = int(os.environ.get("TAILPIPE_TEST_EXAMPLES", "40"))
TABLE = "app_log"


@dataclass
class InLake:
    """Runs on a real engine into a real Delta table."""

    place: Place

    def collect(self, world: World, run: Run, trap: Trap) -> int:
        start, end = (None if hour is None else moment(hour).isoformat() for hour in (run.start, run.end))
        with _caught(trap):
            outcome = self.place.collect(
                *(f"{TABLE}.p.{source}" for source in run.sources),
                start=start,
                end=end,
                now=moment(world.now),
                is_overwrite=run.is_overwrite,
            )
        assert not outcome.failed
        return outcome.rows.stored

    def delete(self, start: int | None, end: int | None) -> None:
        window = ALWAYS if start is None or end is None else Window(moment(start), moment(end))
        delete_window(self.place.data, TABLE, "p", window)

    def rows(self) -> Counter[str]:
        rows = self.place.rows(TABLE)
        assert len({row["tp_id"] for row in rows}) == len(rows)
        return Counter(map(_raw, rows))

    def rejects(self) -> Counter[str]:
        return Counter(row["raw"] for row in self.place.rejects(TABLE))


def _raw(row: dict[str, Any]) -> str:
    """The line that the row came from."""
    fields = {"number": row["number"], "at": f"{row['tp_timestamp']}Z"}
    return json.dumps({**fields, "level": row["level"], "size": row["size"]})


@contextmanager
def _caught(trap: Trap) -> Iterator[None]:
    """Commits go through the trap."""
    commit = TableLog.commit

    def trapped(log: TableLog, change: Change, expected_version: int) -> int:
        trap.commit(change.kind, change.unit, lambda: commit(log, change, expected_version))
        return expected_version + 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableLog, "commit", trapped)
        yield


@pytest.fixture(autouse=True, scope="module")
def every_run_is_recorded() -> Iterator[None]:
    """Idle runs too, whatever the clock on the wall says, and often enough together for snapshots."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "IDLE_INTERVAL", timedelta(0))
        patch.setattr(record, "MANIFESTS_PER_SNAPSHOT", 5)
        yield


@pytest.mark.parametrize("engine", ["sail"], indirect=True)
@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(operations=operations)
def test_any_history_ends_in_what_the_rules_say(
    engine: Session, tmp_path_factory: pytest.TempPathFactory, operations: list[Operation]
) -> None:
    place = Place(tmp_path_factory.mktemp("place"), engine)
    place.configure(CONFIG)
    play(operations, World(place.logs), InLake(place))
