"""Collectors at the same time: both end well, nothing is stored twice, and no lock outlives them."""

from __future__ import annotations

import random
import re
import threading
import time
from pathlib import Path

import pytest
from forks import Ended, Forks
from scenarios import (
    COLLECT,
    DATED,
    DELETE_PART,
    OVERWRITE,
    RETRY,
    Run,
    Scenario,
    changed_filter,
    fixed_configuration,
    growing_files,
    new_files,
    write_days,
)
from stages import copy_home, make_stage, visible
from steps import AFTER, BEFORE, EXIT_OF_THE_DEAD, Incident, Point

from installed import Home

ROUNDS = 2
MANY_DAYS = tuple(f"2024-06-{day:02d}" for day in range(1, 13))
KNOWN_FILES = re.compile(r".*\.parquet|[0-9]{20}\.json|_last_checkpoint|\..*\.crc")


def many_days(home: Home, run: Run) -> None:
    home.configure(DATED)
    write_days(home, MANY_DAYS)


def run_together(
    forks: Forks,
    home: Home,
    *commands: tuple[str, ...],
    apart_seconds: float = 0,
    incident: Incident | None = None,
) -> list[Ended]:
    """Each command from a folder of its own, so that what they print stays apart. The first meets the incident."""
    ended: dict[int, Ended] = {}

    def run(number: int) -> None:
        time.sleep(number * apart_seconds)
        shell = Home(home.folder / f"shell-{number}", {**home.environment, **lake_of(home)})
        shell.logs.mkdir(parents=True, exist_ok=True)
        ended[number] = forks.run(shell, *commands[number], incident=None if number else incident)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(commands))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [ended[number] for number in range(len(commands))]


def lake_of(home: Home) -> dict[str, str]:
    return {"TAILPIPE_INSTALL_DIR": str(home.folder / "install")}


def check_files(home: Home) -> None:
    files = [path.name for path in home.data.rglob("*") if path.is_file()]
    assert [name for name in files if not KNOWN_FILES.fullmatch(name)] == []


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("many days", many_days),
        pytest.param(Scenario("new files", new_files), marks=pytest.mark.slow),
        pytest.param(Scenario("growing files", growing_files), marks=pytest.mark.slow),
        pytest.param(Scenario("overwrite", changed_filter, OVERWRITE), marks=pytest.mark.slow),
        pytest.param(Scenario("retry", fixed_configuration, RETRY), marks=pytest.mark.slow),
    ],
    ids=lambda scenario: scenario.name,
)
def test_the_same_command_twice_at_once(forks: Forks, tmp_path: Path, scenario: Scenario) -> None:
    stage = make_stage(forks, tmp_path / "stage", scenario)
    chance = random.Random(scenario.name)
    for number in range(ROUNDS):
        home = copy_home(stage.home, tmp_path / str(number))
        apart = chance.uniform(0, stage.clean.seconds) if number else 0
        for ended in run_together(forks, home, stage.command, stage.command, apart_seconds=apart):
            ended.done()
        assert visible(forks, home) == stage.after
        assert forks.run(home, *COLLECT).json()["rows"]["in"] == 0
        check_files(home)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "moment"), [(1, AFTER), (2, BEFORE), (7, AFTER)])
def test_one_of_two_dies(forks: Forks, tmp_path: Path, number: int, moment: str) -> None:
    stage = make_stage(forks, tmp_path / "stage", Scenario("many days", many_days))
    home = copy_home(stage.home, tmp_path / "home")
    death = Incident(Point("commit (driver)", number, moment))
    died, ended = run_together(forks, home, COLLECT, COLLECT, incident=death)
    assert died.code in (0, EXIT_OF_THE_DEAD), died.errors
    ended.done()
    assert visible(forks, home) == stage.after
    assert forks.run(home, *COLLECT).json()["rows"]["in"] == 0


@pytest.mark.slow
def test_deleting_while_collecting(forks: Forks, tmp_path: Path) -> None:
    """Either order is right; in both, collecting again brings the rows back exactly once."""
    stage = make_stage(forks, tmp_path / "stage", Scenario("new files", new_files))
    for number, apart in enumerate((0, 0.2, 0.4)):
        home = copy_home(stage.home, tmp_path / str(number))
        for ended in run_together(forks, home, COLLECT, DELETE_PART, apart_seconds=apart):
            ended.done()
        forks.run(home, *COLLECT).done()
        assert visible_rows(forks, home) == visible_rows(forks, Home(stage.home.folder / "clean"))


def visible_rows(forks: Forks, home: Home) -> dict[str, list[str]]:
    return {part: rows for part, rows in visible(forks, home).items() if part.startswith("rows")}


def test_different_partitions_side_by_side(forks: Forks, tmp_path: Path) -> None:
    def two_partitions(home: Home, run: Run) -> None:
        many_days(home, run)
        table, partition = DATED.split("partition ", 1)
        other = partition.replace('"one"', '"two"')
        home.configure(f"{table}partition {partition}partition {other}")

    stage = make_stage(forks, tmp_path / "stage", Scenario("two partitions", two_partitions))
    home = copy_home(stage.home, tmp_path / "home")
    commands = [(*COLLECT, f"app_log.{name}") for name in ("one", "two")]
    for ended in run_together(forks, home, *commands):
        assert "again" not in ended.done().errors
    assert visible(forks, home) == stage.after
    check_files(home)
