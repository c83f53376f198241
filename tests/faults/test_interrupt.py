"""Ctrl-C: what was read to its end is committed and stays, the next run takes up the rest."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

from forks import Forks
from scenarios import COLLECT, DATED, Run, Scenario, day_lines
from stages import check_recovery, check_whole, copy_home, make_stage, visible

from installed import APP, Home, line

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


def read_artifacts(folder: Path) -> int:
    """As tasks count them while they work."""
    counts = [json.loads(path.read_text()) for path in folder.glob("tailpipe-counts-*/*.json")]
    return sum(count["artifacts"] for count in counts)


def test_once_while_files_without_a_date_are_read(tmp_path: Path) -> None:
    """At six of 24 files: those are kept, and nothing of the others, which come with the next run."""
    home = Home(tmp_path, {"TAILPIPE_ENGINE": "sail", "TMPDIR": str(tmp_path / "tmp")})
    (tmp_path / "tmp").mkdir()
    home.configure(APP)
    for number in range(24):
        home.write(f"{number:02d}.jsonl", line("2024-06-01T00:00:00Z", f"l{number:02d}") * 50_000)
    process = home.start("collect", "--from", "2024-01-01", "--progress=false")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (read := read_artifacts(tmp_path / "tmp")) < 6:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, errors
    levels = "select level, count(*)::int as n from app_log group by all order by all"
    kept = home.query(levels)
    assert read <= len(kept) < 24
    assert {row["n"] for row in kept} == {50_000}
    assert f"1 unit with {len(kept) * 50_000:,} rows committed in this run and kept" in errors
    assert home.collect()["rows"]["in"] == (24 - len(kept)) * 50_000
    assert home.query(levels) == [{"level": f"l{number:02d}", "n": 50_000} for number in range(24)]
