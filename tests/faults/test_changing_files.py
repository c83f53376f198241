"""Files that are deleted, rewritten, appended to and rotated while a collection is on its way."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from forks import Forks
from scenarios import COLLECT, DAYS, Scenario, first_collection
from stages import Stage, check_whole, copy_home, make_stage, visible
from steps import AFTER, BEFORE, Incident, Point

from installed import APP_TABLE, Home, line

READ_BY_DRIVER = Point("read artifact (driver)", 1, BEFORE)
READ_BY_TASK = Point("read artifact (task)", 1, BEFORE)
LINES = 3000


@pytest.fixture
def stage(forks: Forks, tmp_path: Path) -> Stage:
    return make_stage(forks, tmp_path / "stage", Scenario("first collection", first_collection))


def test_a_file_deleted_after_it_was_listed_fails_its_day_alone(
    forks: Forks, stage: Stage, tmp_path: Path
) -> None:
    for number, point in enumerate((READ_BY_DRIVER, READ_BY_TASK)):
        home = copy_home(stage.home, tmp_path / str(number))
        victim = stage.home.logs / "db" / f"{DAYS[1]}-1.jsonl"
        elsewhere = tmp_path / victim.name
        ended = forks.run(home, *COLLECT, incident=Incident(point, "move", str(victim), str(elsewhere)))
        assert not victim.exists()
        assert ended.code == 1, ended.errors + ended.output
        (partition,) = json.loads(ended.output)["partitions"]
        (failure,) = partition["failed"]
        assert failure["label"] == DAYS[1]
        assert str(victim) in failure["message"]
        seen = visible(forks, home)
        check_whole(stage, seen)
        assert {part for part in seen if part.startswith("rows")} == {
            f"rows of {day}" for day in (DAYS[0], DAYS[2])
        }
        without = forks.run(home, *COLLECT).json()["rows"]
        assert (without["stored"], without["rejected"]) == (40, 1)
        elsewhere.rename(victim)
        assert forks.run(home, *COLLECT).json()["rows"]["in"] == 41
        assert visible(forks, home) == stage.after


def test_a_file_rewritten_after_it_was_listed_is_read_by_the_next_run(
    forks: Forks, stage: Stage, tmp_path: Path
) -> None:
    for number, point in enumerate((READ_BY_DRIVER, READ_BY_TASK)):
        home = copy_home(stage.home, tmp_path / str(number))
        victim = stage.home.logs / "db" / f"{DAYS[1]}-1.jsonl"
        content = victim.read_bytes()
        shorter = line(f"{DAYS[1]}T00:00:00Z", "new")
        ended = forks.run(home, *COLLECT, incident=Incident(point, "write", str(victim), shorter))
        assert ended.code == 1, ended.errors + ended.output
        seen = visible(forks, home)
        assert not any(DAYS[1] in part for part in seen)
        check_whole(stage, seen)
        assert forks.run(home, *COLLECT).json()["rows"]["stored"] == 41
        levels = (
            forks.run(home, "query", f"select level from app_log where tp_date = '{DAYS[1]}'").done().output
        )
        assert levels.count("new") == 1
        assert levels.count("db-") == 0
        victim.write_bytes(content)


@pytest.mark.parametrize("moment", [BEFORE, AFTER])
def test_lines_appended_after_the_listing_wait_for_the_next_run(
    forks: Forks, stage: Stage, tmp_path: Path, moment: str
) -> None:
    home = copy_home(stage.home, tmp_path / "home")
    victim = stage.home.logs / "db" / f"{DAYS[1]}-1.jsonl"
    more = line(f"{DAYS[1]}T00:00:00Z", "more") * 3
    incident = Incident(Point("read artifact (task)", 5, moment), "append", str(victim), more)
    assert forks.run(home, *COLLECT, incident=incident).json()["rows"]["in"] == 6 * 41
    assert visible_rows(forks, home) == visible_rows(forks, Home(stage.home.folder / "clean"))
    assert forks.run(home, *COLLECT).json()["rows"]["stored"] == 3
    assert forks.run(home, *COLLECT).json()["rows"]["in"] == 0


def visible_rows(forks: Forks, home: Home) -> dict[str, list[str]]:
    return {part: rows for part, rows in visible(forks, home).items() if part.startswith("rows")}


@pytest.mark.parametrize(
    "rotation",
    [
        "rename",
        pytest.param("copytruncate", marks=pytest.mark.slow),
        pytest.param("gzip", marks=pytest.mark.slow),
    ],
)
def test_a_file_that_is_written_and_rotated_during_collections(
    forks: Forks, tmp_path: Path, rotation: str
) -> None:
    """Pieces end in the middle of lines, names change in the middle of runs: every line comes once."""
    home = Home(tmp_path)
    home.configure(APP_TABLE + 'partition "app_log" "one" { source "file" { paths = ["LOGS"] } }\n')
    home.write("app.log", line("2024-06-01T00:00:00Z", "first", -1))
    runs: list[int] = []
    writer = threading.Thread(target=write_and_rotate, args=(home.logs, rotation, runs))
    writer.start()
    while writer.is_alive():
        runs.append(forks.run(home, *COLLECT).code)
    writer.join()
    assert {*runs} <= {0, 1}
    forks.run(home, *COLLECT).done()
    assert forks.run(home, *COLLECT).json()["rows"]["in"] == 0
    rows = forks.run(home, "query", "select size from app_log order by 1", "--output", "json").json()["rows"]
    assert [row["size"] for row in rows] == list(range(-1, LINES))
    assert forks.run(home, "query", "from tailpipe.rejects", "--output", "json").json()["rows"] == []


def write_and_rotate(folder: Path, rotation: str, runs: Sequence[int]) -> None:
    """A sixth of the lines per run: fast machines and slow ones meet the same."""
    chance = random.Random(11)
    text = "".join(line("2024-06-01T00:00:00Z", "x" * (number % 50), number) for number in range(LINES))
    log = folder / "app.log"
    rotated, share = 0, len(text) // 6
    while text:
        size = chance.randrange(1, 400)
        with log.open("a") as file:
            file.write(text[:size])
        ends_line = text[size - 1 : size] == "\n" or len(text) <= size
        text = text[size:]
        if ends_line and chance.random() < 0.5:
            rotated += 1
            rotate(log, folder / f"app.log.{rotated}", rotation)
        threading.Event().wait(0.001)
        while len(text) < share * (5 - len(runs)):
            threading.Event().wait(0.01)


def rotate(log: Path, old: Path, rotation: str) -> None:
    if rotation == "copytruncate":
        shutil.copyfile(log, old)
        os.truncate(log, 0)
        return
    log.rename(old)
    log.touch()
    if rotation == "gzip":
        subprocess.run(["gzip", old], check=True)
