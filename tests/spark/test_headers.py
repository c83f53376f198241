"""Files whose fields are not the table's: headers that nobody announced, and sources that fill no column."""

from __future__ import annotations

import json

import pytest

from pipelines import Place, only
from tailpipe.errors import ConfigError

ORDERS = """
format "delimited" "orders" { ARGUMENTS }
table "orders" {
  format = format.FORMAT
  map_fields = []
  column "tp_timestamp" { source = "at" }
  column "user" {}
  column "total" { type = "int" }
}
partition "orders" "all" {
  source "file" { paths = ["LOGS"] }
}
"""


def orders(arguments: str = "", format: str = "delimited.orders") -> str:
    return ORDERS.replace("ARGUMENTS", arguments).replace("FORMAT", format)


def failures(place: Place) -> list[str]:
    return [failure.message for failure in place.collect().failed]


def test_a_first_line_that_names_the_columns_is_a_header(place: Place) -> None:
    place.write("a.csv", "at,user,total,note\n2024-06-01,alice,1,x\n")
    place.write("b.csv", "Total,AT,user,more\n2,2024-06-02,bob,\n3,2024-06-03,eve,y\n")
    place.configure(orders())
    assert failures(place) == []
    assert only(place.rows("orders"), "user", "total", "tp_extra") == [
        ("alice", 1, '{"note":"x"}'), ("bob", 2, None), ("eve", 3, '{"more":"y"}')
    ]  # fmt: skip


def test_a_header_before_declared_fields_is_no_record(place: Place) -> None:
    place.write("a.csv", "At,User,Total\n2024-06-01,alice,1\n")
    place.write("b.csv", "2024-06-02,bob,2\n")
    place.configure(orders('fields = ["at", "user", "total"]'))
    assert failures(place) == []
    assert only(place.rows("orders"), "user", "total") == [("alice", 1), ("bob", 2)]
    assert place.rejects("orders") == []


def test_a_header_that_was_said_to_be_none_is_a_record(place: Place) -> None:
    place.write("a.csv", "at,user,total\n2024-06-01,alice,1\n")
    place.configure(orders('header = false\nfields = ["at", "user", "total"]'))
    place.collect()
    assert only(place.rows("orders"), "user") == [("alice",)]
    assert len(place.rejects("orders")) == 1


def test_a_source_none_of_whose_fields_is_a_column_is_an_error(place: Place) -> None:
    place.write("a.csv", "2024-06-01,alice,1\n2024-06-02,bob,2\n")
    place.configure(orders())
    (message,) = failures(place)
    assert 'none of the fields of source "file" is a column of orders' in message
    assert "Fields: column0, column1, column2. Columns read: at, total, user" in message
    assert "header = true" in message
    assert place.rows("orders") == []
    place.configure(orders('fields = ["at", "user", "total"]'))
    assert failures(place) == []
    assert only(place.rows("orders"), "user") == [("alice",), ("bob",)]


@pytest.mark.parametrize("format", ["jsonl.default", "csv.default", "json.default"])
def test_files_of_another_kind_are_an_error(place: Place, format: str) -> None:
    place.write("a.log", "x,y\n1,2\n" if "csv" in format else json.dumps({"x": 1, "y": {"at": 2}}) + "\n")
    place.configure(orders(format=format))
    (message,) = failures(place)
    assert "Fields: x, y. Columns read: at, total, user" in message


def test_a_source_of_another_kind_costs_itself(place: Place) -> None:
    place.write("good/a.jsonl", '{"at": "2024-06-01", "user": "alice"}\n')
    place.write("bad/a.jsonl", '{"x": 1}\n')
    sources = 'source "file" { paths = ["LOGS/good"] }\n  source "file" { paths = ["LOGS/bad"] }'
    place.configure(orders(format="jsonl.default").replace('source "file" { paths = ["LOGS"] }', sources))
    (message,) = failures(place)
    assert 'source "file_2"' in message
    assert only(place.rows("orders"), "user") == [("alice",)]


def test_one_file_with_a_foreign_header_is_rejected_with_the_names_it_has(place: Place) -> None:
    for day in range(1, 25):
        place.write(f"{day:02}.csv", f"at,user\n2024-06-{min(day, 12):02},alice\n")
    place.write("04b.csv", "x,y\n1,2\n")
    place.configure(orders(format="csv.default"))
    assert failures(place) == []
    assert only(place.rejects("orders"), "reason", "raw") == [
        ("the header of its file names none of the fields that are read: x, y", "1,2")
    ]


@pytest.mark.parametrize(
    "format",
    [
        'regex" "lines" { layout = `(?P<when>\\S+) (?P<who>\\S+)` }',
        'grok" "lines" { layout = `%{WORD:who}` }',
    ],
)
def test_captures_that_are_no_columns_are_a_problem_of_the_configuration(place: Place, format: str) -> None:
    kind = format.partition('"')[0]
    place.configure(orders(format=f"{kind}.lines") + f'format "{format}\n')
    with pytest.raises(ConfigError, match="none of the fields of source"):
        place.collect()
