"""Views over real Delta tables."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from tailpipe.errors import LakeError, QueryError
from tailpipe.partition_names import PartitionPattern, partition_pattern
from tailpipe.query.restriction import Restriction
from tailpipe.query.results import run_script
from tailpipe.query.views import REJECT_COLUMNS, Queryable, TableView, create_views

COLUMNS = (
    ("identity", "struct(type varchar, session json)"),
    ("request", "json"),
    ("address", "inet"),
    ("event_id", "uuid"),
    ("event_name", "varchar"),
    ("added_later", "bigint"),
    ("tp_timestamp", "timestamp"),
    ("tp_date", "date"),
    ("tp_partition", "varchar"),
    ("tp_index", "varchar"),
)


def lake_of(*views: TableView, reject_files: tuple[str, ...] = ()) -> Queryable:
    by_name = {view.name: view for view in views}
    return Queryable(tuple(by_name), by_name.__getitem__, lambda: reject_files)


def rows(
    connection: duckdb.DuckDBPyConnection, lake: Queryable, sql: str, restriction: Restriction | None = None
) -> list[tuple[str | None, ...]]:
    create_views(connection, lake, sql, restriction)
    results = run_script(connection, sql, lake.table_names)
    return [row for result in results for batch in result.text_batches() for row in batch]


@pytest.fixture
def events(events_location: str) -> Queryable:
    return lake_of(TableView("events", events_location, COLUMNS))


def test_columns_are_typed_and_in_order(connection: duckdb.DuckDBPyConnection, events: Queryable) -> None:
    described = rows(connection, events, "describe events")
    assert [(name, type_) for name, type_, *_ in described] == [
        ("added_later", "BIGINT"),
        ("address", "INET"),
        ("event_id", "UUID"),
        ("event_name", "VARCHAR"),
        ("extra", "VARCHAR"),
        ("identity", 'STRUCT("type" VARCHAR, "session" JSON)'),
        ("request", "JSON"),
        ("tp_date", "DATE"),
        ("tp_index", "VARCHAR"),
        ("tp_partition", "VARCHAR"),
        ("tp_timestamp", "TIMESTAMP"),
    ]


def test_values_are_read_as_declared(connection: duckdb.DuckDBPyConnection, events: Queryable) -> None:
    sql = """select request.day, identity.session.mfa, identity.type, host(address), added_later, extra
        from events where tp_date = '2024-01-01' and tp_partition = 'dev'"""
    assert rows(connection, events, sql) == [("1", "true", "user", "10.0.0.1", None, "kept")]


def test_null_in_a_cast_column_stays_null(connection: duckdb.DuckDBPyConnection, events: Queryable) -> None:
    sql = "select count(*), count(request), count(identity) from events"
    assert rows(connection, events, sql) == [("15", "9", "9")]


def test_a_text_that_is_no_value_of_its_type_spoils_no_other(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    texts = {"a": ["{}", '{"x"}', None], "b": ["::1", "12:34:56", None], "c": ["[1]", "{", None]}
    write_deltalake(str(tmp_path), pa.table({**texts, "d": [{"j": text} for text in texts["a"]]}))
    types = (("a", "json"), ("b", "inet"), ("c", "JSON"), ("d", "struct(j json)"))
    found = rows(connection, lake_of(TableView("odd", str(tmp_path), types)), "select a, b, c, d.j from odd")
    assert found == [("{}", "::1", "[1]", "{}"), (r'"{\"x\"}"', None, '"{"', None), (None,) * 4]


def test_a_table_never_collected_is_empty_with_its_columns(connection: duckdb.DuckDBPyConnection) -> None:
    lake = lake_of(TableView("events", None, COLUMNS))
    sql = "select count(*), typeof(any_value(identity)), typeof(any_value(address)) from events"
    assert rows(connection, lake, sql) == [("0", 'STRUCT("type" VARCHAR, "session" JSON)', "INET")]


def test_tables_without_declared_columns_show_what_is_stored(
    connection: duckdb.DuckDBPyConnection, events_location: str
) -> None:
    lake = lake_of(TableView("events", events_location))
    assert rows(
        connection, lake, "select extra, request from events where tp_date = '2024-01-02' limit 1"
    ) == [("kept", None)]


@pytest.mark.parametrize(
    "sql", ["show tables", "select table_name from information_schema.tables order by 1"]
)
def test_every_table_is_listed(connection: duckdb.DuckDBPyConnection, events_location: str, sql: str) -> None:
    lake = lake_of(TableView("events", events_location), TableView("unused", None, COLUMNS))
    names = [name for (name,) in rows(connection, lake, sql)]
    assert names[0] == "events"
    assert names[-1] == "unused"


def test_tables_are_not_looked_up_unless_named(
    connection: duckdb.DuckDBPyConnection, events_location: str
) -> None:
    asked: list[str] = []

    def find(name: str) -> TableView:
        asked.append(name)
        return TableView(name, events_location)

    lake = Queryable(("events", "other"), find, lambda: pytest.fail("rejects are not asked for"))
    assert rows(connection, lake, "select count(*) from EVENTS") == [("15",)]
    assert asked == ["events"]


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from query_table('ev' || 'ents')",
        "select count(*) from query('from ev' || 'ents')",
        'select count(*) from "events"',
        "with e as (from Events) select count(*) from e",
        "create temp table copy as from events; select count(*) from copy",
    ],
)
def test_tables_are_found_however_they_are_named(
    connection: duckdb.DuckDBPyConnection, events: Queryable, sql: str
) -> None:
    assert rows(connection, events, sql) == [("15",)]


def test_reading_an_unopened_table_fails_rather_than_being_empty(
    connection: duckdb.DuckDBPyConnection, events: Queryable
) -> None:
    create_views(connection, events, "select 1")
    (result,) = run_script(connection, "select * from events")
    with pytest.raises(QueryError, match='table "events" was not opened'):
        list(result.text_batches())


def test_a_broken_table_is_named(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    lake = lake_of(TableView("events", str(tmp_path), COLUMNS))
    with pytest.raises(LakeError, match='table "events" cannot be read at'):
        create_views(connection, lake, "from events")


DAY_2, DAY_4 = datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 4, tzinfo=UTC)
NOON_4 = datetime(2024, 1, 4, 12, tzinfo=UTC)


def patterns(*words: str) -> tuple[PartitionPattern, ...]:
    return tuple(map(partition_pattern, words))


@pytest.mark.parametrize(
    ("restriction", "count"),
    [
        (Restriction(), 15),
        (Restriction(start=DAY_2), 12),
        (Restriction(end=DAY_4), 9),
        (Restriction(start=DAY_2, end=DAY_4), 6),
        (Restriction(start=NOON_4), 6),
        (Restriction(end=NOON_4), 9),
        (Restriction(partitions=patterns("prod")), 10),
        (Restriction(partitions=patterns("events.dev")), 5),
        (Restriction(partitions=patterns("events.*")), 15),
        (Restriction(partitions=patterns("*.d?v")), 5),
        (Restriction(partitions=patterns("prod", "dev")), 15),
        (Restriction(partitions=patterns("other.prod")), 0),
        (Restriction(partitions=patterns("it's")), 0),
        (Restriction(indexes=("111",)), 10),
        (Restriction(indexes=("2*", "3*")), 5),
        (Restriction(start=DAY_2, end=DAY_4, partitions=patterns("prod"), indexes=("222",)), 2),
    ],
)
def test_restriction(
    connection: duckdb.DuckDBPyConnection, events: Queryable, restriction: Restriction, count: int
) -> None:
    assert rows(connection, events, "select count(*) from events", restriction) == [(str(count),)]


@pytest.mark.parametrize(
    ("restriction", "files"),
    [
        (Restriction(start=DAY_2, end=DAY_4, partitions=patterns("dev")), 2),
        (Restriction(start=DAY_4), 6),
        (Restriction(end=DAY_2), 3),
        (Restriction(end=NOON_4, partitions=patterns("dev")), 4),
    ],
)
def test_a_restricted_view_opens_only_the_files_it_needs(
    connection: duckdb.DuckDBPyConnection, events: Queryable, restriction: Restriction, files: int
) -> None:
    ((_, plan),) = rows(
        connection, events, "explain analyze select count(event_name) from events", restriction
    )
    assert plan is not None
    assert f"Scanning Files: {files}/15" in plan


def reject_file(folder: Path, table: str, partition: str, *more: object) -> str:
    """`more` are the values of columns that files of before did not have."""
    names = [name for name, _ in REJECT_COLUMNS][: 10 + len(more)]
    place = ["id7", table, partition, "files", "a.log", None, 7]
    values = [*place, "raw line", "line does not match", datetime(2024, 1, 1), *more]  # noqa: DTZ001
    rejects = pa.table({name: [value] for name, value in zip(names, values, strict=True)})
    path = folder / f"{table}.{partition}.parquet"
    pq.write_table(rejects, path)
    return str(path)


def test_rejects(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    files = (
        reject_file(tmp_path, "events", "prod", 1, "unreadable"),
        reject_file(tmp_path, "other", "dev", 3, "not_kept"),
    )
    sql = "select * from tailpipe.rejects order by table_name"
    lake = lake_of(reject_files=files)
    assert rows(connection, lake, sql, Restriction(partitions=patterns("events.*"))) == [
        (
            *("id7", "events", "prod", "files", "a.log", None, "7"),
            *("raw line", "line does not match", "2024-01-01 00:00:00", "1", "unreadable"),
        )
    ]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_rejects_of_before(connection: duckdb.DuckDBPyConnection, tmp_path: Path, count: int) -> None:
    files = (
        reject_file(tmp_path, "events", "a"),
        reject_file(tmp_path, "events", "b", 3),
        reject_file(tmp_path, "events", "c", 1, "unreadable"),
    )
    sql = "select partition, records, code from tailpipe.rejects order by partition"
    expected = [("a", "1", None), ("b", "3", None), ("c", "1", "unreadable")]
    assert rows(connection, lake_of(reject_files=files[:count]), sql) == expected[:count]


def test_without_rejects_the_view_is_empty_and_typed(connection: duckdb.DuckDBPyConnection) -> None:
    described = rows(connection, lake_of(), "describe tailpipe.rejects")
    assert tuple((name, type_) for name, type_, *_ in described) == REJECT_COLUMNS
