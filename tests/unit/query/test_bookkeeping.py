"""`tailpipe.runs` and `tailpipe.artifacts` over real logs."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tailpipe.errors import LakeError
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.log import TableLog
from tailpipe.lake.manifest import KnownArtifact, RunReport
from tailpipe.lake.transaction import Change
from tailpipe.partition_names import partition_pattern
from tailpipe.query.bookkeeping import ARTIFACT_COLUMNS, RUN_COLUMNS
from tailpipe.query.restriction import Restriction
from tailpipe.query.results import run_script
from tailpipe.query.tables import find_queryable
from tailpipe.query.views import REJECT_COLUMNS, Queryable, create_views
from tailpipe.records import Mark, RowCounts
from tailpipe.times import Window

SCHEMA = pa.schema(
    [
        ("tp_timestamp", pa.timestamp("us")),
        ("tp_partition", pa.string()),
        ("tp_index", pa.string()),
        ("tp_date", pa.date32()),
    ]
)
START = datetime(2024, 6, 1, 12, tzinfo=UTC)
JUNE = Window(datetime(2024, 6, 1, tzinfo=UTC), datetime(2024, 7, 1, tzinfo=UTC))
ALWAYS = Window(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))


def report(**facts: Any) -> RunReport:
    values: dict[str, Any] = {
        "started_at": START,
        "finished_at": START + timedelta(minutes=1),
        "engine": "sail",
        "window_from": JUNE.start,
        "window_to": None,
        "sources": ("file", "archive"),
        "is_overwrite": False,
        "units": 2,
        "failed": 0,
        "artifacts": 3,
        "size_bytes": 30,
        "rows": 9,
        "stored": 6,
        "filtered": 2,
        "rejected": 1,
    }
    return RunReport(**(values | facts))


def record(name: str, run: str = "r", **facts: Any) -> KnownArtifact:
    values: dict[str, Any] = {"rows": RowCounts(4, stored=2, filtered=1, rejected=1)}
    kept = facts.pop("kept", (ALWAYS,))
    span = facts.pop("span", None)
    return KnownArtifact(
        "file", name, name, "1", 10, span, kept, run=run, collected_at=START, **(values | facts)
    )


def commit(data_dir: Path, table: str, *changes: Change) -> None:
    log = TableLog(TableAddress(str(data_dir / table)), SCHEMA)
    for change in changes:
        log.commit(change, log.state(change.partition).version)


def unit(run: str, *records: KnownArtifact, partition: str = "p", kind: str = "collect") -> Change:
    return Change(partition, kind, "2024-06-01", run, artifacts=records, asked={"file": (JUNE,)})


def ending(run: str, partition: str = "p", **facts: Any) -> Change:
    return Change(partition, "run", "", run, report=report(**facts))


def answer(
    connection: duckdb.DuckDBPyConnection, data_dir: Path, sql: str, restriction: Restriction | None = None
) -> list[tuple[Any, ...]]:
    create_views(connection, find_queryable(Lake(str(data_dir)), {}, ()), sql, restriction)
    return connection.sql(sql).fetchall()


def test_a_run_that_ended_is_one_row_however_many_units_it_had(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    commit(tmp_path, "t", unit("r", record("a")), unit("r", record("b")), ending("r"))
    (row,) = answer(connection, tmp_path, "from tailpipe.runs")
    naive = START.replace(tzinfo=None)
    assert row == (
        *("r", "t", "p", "collect", "done", naive, naive + timedelta(minutes=1), "sail"),
        *(JUNE.start.replace(tzinfo=None), None, ["file", "archive"], False, 2, 0, 3, 30, 9, 6, 2, 1),
    )


def test_status_and_kind(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    commit(
        tmp_path,
        "t",
        ending("broken", failed=1),
        unit("again", record("a"), kind="overwrite"),
        ending("again", is_overwrite=True),
        unit("killed", record("b", "killed"), record("c", "killed", rows=RowCounts(5, 2, 1, 1, 1))),
        Change("p", "delete", "", "gone", deleted=(JUNE,)),
        Change("p", "drop", "", "dropped"),
        Change("p", "retry", "", "tried"),
    )
    found = answer(connection, tmp_path, "select run, kind, status, is_overwrite from tailpipe.runs")
    assert found == [
        ("broken", "collect", "failed", False),
        ("again", "overwrite", "done", True),
        ("killed", "collect", "unfinished", False),
        ("gone", "delete", "done", False),
        ("dropped", "drop", "done", False),
        ("tried", "retry", "done", False),
    ]


def test_an_unfinished_run_tells_what_its_units_tell(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    commit(tmp_path, "t", unit("r", record("a")), unit("r", record("b", rows=RowCounts(5, 2, 1, 1, 1))))
    sql = """select started_at, finished_at, engine, window_from, window_to, sources, units, artifacts,
        size_bytes, rows, stored, filtered, rejected from tailpipe.runs"""
    (row,) = answer(connection, tmp_path, sql)
    june = (JUNE.start.replace(tzinfo=None), JUNE.end.replace(tzinfo=None))
    assert row == (START.replace(tzinfo=None), None, None, *june, ["file"], 2, 2, 20, 9, 4, 3, 2)


def test_a_deletion_tells_its_window(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    commit(tmp_path, "t", Change("p", "delete", "", "gone", deleted=(Window(JUNE.start, ALWAYS.end),)))
    sql = "select window_from, window_to, rows, started_at = finished_at from tailpipe.runs"
    assert answer(connection, tmp_path, sql) == [(JUNE.start.replace(tzinfo=None), None, None, True)]


def test_artifacts_are_those_that_are_known_now(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    grown = record("a", "r2", rows=RowCounts(8, stored=6, filtered=1, rejected=1))
    commit(tmp_path, "t", unit("r", record("a"), record("b")), unit("r2", grown))
    commit(tmp_path, "u", unit("r", record("c"), partition="q"))
    sql = (
        "select table_name, partition, location, rows, stored, run from tailpipe.artifacts order by location"
    )
    assert answer(connection, tmp_path, sql) == [
        ("t", "p", "a", 8, 6, "r2"),
        ("t", "p", "b", 4, 2, "r"),
        ("u", "q", "c", 4, 2, "r"),
    ]


def test_times_of_artifacts_are_utc_and_the_ends_of_time_are_null(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    first = datetime(2024, 6, 3, 1, 2, 3, 456789, tzinfo=UTC)
    dated = record("a", span=JUNE, kept=(JUNE,), first=first, last=first, mark=Mark(7), waiting_bytes=3)
    commit(tmp_path, "t", unit("r", dated, record("b")))
    sql = """select span_from, span_to, kept_from, kept_to, first, read_bytes, waiting_bytes, collected_at
        from tailpipe.artifacts order by location"""
    june = (JUNE.start.replace(tzinfo=None), JUNE.end.replace(tzinfo=None))
    started = START.replace(tzinfo=None)
    assert answer(connection, tmp_path, sql) == [
        (*june, *june, first.replace(tzinfo=None), 7, 3, started),
        (None, None, None, None, None, 0, 0, started),
    ]


@pytest.mark.parametrize("name", ["runs", "artifacts"])
@pytest.mark.parametrize(
    ("patterns", "count"), [((), 2), (("t.p",), 1), (("q",), 1), (("*.q",), 1), (("u.p",), 0)]
)
def test_partitions_restrict_them(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, name: str, patterns: tuple[str, ...], count: int
) -> None:
    commit(tmp_path, "t", unit("r", record("a")), unit("r", record("b"), partition="q"))
    restriction = Restriction(partitions=tuple(map(partition_pattern, patterns)), start=START)
    assert answer(connection, tmp_path, f"select count(*) from tailpipe.{name}", restriction) == [(count,)]


@pytest.mark.parametrize(("name", "columns"), [("runs", RUN_COLUMNS), ("artifacts", ARTIFACT_COLUMNS)])
@pytest.mark.parametrize("is_empty", [True, False])
def test_columns_are_typed(
    connection: duckdb.DuckDBPyConnection,
    tmp_path: Path,
    name: str,
    columns: tuple[tuple[str, str], ...],
    is_empty: bool,
) -> None:
    if not is_empty:
        commit(tmp_path, "t", unit("r", record("a")))
    described = answer(connection, tmp_path, f"describe tailpipe.{name}")
    assert tuple((column, type_) for column, type_, *_ in described) == columns


@pytest.mark.parametrize(
    ("name", "columns"),
    [("rejects", REJECT_COLUMNS), ("runs", RUN_COLUMNS), ("artifacts", ARTIFACT_COLUMNS)],
)
def test_every_column_is_documented(name: str, columns: tuple[tuple[str, str], ...]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "query.md").read_text(encoding="utf-8")
    section = page.split(f"\n## tailpipe.{name}\n")[1].split("\n## ")[0]
    rows = [row.split(" | ") for row in section.splitlines() if row.startswith("| `")]
    documented = [(column, row[1].strip("`")) for row in rows for column in re.findall(r"`(\w+)`", row[0])]
    assert sorted(documented) == sorted(columns)


def test_they_are_read_only_when_named(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """A manifest that is gone breaks only those who read it, and lists of tables show nothing new."""
    commit(tmp_path, "t", unit("r", record("a")))
    for manifest in (tmp_path / "t" / "_manifests").rglob("*.parquet"):
        manifest.unlink()
    lake = find_queryable(Lake(str(tmp_path)), {}, ())
    create_views(connection, lake, "show tables")
    assert _names(connection, lake, "show tables") == ["t"]
    assert _names(connection, lake, "select 1 as artifacts") == ["1"]
    with pytest.raises(LakeError, match=r"_manifests/p/.*\.parquet: the log names this manifest"):
        lake.books["artifacts"].read(lambda table, partition: True)


def test_no_name_of_ours_is_left_among_the_tables(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    commit(tmp_path, "t", unit("r", record("a")))
    lake = find_queryable(Lake(str(tmp_path)), {}, ())
    create_views(connection, lake, "from tailpipe.artifacts")
    assert _names(connection, lake, "show tables") == ["t"]


def _names(connection: duckdb.DuckDBPyConnection, queryable: Queryable, sql: str) -> list[str | None]:
    results = run_script(connection, sql, queryable.table_names)
    return [row[0] for result in results for batch in result.text_batches() for row in batch]
