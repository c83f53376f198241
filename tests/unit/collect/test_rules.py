"""The rules of collection against the model, with plans carried out in memory: many histories in little time."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from memory_lake import Commit, Delivery, MemoryLake, moment_of

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
from tailpipe.collect.run import plan_partition
from tailpipe.collect.target import Target, only_sources
from tailpipe.collect.windows import ALWAYS, AskedWindow, Horizons
from tailpipe.config import load
from tailpipe.errors import ConflictError
from tailpipe.lake.lifecycle import edge_of, last_run_of, may_expire
from tailpipe.plugins.registry import load_registry
from tailpipe.times import Window, parse_lookback
from targets import make_targets

HORIZONS = Horizons(parse_lookback("6d"), parse_lookback("2d"))
# A failing history is made as short as it can be before it is shown, which takes minutes.
pytestmark = pytest.mark.timeout(900)
EXAMPLES = int(os.environ.get("TAILPIPE_TEST_EXAMPLES", "100"))


@dataclass
class InMemory:
    target: Target
    lake: MemoryLake = field(default_factory=MemoryLake)
    expire_after: int | None = None

    def collect(self, world: World, run: Run, trap: Trap) -> Came:
        asked = AskedWindow(*(None if hour is None else moment(hour) for hour in (run.start, run.end)))
        target, now, stored = only_sources(self.target, run.sources), moment(world.now), 0

        def commit(delivery: Delivery) -> None:
            nonlocal stored
            change = delivery.change
            trap.commit(change.kind, change.unit, lambda: self.lake.commit(delivery))
            stored += len(delivery.rows)

        while True:
            horizons = replace(HORIZONS, edge=self._edge(now, self.expire_after))
            plan = plan_partition(target, self.lake.state, asked, horizons, now, run.is_overwrite)
            try:
                failures = self.lake.execute(plan, now, commit)
            except ConflictError:
                continue
            if plan.edge and may_expire(plan.state, plan.edge):
                self._expire(plan.edge, commit)
            return Came(stored, {label.removeprefix(f"{world.folder}/") for label in failures})

    def delete(self, start: int | None, end: int | None) -> None:
        self.lake.delete(ALWAYS if start is None or end is None else Window(moment(start), moment(end)))

    def configure(self, expire_after: int | None) -> None:
        self.expire_after = expire_after

    def expire(self, world: World, days: int, is_forced: bool) -> None:
        edge = self._edge(moment(world.now), days, is_forced)
        assert edge is not None
        self._expire(edge)

    def _expire(self, edge: datetime, commit: Commit | None = None) -> None:
        try:
            self.lake.expire(edge, commit)
        except ConflictError:
            self._expire(edge, commit)

    def _edge(self, now: datetime, days: int | None, is_forced: bool = False) -> datetime | None:
        seen = None if is_forced else last_run_of([self.lake.state])
        return edge_of(parse_lookback(f"{days}d"), now, seen) if days else None

    def compact(self) -> None:
        """There are no files here."""

    def vacuum(self) -> None:
        self.lake.vacuum()

    def version(self) -> MemoryLake | None:
        return self.lake.copy() if self.lake.manifests else None

    def restore(self, version: MemoryLake) -> bool:
        self.lake.restore(version)
        return True

    def rows(self) -> dict[str, str]:
        return self.lake.rows

    def rejects(self) -> dict[str, str]:
        return self.lake.rejects

    def whole_days(self, world: World) -> set[int]:
        return days_of(WHOLE, self.lake.state, self._rows_by_day(), world)

    def expired_days(self, world: World) -> set[int]:
        return days_of(GONE, self.lake.state, self._rows_by_day(), world)

    def _rows_by_day(self) -> Counter[date]:
        return Counter(at.date() for raw in self.lake.rows.values() if (at := moment_of(raw)))


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


many = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


@many
@given(operations=operations)
def test_any_history_ends_in_what_the_rules_say(
    target: Target, folder: Path, operations: list[Operation]
) -> None:
    play(operations, empty_world(folder), InMemory(target))


@pytest.mark.parametrize("story", UPKEEPS)
def test_upkeep_is_what_the_rules_say(target: Target, folder: Path, story: str) -> None:
    play(UPKEEPS[story], empty_world(folder), InMemory(target))


@many
@given(beginning=beginnings, windows=divided_windows())
def test_the_order_of_windows_does_not_matter(
    target: Target, folder: Path, beginning: list[Happening], windows: tuple[Collect, list[Collect]]
) -> None:
    world = empty_world(folder)
    for happening in beginning:
        happening.apply(world)
    whole, parts = windows
    assert_order_does_not_matter(
        world,
        whole.run(world.now),
        [part.run(world.now) for part in parts],
        InMemory(target),
        InMemory(target),
    )


@many
@given(operations=operations)
def test_deaths_leave_no_trace(target: Target, folder: Path, operations: list[Operation]) -> None:
    assert_deaths_leave_no_trace(operations, empty_world(folder), InMemory(target), InMemory(target))
