"""No partition stops another: whatever is wrong with one table, the others are collected and the run tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from installed import APP, Home, line

OTHER = APP.replace("app_log", "web_log")
FROM = ("--from", "2024-01-01")
TP_INDEX = 'tp_index = "level"\n source "file"'


def damage_log(table: Path) -> None:
    (table / "_delta_log" / f"{0:020d}.json").write_text("{ this is no log")


def block_manifests(table: Path) -> None:
    for manifest in table.glob("_manifests/one/*"):
        manifest.unlink()
    (table / "_manifests" / "one").rmdir()
    (table / "_manifests" / "one").write_text("a file in place of the folder")


@pytest.mark.parametrize("damage", [damage_log, block_manifests])
def test_a_damaged_table_costs_itself_alone(home: Home, damage: object) -> None:
    home.configure(APP + OTHER)
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    home.collect()
    damage(home.data / "app_log")  # type: ignore[operator]
    home.write("b.jsonl", line("2024-06-02T00:00:00Z"))

    dry = home.run("collect", *FROM, "--dry-run")
    assert dry.returncode == 4, dry
    assert "web_log.one  window" in dry.stdout
    done = home.run("collect", *FROM)
    assert done.returncode == 4, done
    assert "app_log.one: failed: " in done.stderr
    assert "failed: lake: " in done.stdout
    assert "rows in 1 = stored 1" in done.stdout
    assert home.query("select count(*)::int as n from web_log") == [{"n": 2}]


def test_an_unlisted_source_and_a_damaged_table_are_both_told(home: Home) -> None:
    gone = APP.replace("app_log", "gone_log").replace("LOGS", "LOGS/gone")
    home.configure(APP + OTHER + gone)
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    table = home.data / "app_log"
    table.mkdir(parents=True)
    (table / "_manifests").write_text("a file in place of the folder")
    done = home.run("collect", *FROM, "--output", "json")
    assert done.returncode == 1
    failures = {
        part["partition"]: [failure["label"] for failure in part["failed"]]
        for part in json.loads(done.stdout)["partitions"]
    }
    assert failures == {"app_log.one": ["lake"], "gone_log.one": [f"{home.logs}/gone"], "web_log.one": []}
    assert home.query("select count(*)::int as n from web_log") == [{"n": 1}]


def test_more_values_of_tp_index_than_a_day_takes_fail_that_day_and_leave_no_file(home: Home) -> None:
    """The process ends by itself, too: an error in a task must not bring the embedded engine down with it."""
    home.configure(OTHER + APP.replace('source "file"', TP_INDEX))
    home.write("a.jsonl", "".join(line("2024-06-01T00:00:00Z", f"l{k}") for k in range(5_001)))
    done = home.run("collect", *FROM)
    assert done.returncode == 1, done.stderr
    assert 'tp_index "level" has more than 5,000 values; choose a column with few values' in done.stdout
    assert list(home.data.glob("app_log/tp_partition=*/**/*.parquet")) == []
    assert home.query("select count(*)::int as n from web_log") == [{"n": 5_001}]
