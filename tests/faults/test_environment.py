"""A world that does not stand still: full disks, locked folders, wrong clocks."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
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

from installed import Home, line

LAKE_ERRORS = (1, 4)
PAGE_BYTES = 4096


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


def stray_files(home: Home) -> list[str]:
    """Data that no commit names: a disk that is full of it would stay full."""
    table = home.data / "app_log"
    known = DeltaTable(str(table)).file_uris() if list(table.glob("_delta_log/*.json")) else []
    return [str(path) for path in table.glob("tp_partition=*/**/*.parquet") if str(path) not in known]


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
        assert "Traceback" not in told
        check_whole(stage, visible(forks, home))
        if scenario is COLLECTING:
            assert stray_files(home) == []
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
