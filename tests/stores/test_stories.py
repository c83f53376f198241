"""What people do with a lake, told once: in a folder and in a bucket it ends in the same way."""

from __future__ import annotations

import time
from pathlib import Path

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

from lakes import StoredLake

PATIENCE_SECONDS = 120


def test_collect_query_and_delete(tmp_path: Path, lake: StoredLake) -> None:
    home = machine(tmp_path / "home", lake, "one")
    write_logs(home, "one")
    summary = home.collect()
    assert (summary["rows"]["stored"], summary["rows"]["rejected"]) == (len(DAYS) * ROWS, len(DAYS))
    assert rows_by_day(home) == expected("one")
    assert total(home, "tailpipe.rejects") == len(DAYS)
    assert home.collect()["rows"]["in"] == 0
    (covered,) = told(home, "coverage")["partitions"]
    assert [day["state"] for day in covered["days"]] == ["complete"] * len(DAYS)

    told(home, "partition", "delete", "app_log.one", "--from", DAYS[1], "--to", DAYS[1], "--force")
    assert rows_by_day(home) == expected("one", days=(DAYS[0], DAYS[2]))
    assert home.collect()["rows"]["stored"] == ROWS
    assert rows_by_day(home) == expected("one")
    told(home, "rejects", "drop", "app_log.one", "--force")
    assert total(home, "tailpipe.rejects") == 0
    assert {path.split("/")[0] for path in lake.paths()} <= {"app_log", ".tailpipe-conditional-put"}


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
