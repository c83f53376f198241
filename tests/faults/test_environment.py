"""A world that does not stand still: full disks, locked folders, wrong clocks, files that change while being read."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from forks import Forks
from scenarios import (
    COLLECT,
    DATED,
    DAYS,
    DELETE_PART,
    OVERWRITE,
    Run,
    Scenario,
    first_collection,
)
from stages import Stage, check_recovery, check_whole, copy_home, make_stage, visible
from steps import AFTER, BEFORE, Incident, Point

from installed import APP_TABLE, Home, line

LAKE_ERRORS = (1, 4)
PAGE_BYTES = 4096
READ_BY_DRIVER = Point("read artifact (driver)", 1, BEFORE)
READ_BY_TASK = Point("read artifact (task)", 1, BEFORE)


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[None]:
    """A file system of its own, with what the folder held. Skips where mounting is not allowed."""
    held = subprocess.run(["tar", "-cC", folder, "."], capture_output=True, check=True).stdout
    mount(folder, "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs")
    try:
        subprocess.run(["tar", "-xC", folder], input=held, check=True)
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def mount(folder: Path, *arguments: str) -> None:
    try:
        subprocess.run(["mount", *arguments, folder], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"mounting is not allowed here: {getattr(error, 'stderr', error)}")


def noise(home: Home, run: Run) -> None:
    """Days of text that cannot be packed: each takes about 100 kB of the disk."""
    home.configure(DATED)
    chance = random.Random(7)
    for day in DAYS:
        lines = [
            line(f"{day}T{number % 24:02d}:00:00Z", chance.randbytes(60).hex(), number)
            for number in range(1500)
        ]
        home.write(f"web/{day}-1.jsonl", "".join(lines))
        home.write(f"db/{day}-1.jsonl", "broken\n")


def collected_noise(home: Home, run: Run) -> None:
    noise(home, run)
    run(*COLLECT)
    home.configure(DATED.replace('"one" {', '"one" {\n  filter = "size % 40 <> 0"'))


def deleted(summary: Any) -> bool:
    return bool(summary["rows"] == 0)


COLLECTING = Scenario("collect", noise)
OVERWRITING = Scenario("overwrite", collected_noise, OVERWRITE)
DELETING = Scenario("delete", collected_noise, DELETE_PART, DELETE_PART, deleted)


def lake_bytes(home: Home) -> int:
    """As a file system in memory counts: whole pages of files."""
    sizes = (path.stat().st_size for path in home.data.rglob("*") if path.is_file())
    return sum(-(-size // PAGE_BYTES) * PAGE_BYTES for size in sizes)


@pytest.mark.parametrize(
    ("scenario", "share"),
    [
        (COLLECTING, 0.05),
        (COLLECTING, 0.97),
        *(
            pytest.param(*values, marks=pytest.mark.slow)
            for values in (
                (COLLECTING, 0.3),
                (COLLECTING, 0.7),
                (OVERWRITING, 0.6),
                (OVERWRITING, 0.97),
                (DELETING, 0.5),
                (DELETING, 0.9),
            )
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Scenario) else str(value),
)
def test_a_full_disk_shows_nothing_by_halves(
    forks: Forks, tmp_path: Path, scenario: Scenario, share: float
) -> None:
    """The disk has room for a share of what the command writes."""
    stage = make_stage(forks, tmp_path / "stage", scenario)
    home = copy_home(stage.home, tmp_path / "home")
    home.data.mkdir(parents=True, exist_ok=True)
    held, needed = lake_bytes(home), lake_bytes(Home(stage.home.folder / "clean"))
    with small_disk(home.data, int(held + (needed - held) * share)):
        full = forks.run(home, *stage.command)
        told = full.errors + full.output
        assert full.code in LAKE_ERRORS, told
        assert "No space left" in told or "os error 28" in told, told
        assert "hint:" in told or '"failed"' in told, told
        check_whole(stage, visible(forks, home))
        mount(home.data, "-o", "remount,size=64m")
        check_recovery(forks, stage, home)


def test_a_log_without_entries_is_no_table_yet(forks: Forks, tmp_path: Path) -> None:
    """What is left when a run dies, or finds no room, while it makes the table."""
    stage = make_stage(forks, tmp_path / "stage", Scenario("first collection", first_collection))
    home = copy_home(stage.home, tmp_path / "home")
    (home.data / "app_log" / "_delta_log").mkdir(parents=True)
    assert visible(forks, home) == {}
    for command in (("partition", "list"), ("table", "show", "app_log"), ("coverage",), ("rejects", "list")):
        forks.run(home, *command).done()
    check_recovery(forks, stage, home)


@pytest.fixture
def stage(forks: Forks, tmp_path: Path) -> Stage:
    return make_stage(forks, tmp_path / "stage", Scenario("first collection", first_collection))


def test_a_lake_that_cannot_be_written_is_said_and_still_answers(
    forks: Forks, stage: Stage, tmp_path: Path
) -> None:
    home = copy_home(stage.home, tmp_path / "home")
    home.data.mkdir(parents=True, exist_ok=True)
    with small_disk(home.data, 64 << 20):
        forks.run(home, *COLLECT, "--to", DAYS[0]).done()
        before = visible(forks, home)
        mount(home.data, "-o", "remount,ro")
        locked = forks.run(home, *COLLECT)
        assert locked.code == 4
        assert "Read-only file system" in locked.errors
        assert "hint:" in locked.errors
        assert visible(forks, home) == before != {}
        mount(home.data, "-o", "remount,rw")
        check_recovery(forks, stage, home)


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


LINES = 3000


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


def test_a_wrong_clock_loses_nothing_and_doubles_nothing(forks: Forks, tmp_path: Path) -> None:
    """Runs without --from go by the clock: ahead by a year, behind by a year, and right again."""
    home = Home(tmp_path)
    home.configure(DATED)
    (home.logs / "db").mkdir(parents=True)
    today = datetime.now(UTC).date()
    expected = []

    def write(days_ago: int, part: int) -> None:
        day = (today - timedelta(days=days_ago)).isoformat()
        home.write(f"web/{day}-{part}.jsonl", line(f"{day}T00:00:00Z", f"part-{part}", days_ago))
        expected.append((f"part-{part}", days_ago))

    command = ("collect", "--output", "json", "--progress=false")
    for part, shift in enumerate((0, 365, 0, -365, 0, 1, -1, 0)):
        write(0, 2 * part)
        write(1, 2 * part + 1)
        forks.run(home, *command, clock_shift_days=shift).done()
    assert forks.run(home, *command).json()["rows"]["in"] == 0
    rows = forks.run(home, "query", "select level, size from app_log", "--output", "json").json()["rows"]
    assert sorted((row["level"], row["size"]) for row in rows) == sorted(expected)
    assert os.listdir(home.logs / "db") == []
