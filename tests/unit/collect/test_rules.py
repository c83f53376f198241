"""The rules of collection against the model, with plans carried out in memory: many histories in little time."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from memory_lake import Delivery, MemoryLake

from rules_model import Run
from rules_play import Operation, Trap, operations, play
from rules_world import CONFIG, World, moment
from tailpipe.collect.plan import plan_partition
from tailpipe.collect.target import Target, make_targets, only_sources
from tailpipe.collect.windows import ALWAYS, AskedWindow, Horizons
from tailpipe.config import load
from tailpipe.errors import ConflictError
from tailpipe.plugins.registry import load_registry
from tailpipe.times import Window, parse_lookback

HORIZONS = Horizons(parse_lookback("6d"), parse_lookback("2d"))
EXAMPLES = int(os.environ.get("TAILPIPE_TEST_EXAMPLES", "150"))


@dataclass
class InMemory:
    target: Target
    lake: MemoryLake = field(default_factory=MemoryLake)

    def collect(self, world: World, run: Run, trap: Trap) -> int:
        asked = AskedWindow(*(None if hour is None else moment(hour) for hour in (run.start, run.end)))
        now = moment(world.now)
        target = only_sources(self.target, run.sources)
        stored = 0

        def commit(delivery: Delivery) -> None:
            nonlocal stored
            change = delivery.change
            trap.commit(change.kind, change.unit, lambda: self.lake.commit(delivery))
            stored += len(delivery.rows)

        while True:
            plan = plan_partition(target, self.lake.state, asked, HORIZONS, now, run.is_overwrite)
            try:
                self.lake.execute(plan, now, commit)
                return stored
            except ConflictError:
                continue

    def delete(self, start: int | None, end: int | None) -> None:
        self.lake.delete(ALWAYS if start is None or end is None else Window(moment(start), moment(end)))

    def rows(self) -> Counter[str]:
        return Counter(self.lake.rows.values())

    def rejects(self) -> Counter[str]:
        return Counter(self.lake.rejects.values())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rules")


@pytest.fixture(scope="module")
def target(folder: Path) -> Target:
    (folder / "main.tpc").write_text(CONFIG.replace("LOGS", str(folder / "logs")))
    registry = load_registry()
    (target,) = make_targets(load([folder], registry, environment={}, now=moment(0)), registry).values()
    return target


def empty_world(folder: Path) -> World:
    shutil.rmtree(folder / "logs", ignore_errors=True)
    return World(folder / "logs")


@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(operations=operations)
def test_any_history_ends_in_what_the_rules_say(
    target: Target, folder: Path, operations: list[Operation]
) -> None:
    play(operations, empty_world(folder), InMemory(target))
