"""Logs that nobody would write on purpose, on both engines: odd names, long lines, far times, bad items."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import pytest

from pipelines import Place, only

APP = """
table "app_log" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "at" }
  column "level" {}
}
partition "app_log" "one" {
  source "file" { paths = ["LOGS"] }
}
"""


def line(at: str, level: str = "info") -> str:
    return json.dumps({"at": at, "level": level}) + "\n"


def test_a_long_line_and_a_layout_that_repeats_a_group(place: Place) -> None:
    words = "ab " * 80_000
    place.write("app.log", f"2024-06-01 {words}\n2024-06-01 {words * 4}\n2024-06-02 end\n")
    place.configure(
        r"""
        format "regex" "words" { layout = `^(?P<at>\S+) (?P<words>(?:\w|\s)*)$` }
        table "words" {
          format = format.regex.words
          column "tp_timestamp" { source = "at" }
        }
        partition "words" "all" {
          source "file" { paths = ["LOGS"] }
        }
        """
    )
    place.collect()
    assert only(place.rows("words"), "words") == [(words,), ("end",)]
    assert [reject["reason"] for reject in place.rejects("words")] == [
        "line is 960,011 bytes, the limit is 262,144"
    ]


def test_fields_may_have_any_name(place: Place) -> None:
    fields = {
        **{name: name for name in ("raw", "artifact", "entry", "position", "reason", "f", "item", "select")},
        **{name: name for name in ("a.b", "a b", "it's", "b`t", "d$x", 'd"q', "ünï", "a-b", " at", "at ")},
        "Level": "1",
        "level": "2",
        "AT": "x",
        "": "nameless",
        "tp_tags": "mine",
    }
    place.write("app.jsonl", json.dumps({"at": "2024-06-01T00:00:00Z", **fields}))
    place.configure(
        """
        table "odd" {
          format = format.jsonl.default
          column "tp_timestamp" { source = "at" }
          column "dotted" { source = "a.b" }
        }
        partition "odd" "one" {
          source "file" { paths = ["LOGS"] }
        }
        """
    )
    place.collect()
    (row,) = place.rows("odd")
    own = {name: value for name, value in row.items() if not name.startswith("tp_")}
    apart = {name: fields.pop(name) for name in ("level", "AT", "", "tp_tags")}
    assert own == fields | {"dotted": "a.b", "at": "2024-06-01T00:00:00Z"}
    assert json.loads(row["tp_extra"]) == apart


def test_csv_headers_may_have_any_name_and_lack_the_time(place: Place) -> None:
    place.write("a.csv", 'at,id.orig_h,Reason,reason,"a,b"\n2024-06-01,1,2,3,4\n')
    place.write("b.csv", "id.orig_h,reason\n5,6\n")
    place.configure(
        """
        table "odd" {
          format = format.csv.default
          column "tp_timestamp" { source = "at" }
        }
        partition "odd" "one" {
          source "file" { paths = ["LOGS/a.csv"] }
          source "file" { paths = ["LOGS/b.csv"] }
        }
        """
    )
    place.collect()
    (row,) = only(place.rows("odd"), "id.orig_h", "Reason", "a,b", "tp_extra")
    assert row == ("1", "2", "4", '{"reason":"3"}')
    assert only(place.rejects("odd"), "file", "reason") == [("b.csv", "tp_timestamp is missing")]


def test_a_field_keeps_its_column_when_it_changes_its_letter_case(place: Place) -> None:
    place.configure(APP)
    place.write("a.jsonl", '{"at": "2024-06-01", "Host": "a"}\n')
    place.collect()
    place.write("b.jsonl", '{"at": "2024-06-02", "host": "b"}\n')
    place.collect()
    assert only(place.rows("app_log"), "Host") == [("a",), ("b",)]


def test_moments_that_no_date_can_say_are_rejected(place: Place) -> None:
    moments = ("9999-12-30T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:30:00-01:00")
    place.write("2024-06-01.jsonl", "".join(line(moment) for moment in moments))
    place.configure(
        APP.replace(
            'source "file" { paths = ["LOGS"] }',
            """source "file" {
              paths       = ["LOGS"]
              file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.jsonl`
            }""",
        )
    )
    place.collect()
    assert only(place.rows("app_log"), "tp_timestamp") == [("9999-12-30T23:59:59.999999",)]
    assert only(place.rejects("app_log"), "position", "reason") == [
        (2, "tp_timestamp is outside the years 1 to 9999"),
        (3, "tp_timestamp is outside the years 1 to 9999"),
    ]


def test_years_from_1_to_9999_are_read_as_written(place: Place) -> None:
    days = ("0001-01-01", "0004-02-29", "0999-12-31", "1582-10-04", "1582-10-10", "9999-12-31")
    bad = ("0000-12-31", "0100-02-29")
    records = [{"at": "2024-06-01", "moment": f"{day}T00:00:00Z", "day": day} for day in days]
    records += [{"at": "2024-06-01", "day": day} for day in bad]
    place.write("a.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    place.configure(
        APP.replace(
            'column "level" {}', 'column "moment" { type = "timestamp" }\ncolumn "day" { type = "date" }'
        )
    )
    place.collect()
    with duckdb.connect() as reader:
        files = str(place.data / "app_log" / "tp_*" / "**" / "*.parquet")
        found = reader.execute(
            "SELECT moment::varchar, day::varchar FROM read_parquet(?) ORDER BY day", [files]
        ).fetchall()
    assert found == [(f"{day} 00:00:00", day) for day in days]
    assert [reject["reason"] for reject in place.rejects("app_log")] == [
        f'day "{day}" is not a valid DATE' for day in bad
    ]


def test_an_index_may_be_any_text(place: Place) -> None:
    levels = ["x" * 300, "x" * 300 + "y", "ü" * 100, "a/b", "..", "50%", "", "it's"]
    place.write("app.jsonl", "".join(line("2024-06-01", level) for level in levels))
    place.configure(APP.replace('"one" {', '"one" {\n  tp_index = "level"'))
    place.collect()
    rows = place.rows("app_log")
    assert sorted(only(rows, "level")) == sorted((level,) for level in levels)
    assert all(row["tp_index"] == (row["level"] or "default") for row in rows)


CONTAINERS = """
table "boxes" {
  format = format.FORMAT.default
  column "tp_timestamp" { source = "at" }
  column "list" { type = "int[]" }
  column "lists" { type = "int[][]" }
  column "nets" { type = "cidr[]" }
  column "map" { type = "map(varchar, int)" }
  column "struct" { type = "struct(a int, b struct(c date))" }
  column "structs" { type = "struct(a int)[]" }
}
partition "boxes" "one" {
  source "file" { paths = ["LOGS"] }
}
"""
FULL: dict[str, Any] = {
    "list": [1, None],
    "lists": [[1], [], None],
    "nets": ["10.0.0.0/8"],
    "map": {"x": 1, "y": None},
    "struct": {"a": 1, "b": {"c": "2024-01-02"}},
    "structs": [{"a": 1}, None],
}


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_lists_maps_and_structs(place: Place, format: str) -> None:
    if format == "csv":
        texts = (json.dumps(value).replace('"', '""') for value in FULL.values())
        values = ",".join(f'"{text}"' for text in texts)
        place.write("a.csv", f"at,{','.join(FULL)}\n2024-06-01,{values}\n2024-06-02{',' * len(FULL)}\n")
    else:
        full = json.dumps({"at": "2024-06-01", **FULL})
        place.write("a.jsonl", f'{full}\n{{"at": "2024-06-02"}}\n')
    place.configure(CONTAINERS.replace("FORMAT", format))
    place.collect()
    first, second = place.rows("boxes")
    assert {name: dict(first[name]) if name == "map" else first[name] for name in FULL} == FULL
    assert all(second[name] is None for name in FULL)


def test_bad_items_reject_their_record(place: Place) -> None:
    bad: list[tuple[dict[str, Any], str]] = [
        ({"list": [1, "x"]}, "list is not a valid INTEGER[]"),
        ({"lists": [[1], ["x"]]}, "lists is not a valid INTEGER[][]"),
        ({"nets": ["10.0.0.1", "here"]}, "nets is not a valid VARCHAR[]"),
        ({"map": {"a": 1, "b": "x"}}, "map is not a valid MAP(VARCHAR, INTEGER)"),
        ({"struct": {"b": {"c": "x"}}}, 'struct.b.c "x" is not a valid DATE'),
        ({"structs": [{"a": 1}, {"a": "x"}]}, "structs is not a valid STRUCT(a INTEGER)[]"),
    ]
    place.write("a.jsonl", "".join(json.dumps({"at": "2024-06-01", **fields}) + "\n" for fields, _ in bad))
    place.configure(CONTAINERS.replace("FORMAT", "jsonl"))
    place.collect()
    assert [reject["reason"] for reject in place.rejects("boxes")] == [reason for _, reason in bad]


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_a_transform_over_fields_that_differ_in_letter_case(place: Place, format: str) -> None:
    fields = {"at": "2024-06-01", "Host": "A", "host": "b"}
    if format == "csv":
        place.write("a.csv", f"{','.join(fields)}\n{','.join(fields.values())}\n")
    else:
        place.write("a.jsonl", json.dumps(fields))
    place.configure(
        f"""
        table "hosts" {{
          format = format.{format}.default
          column "tp_timestamp" {{ source = "at" }}
          column "both" {{ transform = "upper(host)" }}
        }}
        partition "hosts" "one" {{
          source "file" {{ paths = ["LOGS"] }}
        }}
        """
    )
    place.collect()
    assert only(place.rows("hosts"), "both", "Host", "tp_extra") == [("B", "A", '{"host":"b"}')]


def test_a_transform_over_a_field_that_no_record_has(place: Place) -> None:
    place.write("a.jsonl", '{"at": "2024-06-01"}')
    place.configure(APP.replace('column "level" {}', 'column "level" { transform = "upper(lvl)" }'))
    place.collect()
    assert only(place.rows("app_log"), "level") == [(None,)]
