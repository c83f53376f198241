"""Queries of the past over real tables: rows, columns and what was known of collection, as of then."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from histories import TABLE, History
from tailpipe.errors import LakeError, QueryError, UsageError
from tailpipe.lake.address import Lake
from tailpipe.lake.catalog import partition_states
from tailpipe.lake.log_entries import kept_of
from tailpipe.lake.timeline import AsOf, commits
from tailpipe.query.connection import open_connection
from tailpipe.query.past import open_past
from tailpipe.query.restriction import Restriction
from tailpipe.query.results import run_script
from tailpipe.query.tables import find_queryable
from tailpipe.query.views import create_views
from tailpipe.tables.table import Column, Table


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(Lake(str(tmp_path / "lake")))


def answers(
    lake: Lake, sql: str, as_of: AsOf, tables: dict[str, Table] | None = None, told: list[str] | None = None
) -> list[tuple[Any, ...]]:
    warnings: list[str] = []
    past = open_past(lake, as_of, sql, warnings.append)
    with open_connection() as connection:
        found = find_queryable(lake, tables or {}, [], warnings.append, past)
        create_views(connection, found, sql, Restriction())
        (result,) = run_script(connection, sql, found.table_names)
        rows = [row for batch in result.text_batches() for row in batch]
    if told is not None:
        told += warnings
    return rows


def moment(history: History, version: int) -> AsOf:
    found = commits(history.address, kept_of(history.address))
    return next(commit.at for commit in found if commit.version == version)


@pytest.mark.parametrize("seed", range(2))
def test_rows_and_what_was_known_are_as_of_then(history: History, seed: int) -> None:
    choice = random.Random(seed)
    history.collect("one", rejected=1)
    while len(history.past) < 8:
        history.move(choice)
    for version, then in history.past.items():
        rows = answers(history.lake, f"SELECT tp_id, message FROM {TABLE} ORDER BY ALL", version)
        assert rows == sorted((row["tp_id"], row["message"]) for row in then.rows)
        states = partition_states(history.lake.at(version), TABLE).values()
        known = sum(int(state.artifacts.is_kept.sum()) for state in states)
        assert answers(history.lake, "SELECT count(*) FROM tailpipe.artifacts", version) == [(str(known),)]
        rejected = sum(len(state.reject_files) for state in states)
        names = "SELECT count(DISTINCT artifact) FROM tailpipe.rejects"
        assert answers(history.lake, names, version) == [(str(rejected),)]


def test_columns_and_types_are_those_of_then(history: History) -> None:
    history.collect("one")
    then = history.version
    history.change_schema("BIGINT", ("more",))
    history.collect("one")
    describe = (
        f"SELECT column_name, column_type FROM (DESCRIBE {TABLE}) WHERE column_name IN ('size', 'more')"
    )
    declared = {TABLE: Table(TABLE, columns=(Column("size", "DOUBLE"), Column("later", "VARCHAR")))}
    assert answers(history.lake, describe, then, declared) == [("size", "INTEGER")]
    assert answers(history.lake, describe, history.version, declared) == [
        ("more", "VARCHAR"),
        ("size", "BIGINT"),
    ]
    with pytest.raises(QueryError, match='no column "more"'):
        answers(history.lake, f"SELECT more FROM {TABLE}", then)


def test_a_table_that_was_not_there_yet_is_empty_and_told(history: History) -> None:
    history.collect("one", rejected=1)
    before = history.lake
    later = History(Lake(history.lake.uri))
    first = moment(history, 0)
    assert not isinstance(first, int)
    told: list[str] = []
    past = first.replace(year=2020)
    assert answers(before, f"SELECT message FROM {TABLE}", past, told=told) == []
    assert told == [f"warning: {TABLE} did not exist at {past:%Y-%m-%d %H:%M:%S} UTC, so it is empty"]
    assert answers(later.lake, "SELECT * FROM tailpipe.rejects", past) == []
    assert answers(later.lake, "SELECT * FROM tailpipe.runs", past) == []


def test_a_version_is_of_one_table(history: History, tmp_path: Path) -> None:
    history.collect("one")
    assert answers(history.lake, "SELECT count(*) FROM tailpipe.runs", 1) == [("1",)]
    (tmp_path / "lake" / "other_log").symlink_to(history.address.uri)
    assert answers(history.lake, f"SELECT count(*) FROM {TABLE}", 1) == [("2",)]
    for sql in (f"SELECT * FROM {TABLE} JOIN other_log USING (tp_id)", "SELECT * FROM tailpipe.runs"):
        with pytest.raises(UsageError, match=f"--as-of 1 is a version of one table.*{TABLE}, other_log"):
            answers(history.lake, sql, 1)


def test_files_that_are_gone_are_told(history: History) -> None:
    history.collect("one", day=0, rejected=1)
    history.collect("one", day=1)
    for path in Path(history.address.uri).glob("tp_partition=one/*/tp_date=2024-06-01/*.parquet"):
        path.unlink()
    with pytest.raises(QueryError, match="is not there any more: it was vacuumed or purged"):
        answers(history.lake, f"SELECT * FROM {TABLE}", 2)
    # Files that the SQL does not need are not missed.
    assert answers(history.lake, f"SELECT count(message) FROM {TABLE} WHERE tp_date = '2024-06-02'", 2) == [
        ("2",)
    ]
    for path in Path(history.address.path("_rejects")).rglob("*.parquet"):
        path.unlink()
    with pytest.raises(LakeError, match=r"rejects cannot be read: .* is not there any more"):
        answers(history.lake, "SELECT * FROM tailpipe.rejects", 2)
    for path in Path(history.address.path("_manifests")).rglob("*.parquet"):
        path.unlink()
    with pytest.raises(LakeError, match=f"what was known of {TABLE} then is no longer there"):
        answers(history.lake, "SELECT * FROM tailpipe.artifacts", 2)


def test_a_query_of_now_asks_for_no_version(history: History) -> None:
    history.collect("one")
    assert find_queryable(history.lake, {}, []).find_table(TABLE).version is None
