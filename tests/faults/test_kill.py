"""A collection that dies at any moment: readers see whole days only, and the next run makes up what is missing."""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from deltalake import DeltaTable

from installed import APP_TABLE, Home, line
from pipelines import stored_rows

DAYS = ("2024-06-01", "2024-06-02", "2024-06-03")
LINES_PER_DAY = 2000
FILES_PER_DAY = 3


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    for day in DAYS:
        for number in range(FILES_PER_DAY):
            lines = "".join(
                line(
                    f"{day}T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z",
                    f"l{second % 7}",
                    second,
                )
                for second in range(LINES_PER_DAY)
            )
            bad = f"broken line of {day}\n" if number == 0 else ""
            (folder / f"{day}-{number}.jsonl.gz").write_bytes(gzip.compress((lines + bad).encode(), 1))
    return folder


def make_home(folder: Path, logs: Path, engine: str) -> Home:
    folder.mkdir()
    home = Home(folder, {"TAILPIPE_ENGINE": engine})
    home.configure(
        APP_TABLE
        + f"""
        partition "app_log" "one" {{
          source "file" {{
            paths       = ["{logs}"]
            file_layout = `%{{YEAR:year}}-%{{MONTHNUM:month}}-%{{MONTHDAY:day}}-%{{INT:part}}.jsonl.gz`
          }}
        }}
        """
    )
    return home


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory, logs: Path) -> Home:
    """One run that nothing disturbs."""
    home = make_home(tmp_path_factory.mktemp("clean") / "home", logs, "sail")
    assert home.collect()["rows"] == {
        "in": len(DAYS) * (LINES_PER_DAY * FILES_PER_DAY + 1),
        "stored": len(DAYS) * LINES_PER_DAY * FILES_PER_DAY,
        "filtered": 0,
        "rejected": len(DAYS),
        "outside_window": 0,
        "stored_before": 0,
    }
    return home


@pytest.fixture(scope="module")
def clean_rows(clean: Home) -> list[dict[str, Any]]:
    return stored_rows(clean.data / "app_log")


def visible_days(home: Home) -> Counter[str]:
    location = home.data / "app_log"
    if not (location / "_delta_log" / f"{0:020d}.json").exists():
        return Counter()
    days = DeltaTable(str(location)).to_pyarrow_table(columns=["tp_date"]).column("tp_date").to_pylist()
    return Counter(day.isoformat() for day in days)


def assert_whole_days(home: Home) -> None:
    assert set(visible_days(home).values()) <= {LINES_PER_DAY * FILES_PER_DAY}


def assert_made_up(home: Home, clean_rows: list[dict[str, Any]]) -> None:
    """Collecting again gives what one clean run gives, in data and in quarantine."""
    before = visible_days(home)
    summary = home.collect()
    assert summary["rows"]["stored"] == len(clean_rows) - before.total()
    assert stored_rows(home.data / "app_log") == clean_rows
    rejects = home.query("select raw from tailpipe.rejects order by 1")
    assert [reject["raw"] for reject in rejects] == [f"broken line of {day}" for day in DAYS]


@pytest.mark.parametrize(
    ("engine", "sign", "is_whole_tree"),
    [
        ("sail", "tp_partition=*/*/*/*.parquet", False),
        ("sail", f"_delta_log/{2:020d}.json", False),
        pytest.param("spark", f"_delta_log/{1:020d}.json", False, marks=pytest.mark.slow),
        pytest.param("spark", "tp_partition=*/*/*/*.parquet", True, marks=pytest.mark.slow),
    ],
)
def test_kill_minus_nine(
    tmp_path: Path, logs: Path, clean_rows: list[dict[str, Any]], engine: str, sign: str, is_whole_tree: bool
) -> None:
    """The command itself, or all that it started too, is killed when the sign appears in the table's folder."""
    home = make_home(tmp_path / "home", logs, engine)
    process = home.start("collect", "--from", "2024-01-01", "--progress=false")
    started: set[psutil.Process] = set()
    deadline = time.monotonic() + 200
    while not any((home.data / "app_log").glob(sign)):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        started |= set(psutil.Process(process.pid).children(recursive=True))
        time.sleep(0.005)
    for child in started if is_whole_tree else ():
        with suppress(psutil.NoSuchProcess):
            child.kill()
    process.kill()
    process.communicate()
    assert_whole_days(home)
    assert psutil.wait_procs(list(started), timeout=60)[1] == []
    assert_whole_days(home)
    after = Home(home.folder, {"TAILPIPE_ENGINE": "sail"})
    assert_made_up(after, clean_rows)
    assert after.collect()["rows"]["in"] == 0


def test_a_write_that_fails_midway_shows_nothing_of_its_day(
    tmp_path: Path, logs: Path, clean_rows: list[dict[str, Any]]
) -> None:
    home = make_home(tmp_path / "home", logs, "sail")
    folder = home.data / "app_log" / "tp_partition=one" / "tp_index=default"
    folder.mkdir(parents=True)
    (folder / "tp_date=2024-06-02").write_text("a file in place of the folder")
    done = home.run("collect", "--from", "2024-01-01", "--output", "json")
    assert done.returncode == 1
    (partition,) = json.loads(done.stdout)["partitions"]
    assert [failure["label"] for failure in partition["failed"]] == ["2024-06-02"]
    assert "tp_date=2024-06-02" in partition["failed"][0]["message"]
    assert set(visible_days(home)) == {"2024-06-01", "2024-06-03"}
    assert_whole_days(home)
    (folder / "tp_date=2024-06-02").unlink()
    assert_made_up(home, clean_rows)
