"""Names of tables and partitions: what is allowed can be queried, what is not costs itself. No engine."""

from __future__ import annotations

import os
import shutil
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from installed import APP, Home, line
from tailpipe.lake.address import TableAddress
from tailpipe.lake.facts import FileFact
from tailpipe.lake.log import TYPE_KEY, TableLog
from tailpipe.lake.transaction import Change
from tailpipe.tables.stored_schema import table_schema
from tailpipe.tables.table import Column, Table


def store(home: Home, name: str) -> None:
    """A table with one row, committed as a collection would."""
    table = Table(name, (Column("level"), Column("size", "int")))
    folder = "tp_partition=one/tp_index=default/tp_date=2024-06-01"
    path = home.data / name / folder / "a.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"level": ["info"], "tp_timestamp": [datetime(2024, 6, 1)]}), path)  # noqa: DTZ001
    values = {"tp_partition": "one", "tp_index": "default", "tp_date": "2024-06-01"}
    moment = "2024-06-01T00:00:00.000"
    fact = FileFact("u", f"{folder}/a.parquet", path.stat().st_size, 1, values, moment, moment)
    change = Change(partition="one", kind="collect", unit="u", run="r", files=(fact,))
    TableLog(TableAddress(str(home.data / name)), table_schema(table, TYPE_KEY)).commit(change, 0)


@pytest.mark.parametrize("name", ["café", "日本", "select", "tailpipe", "duckdb_tables", "a b-c"])
def test_tables_with_any_allowed_name_can_be_queried(home: Home, name: str) -> None:
    home.configure(APP.replace("app_log", name) + APP)
    for each in (name, "app_log"):
        store(home, each)
    assert home.query(f'select count(*)::int as n, min(level) as l from "{name}"') == [{"n": 1, "l": "info"}]
    both = (
        "select (select count(*) from app_log)::int as n, (select count(*) from tailpipe.rejects)::int as r"
    )
    assert home.query(both) == [{"n": 1, "r": 0}]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "App_Log",
            'table "App_Log" differs from table "app_log" in letter case only, which SQL does not see',
        ),
        ("AWS_cloudtrail_log", 'differs from table "aws_cloudtrail_log" in letter case only'),
        ("t" * 201, "the name of a table has more than 200 bytes"),
        ("a.b", '"a.b" cannot be the name of a table'),
        ("../x", '"../x" cannot be the name of a table'),
        ("e\u0301", "cannot be the name of a table"),
    ],
)
def test_other_names_are_told_and_cost_their_table_alone(home: Home, name: str, told: str) -> None:
    path = home.configure(APP + APP.replace("app_log", name))
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    check = home.run("config", "check")
    assert check.returncode == 2
    assert any(text.startswith(f"{path}:10:7: ") and told in text for text in check.stderr.splitlines())
    plan = home.run("collect", "--from", "2024-01-01", "--dry-run")
    assert plan.returncode == 1
    assert "app_log.one  window" in plan.stdout


def test_names_in_a_lake_that_break_the_rules_stop_no_query(home: Home) -> None:
    home.configure(APP)
    store(home, "app_log")
    for name in (b"APP_LOG", b"no\xfftext", b".hidden", b"not a table"):
        shutil.copytree(os.fsencode(home.data / "app_log"), os.fsencode(home.data) + b"/" + name)
    shutil.rmtree(home.data / "not a table" / "_delta_log")
    done = home.run("query", "select count(*)::int as n from app_log", "--output", "csv")
    assert done.returncode == 0
    assert done.stdout == "n\n1\n"
    assert 'warning: table "APP_LOG" is left out: SQL does not tell it from "app_log"' in done.stderr
    assert home.run("query", "select count(*) from information_schema.tables").returncode == 0
    assert home.run("table", "delete", "APP_LOG", "--force").returncode == 0
    assert home.run("query", "select 1").stderr == ""
