"""Ctrl-C between commits: what is committed stays, the next run takes up the rest."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from forks import Forks
from scenarios import COLLECT, DATED, Run, Scenario, day_lines
from stages import check_recovery, check_whole, copy_home, make_stage, visible

from installed import Home

DAYS = tuple(f"2024-{month:02d}-{day:02d}" for month in range(1, 4) for day in range(1, 29))
PATIENCE_SECONDS = 60
FEW_SECONDS = 15


def many_days(home: Home, run: Run) -> None:
    home.configure(DATED)
    home.write("db/none.jsonl", "")
    for day in DAYS:
        home.write(f"web/{day}-1.jsonl", day_lines(day, "web", rows=3) + "broken\n")


def wait_for_commit(process: subprocess.Popen[str], home: Home, number: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (home.data / "app_log" / "_delta_log" / f"{number:020d}.json").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_once_between_commits(forks: Forks, tmp_path: Path) -> None:
    stage = make_stage(forks, tmp_path / "stage", Scenario("many days", many_days))
    home = copy_home(stage.home, tmp_path / "home")
    process = home.start(*COLLECT)
    wait_for_commit(process, home, 3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=FEW_SECONDS)
    assert process.returncode == 130, errors + output
    assert "kept" in errors
    assert "Traceback" not in errors
    seen = visible(forks, home)
    check_whole(stage, seen)
    assert 0 < len(seen) < len(stage.after)
    check_recovery(forks, stage, home)


def test_twice_stops_at_once(forks: Forks, tmp_path: Path) -> None:
    stage = make_stage(forks, tmp_path / "stage", Scenario("many days", many_days))
    home = copy_home(stage.home, tmp_path / "home")
    process = home.start(*COLLECT)
    wait_for_commit(process, home, 3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    _, errors = process.communicate(timeout=FEW_SECONDS)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert time.monotonic() - started < FEW_SECONDS / 3
    check_recovery(forks, stage, home)
