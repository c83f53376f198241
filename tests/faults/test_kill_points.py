"""A command that dies at any step: readers see whole days only, and the next run makes up what is missing."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from forks import Forks
from ledger import Ledger
from scenarios import (
    COMPACT,
    EXPIRE,
    RESTORE,
    SCENARIOS,
    VACUUM,
    Scenario,
    another_state,
    few_old_files,
    first_collection,
    nothing_to_expire,
    nothing_to_merge,
    nothing_to_restore,
    small_files,
    too_old,
)
from stages import COMMITS, Stage, all_points, check_recovery, copy_home, make_stage, some_points, visible
from steps import AFTER, BEFORE, Incident, Point

RANDOM_KILLS = 6
WITHOUT_WINDOW = ("collect", "--output", "json", "--progress=false")
KILLED_AT_RANDOM = [
    scenario for scenario in SCENARIOS if scenario.name in ("first collection", "overwrite", "growing files")
]
# One of each kind; the slow test takes all there are.
SOME_POINTS = (
    Point("list folder (driver)", 1, AFTER),
    Point("read artifact (task)", 3, BEFORE),
    Point("write data (task)", 2, AFTER),
    Point("sync rejects (task)", 1, AFTER),
    Point("create table (driver)", 1, AFTER),
    Point("close manifest (driver)", 2, BEFORE),
    Point("commit (driver)", 2, BEFORE),
    Point("commit (driver)", 1, AFTER),
)

UPKEEP = (
    (Scenario("compact", small_files, COMPACT, COMPACT, nothing_to_merge), ((2, BEFORE), (2, AFTER))),
    (Scenario("restore", another_state, RESTORE, RESTORE, nothing_to_restore), ((1, AFTER),)),
    (Scenario("expire", too_old, EXPIRE, EXPIRE, nothing_to_expire), ((1, BEFORE),)),
)


def die_at_all(forks: Forks, ledger: Ledger, stage: Stage, folder: Path, points: Iterable[Point]) -> None:
    def die(numbered: tuple[int, Point]) -> None:
        number, point = numbered
        with ledger.entry(stage.scenario.name, point.name):
            home = copy_home(stage.home, folder / str(number))
            ended = forks.run(home, *stage.command, incident=Incident(point))
            assert ended.died, f"{point} was not met: exit code {ended.code}\n{ended.errors}"
            check_recovery(forks, stage, home)

    forks.for_all(die, enumerate(points))


def test_dying_at_some_steps(forks: Forks, ledger: Ledger, tmp_path: Path) -> None:
    stage = make_stage(forks, tmp_path / "stage", Scenario("some steps", first_collection))
    die_at_all(forks, ledger, stage, tmp_path, SOME_POINTS)


@pytest.mark.parametrize(("scenario", "commits"), UPKEEP, ids=lambda value: getattr(value, "name", ""))
def test_upkeep_that_dies_at_a_commit(
    forks: Forks, ledger: Ledger, tmp_path: Path, scenario: Scenario, commits: tuple[tuple[int, str], ...]
) -> None:
    stage = make_stage(forks, tmp_path / "stage", scenario)
    points = [Point("commit (driver)", number, moment) for number, moment in commits]
    die_at_all(forks, ledger, stage, tmp_path, points)


def test_a_vacuum_that_dies_among_files(forks: Forks, ledger: Ledger, tmp_path: Path) -> None:
    scenario = Scenario("vacuum", few_old_files, VACUUM, VACUUM, lambda told: bool(told["files"] == 0))
    stage = make_stage(forks, tmp_path / "stage", scenario)
    points = [Point("delete data (driver)", 2, AFTER), Point("commit (driver)", 1, AFTER)]
    die_at_all(forks, ledger, stage, tmp_path, points)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_dying_at_every_step(forks: Forks, ledger: Ledger, tmp_path: Path, scenario: Scenario) -> None:
    stage = make_stage(forks, tmp_path / "stage", scenario)
    turn = SCENARIOS.index(scenario)
    is_whole = turn == 0 or scenario.all_steps
    points = all_points(stage.clean.steps) if is_whole else some_points(stage.clean.steps, turn)
    if scenario.only_commits:
        points = [point for point in points if point.name.startswith(COMMITS)]
    assert points
    die_at_all(forks, ledger, stage, tmp_path, points)


@pytest.mark.slow
def test_the_next_run_takes_up_what_the_dead_one_was_asked_for(
    forks: Forks, ledger: Ledger, tmp_path: Path
) -> None:
    """Days that are long past are asked for once: the run after the death need not name them again."""
    stage = make_stage(forks, tmp_path / "stage", Scenario("asked for once", first_collection))

    def die(number: int) -> None:
        point = Point("commit (driver)", number, AFTER)
        with ledger.entry(stage.scenario.name, point.name):
            home = copy_home(stage.home, tmp_path / str(number))
            assert forks.run(home, *stage.command, incident=Incident(point)).died
            forks.run(home, *WITHOUT_WINDOW).done()
            assert visible(forks, home) == stage.after

    forks.for_all(die, (1, 2, 3))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("scenario", KILLED_AT_RANDOM, ids=lambda scenario: scenario.name)
def test_kill_minus_nine_at_any_time(
    forks: Forks, ledger: Ledger, tmp_path: Path, scenario: Scenario
) -> None:
    stage = make_stage(forks, tmp_path / "stage", scenario)
    chance = random.Random(scenario.name)
    moments = [chance.uniform(0.02, stage.clean.seconds) for _ in range(RANDOM_KILLS)]

    def kill(numbered: tuple[int, float]) -> None:
        number, seconds = numbered
        with ledger.entry(scenario.name, "kill -9 at a random time"):
            home = copy_home(stage.home, tmp_path / str(number))
            forks.run(home, *stage.command, kill_after_seconds=seconds)
            check_recovery(forks, stage, home)

    forks.for_all(kill, enumerate(moments))
