"""Rows leave by their age: what a user sees before, while and after it happens."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from installed import APP_TABLE, Home, line

LAYOUT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}"
AGES = (40, 12, 8, 1)


def day(ago: int) -> str:
    return (datetime.now(UTC) - timedelta(days=ago)).date().isoformat()


def configured(home: Home, partition: str = "", workspace: str = "", table: str = "") -> None:
    """Dated files, and one without a date that has rows of all days."""
    home.configure(
        APP_TABLE.replace("{", "{\n" + table, 1)
        + f"""
        partition "app_log" "one" {{
          {partition}
          lookback = "60d"
          source "file" {{
            paths = ["LOGS/dated"]
            file_layout = `{LAYOUT}`
          }}
          source "file" {{
            paths = ["LOGS/undated"]
          }}
        }}
        workspace "default" {{
          {workspace}
        }}
        """
    )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """With rows of four days in files of both kinds, and a bad line in each dated one."""
    home = Home(tmp_path)
    configured(home)
    for ago in AGES:
        home.write(f"dated/{day(ago)}.jsonl", line(f"{day(ago)}T10:00:00Z", "dated", ago) + "bad\n")
    home.write("undated/app.log", "".join(line(f"{day(ago)}T11:00:00Z", "undated", ago) for ago in AGES))
    collected(home)
    return home


def collected(home: Home, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = home.run("collect", "--output", "json", *arguments)
    assert done.returncode == code, done.stderr + done.stdout
    (partition,) = json.loads(done.stdout)["partitions"]
    return dict(partition)


def lifecycle(home: Home, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = home.run("lifecycle", *arguments, "--output", "json")
    assert done.returncode == code, done.stderr + done.stdout
    found = json.loads(done.stdout)
    return {each["partition"]: each for each in found["partitions"]}


def days(home: Home) -> dict[str, int]:
    done = home.run("query", "select tp_date, count(*) from app_log group by all", "--output", "csv")
    assert done.returncode == 0, done.stderr
    return {day: int(count) for day, count in (text.split(",") for text in done.stdout.splitlines()[1:])}


def states(home: Home) -> dict[str, str]:
    report = json.loads(home.run("coverage", "--output", "json").stdout)
    return {each["date"]: each["state"] for part in report["partitions"] for each in part["days"]}


def test_rows_that_are_too_old_leave_and_days_are_known_as_expired(home: Home) -> None:
    configured(home, 'expire_after = "10d"')
    foretold = lifecycle(home, "show")
    assert foretold == lifecycle(home, "run", "--dry-run")
    assert len(days(home)) == 4
    (done,) = lifecycle(home, "run").values()
    assert foretold == {"app_log.one": done}
    assert (done["days"], done["rows"], done["rejects"]) == (2, 4, 2)
    assert done["edge"].startswith(day(10))
    assert days(home) == {day(8): 2, day(1): 2}
    found = states(home)
    assert {found[day(ago)] for ago in (60, 40, 12, 11)} == {"expired"}
    assert (found[day(10)], found[day(8)]) == ("empty", "collected")
    shown = json.loads(home.run("partition", "show", "app_log.one", "--output", "json").stdout)
    assert shown["expired"] == [{"from": day(60), "before": day(10)}]
    assert (shown["pending"], shown["rejects"], shown["expire_after"]) == ([], 2, "10d")
    known = home.run("query", "select sum(rejected) from tailpipe.artifacts", "--output", "csv")
    assert known.stdout.splitlines()[1] == "2"


def test_a_collection_takes_out_what_is_too_old_and_says_so(home: Home) -> None:
    configured(home, 'expire_after = "10d"')
    done = collected(home)
    assert (done["expired"]["rows"], done["expired"]["days"], done["warnings"]) == (4, 2, [])
    assert days(home) == {day(8): 2, day(1): 2}
    assert states(home)[day(12)] == "expired"
    assert collected(home)["expired"] is None
    configured(home, 'expire_after = "5d"')
    assert f"2 rows of 1 day and 1 reject expired (before {day(5)}" in home.run("collect").stdout


def test_expired_days_are_not_collected_again_by_default(home: Home) -> None:
    configured(home, 'expire_after = "10d"')
    lifecycle(home, "run")
    home.write(f"dated/{day(12)}-late.jsonl", line(f"{day(12)}T12:00:00Z", "late", 1))
    home.write(
        "undated/more.log", line(f"{day(12)}T12:00:00Z", "old", 1) + line(f"{day(1)}T12:00:00Z", "new", 1)
    )
    with (home.logs / "undated/app.log").open("a") as log:
        log.write(line(f"{day(40)}T13:00:00Z", "old", 2) + line(f"{day(1)}T13:00:00Z", "new", 2))
    found = collected(home)
    assert (found["rows"]["stored"], found["rows"]["outside_window"]) == (2, 2)
    assert found["sources"][0]["skipped"] == {"expired": 1}
    assert "late" in found["sources"][0]["skip_examples"]["expired"]
    assert days(home) == {day(8): 2, day(1): 4}
    assert collected(home)["rows"]["in"] == 0
    # Also when rows may stay longer by now, or for ever.
    configured(home)
    assert collected(home)["rows"]["in"] == 0
    assert states(home)[day(12)] == "expired"


def test_what_expired_comes_back_where_it_is_asked_for(home: Home) -> None:
    configured(home, 'expire_after = "10d"')
    lifecycle(home, "run")
    cut = collected(home, "--from", day(50))
    assert cut["window"]["from"].startswith(day(10))
    assert {source["edge"][:10] for source in cut["sources"]} == {day(10)}
    assert len(days(home)) == 2
    assert "rows before that day expire" in home.run("collect", "--from", day(50), "--dry-run").stdout
    refused = collected(home, "--from", day(50), "--to", day(20), code=2)
    assert "expire" in refused["failed"][0]["message"]
    configured(home)
    collected(home, "--from", day(50))
    assert days(home) == {day(ago): 2 for ago in AGES}
    assert states(home)[day(40)] == "collected"
    assert states(home)[day(55)] == "expired"


def test_the_nearest_block_says_how_long_rows_stay(home: Home) -> None:
    assert "Rows expire nowhere" in home.run("lifecycle", "run").stdout
    assert home.run("lifecycle", "show").stdout.splitlines()[1].split() == ["app_log.one", "never"]
    assert lifecycle(home, "run")["app_log.one"]["expire_after"] is None
    configured(home, workspace='expire_after = "30d"')
    assert lifecycle(home, "show")["app_log.one"]["rows"] == 2
    configured(home, workspace='expire_after = "30d"', table='expire_after = "10d"')
    assert lifecycle(home, "show")["app_log.one"]["rows"] == 4
    configured(home, 'expire_after = "1Y"', 'expire_after = "30d"', 'expire_after = "10d"')
    assert lifecycle(home, "show")["app_log.one"]["rows"] == 0


def test_partitions_that_only_the_lake_knows_expire_as_the_workspace_says(home: Home) -> None:
    home.configure('workspace "default" { expire_after = "10d" }')
    assert lifecycle(home, "run")["app_log.one"]["rows"] == 4


def test_rows_stay_where_the_configuration_cannot_be_understood(home: Home) -> None:
    """It may have said that they stay longer."""
    configured(home, 'expire_after = "forever"', 'expire_after = "10d"')
    (left,) = lifecycle(home, "run", code=1).values()
    assert "configured with problems" in left["problem"]
    home.configure('workspace "default" { expire_after = "10d" }\npartition "app_log" "one" {')
    lifecycle(home, "run", code=1)
    assert len(days(home)) == 4


def test_a_clock_that_is_ahead_takes_a_few_days_at_most(home: Home) -> None:
    """The last run says how far it is believed, unless somebody vouches for it."""
    configured(home, 'expire_after = "30d"')
    held_back = _a_year_ahead(home, "lifecycle", "run")
    assert "the clock may be wrong" in held_back.stderr
    assert sorted(days(home)) == [day(12), day(8), day(1)]
    assert _a_year_ahead(home, "lifecycle", "run", "--force").returncode == 0
    assert days(home) == {}


_AHEAD = """
import sys
from datetime import datetime, timedelta
from tailpipe.cli import main, setup

class Ahead:
    def now(zone):
        return datetime.now(zone) + timedelta(days=365)

setup.datetime = Ahead
main.run(sys.argv[1:])
"""


def _a_year_ahead(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command on a machine whose clock is wrong."""
    command = [sys.executable, "-c", _AHEAD, *arguments]
    return subprocess.run(
        command, env=home.variables(), cwd=home.folder, capture_output=True, text=True, check=False
    )


def test_usage_is_told(home: Home) -> None:
    assert home.run("lifecycle", "show", "--dry-run").returncode == 2
    unknown = home.run("lifecycle", "run", "nothing")
    assert (unknown.returncode, unknown.stderr) == (
        2,
        'no partition matches "nothing". There are: app_log.one.\n',
    )
