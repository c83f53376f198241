"""Columns of a table that is collected already get another type, spelling or shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from pipelines import Place, only
from tailpipe.collect.outcome import Cause
from tailpipe.query.connection import open_connection
from tailpipe.query.tables import find_queryable
from tailpipe.query.views import create_views

PARTITION = """
partition "app_log" "one" { source "file" { paths = ["LOGS"] } }
partition "app_log" "two" { source "file" { paths = ["LOGS"] } }
"""


def table(column: str, name: str = "app_log") -> str:
    return f"""
    table "{name}" {{
      format = format.jsonl.default
      map_fields = []
      column "tp_timestamp" {{ source = "at" }}
      column "n" {{ type = "int" }}
      {column}
    }}
    """


def write(place: Place, name: str, *values: Any) -> None:
    place.write(
        name,
        "".join(
            json.dumps({"at": f"2024-06-0{len(name)}T00:00:0{k}Z", "n": k, "value": value}) + "\n"
            for k, value in enumerate(values)
        ),
    )


def typed(type_: str) -> str:
    return table(f'column "value" {{ type = "{type_}" }}') + PARTITION


def values(place: Place, column: str = "value") -> list[Any]:
    """Of one partition, as `tailpipe query` shows them with what is configured now."""
    collection = place.collection("app_log.one")
    tables = {"app_log": collection.targets[0].table}
    with open_connection() as connection:
        sql = f"select {column} from app_log where tp_partition = 'one' order by tp_timestamp, n"
        create_views(connection, find_queryable(place.lake, tables, ()), sql)
        return [row[0] for row in connection.sql(sql).fetchall()]


def live_types(place: Place, column: str) -> set[str]:
    """Of the column in the data files, and in the log."""
    delta = DeltaTable(str(place.data / "app_log"))
    files = {str(pq.read_schema(path).field(column).type) for path in delta.file_uris()}
    return files | {str(field.type.type) for field in delta.schema().fields if field.name == column}


@pytest.mark.parametrize(
    ("old", "new", "first", "second", "expected"),
    [
        ("integer", "double", [1, None], [2.5], [1.0, None, 2.5]),
        ("float", "double", [0.5], [1e300], [0.5, 1e300]),
        (
            "date",
            "timestamp",
            ["2024-06-01"],
            ["2024-06-02T10:00:00Z"],
            ["2024-06-01 00:00:00", "2024-06-02 10:00:00"],
        ),
        ("varchar", "json", ["text"], [{"a": 1}], ['"text"', '{"a":1}']),
        ("integer[]", "bigint[]", [[1], []], [[2**40]], [[1], [], [2**40]]),
    ],
)
def test_wider_types_just_happen(
    place: Place, old: str, new: str, first: list[Any], second: list[Any], expected: list[Any]
) -> None:
    place.configure(typed(old))
    write(place, "a", *first)
    place.collect()
    place.configure(typed(new))
    write(place, "bb", *second)
    outcome = place.collect()
    assert not outcome.failed
    assert [str(value) for value in values(place)] == [str(value) for value in expected]
    if old != "integer[]":
        assert len(live_types(place, "value") - {"double", "string", "timestamp_ntz", "timestamp[us]"}) == 0
    assert place.collect().rows.read == 0


def test_members_of_a_struct_come_and_go(place: Place) -> None:
    place.configure(typed("struct(a integer, b varchar)"))
    write(place, "a", {"a": 1, "b": "x"})
    place.collect()
    files = set(DeltaTable(str(place.data / "app_log")).file_uris())
    place.configure(typed("struct(c date, A integer)"))
    write(place, "bb", {"A": 2, "c": "2024-06-01"})
    assert not place.collect().failed
    assert files < set(DeltaTable(str(place.data / "app_log")).file_uris())
    assert [str(value) for value in values(place)] == [
        "{'c': None, 'A': 1}",
        "{'c': datetime.date(2024, 6, 1), 'A': 2}",
    ]
    stored = [row["value"] for row in place.rows("app_log") if row["tp_partition"] == "one"]
    assert stored[0] == {"a": 1, "b": "x", "c": None}


def test_a_column_may_change_its_letters_case_and_leave_and_come_back(place: Place) -> None:
    place.configure(typed("integer"))
    write(place, "a", 1)
    place.collect()
    place.configure(table('column "VALUE" {\n source = "value"\n type = "double"\n}') + PARTITION)
    write(place, "bb", 2.5)
    assert not place.collect().failed
    assert values(place) == [1.0, 2.5]
    place.configure(table("") + PARTITION)
    write(place, "ccc", 3)
    assert not place.collect().failed
    assert values(place) == [1.0, 2.5, None]
    assert only(place.rows("app_log"), "value")[-1] == (None,)


@pytest.mark.parametrize(
    ("old", "new"), [("bigint", "varchar"), ("varchar", "bigint"), ("varchar", "struct(a int)")]
)
def test_other_types_stop_that_table_alone_and_are_rewritten_by_a_command(
    place: Place, old: str, new: str
) -> None:
    from tailpipe.lake.address import TableAddress
    from tailpipe.lake.log import TYPE_KEY, TableLog
    from tailpipe.tables.stored_schema import table_schema

    other = table("", "other_log") + 'partition "other_log" "x" { source "file" { paths = ["LOGS"] } }'
    place.configure(typed(old) + other)
    text = '{"a": 5}' if "struct" in new else "5"
    write(place, "a", text)
    place.collect()
    before = place.rows("app_log")
    place.configure(typed(new) + other)
    write(place, "bb", {"a": 6} if "struct" in new else "6")

    outcome = place.collect()
    assert [failure.cause for failure in outcome.failed] == [Cause.LAKE, Cause.LAKE]
    assert f'column "value" is stored as {old.upper()} and declared as' in outcome.failed[0].message
    assert "tailpipe table rewrite app_log" in outcome.failed[0].message
    assert len(place.rows("other_log")) == 2
    assert place.rows("app_log") == before
    assert [str(value) for value in values(place)] == [text]

    location = str(place.data / "app_log")
    declared = place.collection("app_log").targets[0].table
    assert (
        TableLog(TableAddress(location), table_schema(declared, TYPE_KEY)).rewrite(may_lose=False).rows == 2
    )
    assert not place.collect().failed
    expected = ["{'a': 5}", "{'a': 6}"] if "struct" in new else ["5", "6"]
    assert [str(value) for value in values(place)] == expected
    named = set(DeltaTable(location).file_uris())
    live = {Path(path).name for path in named}
    assert len(live) == 4


def test_a_table_without_rows_takes_any_type(place: Place) -> None:
    from tailpipe.collect.windows import ALWAYS
    from tailpipe.lake.deletion import delete_window

    place.configure(typed("bigint"))
    write(place, "a", 1)
    place.collect()
    for partition in ("one", "two"):
        delete_window(place.lake, "app_log", partition, ALWAYS)
    place.configure(typed("struct(a int)"))
    write(place, "bb", {"a": 1})
    assert not place.collect(start="2024-06-01").failed
    assert {"a": 1} in values(place)
