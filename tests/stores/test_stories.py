"""What people do with a lake, told once: in a folder and in a bucket it ends in the same way."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from machines import (
    COLLECT,
    DAYS,
    FROM,
    ROWS,
    expected,
    machine,
    rows_by_day,
    told,
    total,
    write_logs,
)

from installed import Home
from lakes import StoredLake

PATIENCE_SECONDS = 120
# In a folder, other tests tell these every time.
MOSTLY_IN_A_BUCKET = pytest.mark.parametrize(
    "lake", [pytest.param("folder", marks=pytest.mark.slow), "bucket"], indirect=True
)


@MOSTLY_IN_A_BUCKET
def test_collect_query_and_delete(tmp_path: Path, lake: StoredLake) -> None:
    home = machine(tmp_path / "home", lake, "one")
    write_logs(home, "one")
    summary = home.collect()
    assert (summary["rows"]["stored"], summary["rows"]["rejected"]) == (len(DAYS) * ROWS, len(DAYS))
    assert rows_by_day(home) == expected("one")
    assert total(home, "tailpipe.rejects") == len(DAYS)
    assert home.collect()["rows"]["in"] == 0
    (covered,) = told(home, "coverage")["partitions"]
    assert {day["date"] for day in covered["days"] if day["state"] == "collected"} == {*DAYS}

    told(home, "partition", "delete", "app_log.one", "--from", DAYS[1], "--to", DAYS[1], "--force")
    assert rows_by_day(home) == expected("one", days=(DAYS[0], DAYS[2]))
    assert home.collect()["rows"]["stored"] == ROWS
    assert rows_by_day(home) == expected("one")
    told(home, "rejects", "drop", "app_log.one", "--force")
    assert total(home, "tailpipe.rejects") == 0
    assert {path.split("/")[0] for path in lake.paths()} <= {"app_log", ".tailpipe-conditional-put"}


@MOSTLY_IN_A_BUCKET
def test_kill_minus_nine_and_collect_again(tmp_path: Path, lake: StoredLake) -> None:
    """Killed as soon as a day is visible: the others are not there by halves, and come with the next run."""
    days = tuple(f"2024-06-{number:02d}" for number in range(1, 26))
    home = machine(tmp_path / "home", lake, "one")
    write_logs(home, "one", days=days)
    process = home.start(*COLLECT)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not lake.has_entry("app_log", 1):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
    process.kill()
    process.communicate()
    seen = rows_by_day(home)
    assert 0 < len(seen) < len(days)
    assert seen.items() <= expected("one", days=days).items()
    assert home.collect()["rows"]["stored"] == (len(days) - len(seen)) * ROWS
    assert rows_by_day(home) == expected("one", days=days)
    assert home.collect()["rows"]["in"] == 0


@MOSTLY_IN_A_BUCKET
def test_two_machines_collect_at_once_and_a_third_asks(tmp_path: Path, lake: StoredLake) -> None:
    """Both collect one partition of their own and one that both have; what they make is in their lake alone."""
    first = machine(tmp_path / "first", lake, "left", "both")
    second = machine(tmp_path / "second", lake, "right", "both", logs=first.logs)
    third = machine(tmp_path / "third", lake)
    write_logs(first, "left", "right", "both")
    running = [home.start(*COLLECT) for home in (first, second)]
    wanted = expected("left", "right", "both")
    while any(process.poll() is None for process in running):
        if lake.has_entry("app_log", 1):
            assert rows_by_day(third).items() <= wanted.items()
    for process in running:
        assert process.returncode == 0, process.communicate()
        process.communicate()
    assert rows_by_day(third) == wanted
    assert total(third, "tailpipe.rejects") == 3 * len(DAYS)
    for home in (first, second):
        assert home.collect()["rows"]["in"] == 0
    assert rows_by_day(third) == wanted
    assert third.run("collect", *FROM).returncode == 2


def test_compact_vacuum_and_restore(tmp_path: Path, lake: StoredLake) -> None:
    """Three files a day become one; what nobody needs goes; a table becomes what it was and is collected on."""
    home = machine(tmp_path / "home", lake, "one")
    for part in ("a", "b", "c"):
        write_logs(home, "one", part=part)
        home.collect()
    assert len(data_files(lake)) == 3 * len(DAYS)
    before = sorted_rows(home)
    (compacted,) = told(home, "compact")["partitions"]
    assert [(day["files"], day["files_after"]) for day in compacted["days"]] == [(3, 1)] * len(DAYS)
    assert sorted_rows(home) == before
    assert home.collect()["rows"]["in"] == 0
    whole = newest_version(home)

    told(home, "partition", "delete", "app_log.one", "--from", DAYS[1], "--to", DAYS[1], "--force")
    assert rows_by_day(home) == expected("one", days=(DAYS[0], DAYS[2]), rows=3 * ROWS)
    told(home, "restore", "app_log", "--as-of", str(whole), "--force")
    assert sorted_rows(home) == before
    assert home.collect()["rows"]["in"] == 0

    freed = told(home, "vacuum", "--older-than", "0", "--force")
    assert freed["tables"][0]["kinds"]["data"]["files"] == 3 * len(DAYS)
    assert data_files(lake) == live_files(lake)
    assert sorted_rows(home) == before
    write_logs(home, "one", part="d")
    assert home.collect()["rows"]["stored"] == len(DAYS) * ROWS
    assert rows_by_day(home) == expected("one", rows=4 * ROWS)


@MOSTLY_IN_A_BUCKET
def test_what_is_purged_is_gone(tmp_path: Path, lake: StoredLake) -> None:
    """Also what compaction has left of it; the other partition stays, and its past too."""
    home = machine(tmp_path / "home", lake, "one", "two")
    for part in ("a", "b"):
        write_logs(home, "one", "two", part=part)
        home.collect()
    told(home, "compact", "app_log.one")
    told(home, "partition", "delete", "app_log.one", "--purge", "--force")
    told(home, "rejects", "drop", "app_log.two", "--purge", "--force")
    assert rows_by_day(home) == expected("two", rows=2 * ROWS)
    assert not [path for path in lake.paths() if "tp_partition=one" in path or "/_rejects/" in path]
    assert len(data_files(lake)) == 2 * len(DAYS)
    assert home.collect()["rows"]["stored"] == 2 * len(DAYS) * ROWS
    assert rows_by_day(home) == expected("one", "two", rows=2 * ROWS)


def sorted_rows(home: Home) -> list[dict[str, Any]]:
    return home.query("select * exclude (tp_ingest_timestamp) from app_log order by tp_id")


def newest_version(home: Home) -> int:
    return int(told(home, "history", "app_log", "--limit", "1")["commits"][0]["version"])


def data_files(lake: StoredLake) -> set[str]:
    return {path for path in lake.paths() if path.startswith("app_log/tp_partition=")}


def live_files(lake: StoredLake) -> set[str]:
    delta = lake.delta("app_log")
    assert delta
    return {f"app_log/{path}" for path in pa.table(delta.get_add_actions()).column("path").to_pylist()}
