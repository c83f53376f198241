"""What expressions see when logs are collected, and what is said of records for which they give nothing."""

from __future__ import annotations

import pytest

from pipelines import NOW, Place, only
from tailpipe.cli.progress import Silence
from tailpipe.collect.retry import Retry

LINES = r"""
format "regex" "words" { layout = `^(?P<word>\S+) (?P<number>\S+)$` }
table "words" {
  format = format.regex.words
  COLUMNS
}
partition "words" "all" {
  PARTITION
  source "file" {
    paths       = ["LOGS"]
    file_layout = `%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{WORD:host}-(?P<date>[0-9-]+).log`
  }
}
"""
JSON = LINES.replace("format.regex.words", "format.jsonl.default")
FROM_PATH = """
column "tp_timestamp" {
  transform = "make_timestamp(year::bigint, month::bigint, day::bigint, number::bigint, 0, 0)"
}
"""


def configure(place: Place, text: str, columns: str, partition: str = "") -> None:
    place.configure(text.replace("COLUMNS", columns).replace("PARTITION", partition))


def reasons(place: Place) -> list[str]:
    return [str(row["reason"]) for row in place.rejects("words")]


MOMENTS = [
    'column "tp_timestamp" { transform = "make_timestamp(year::bigint, month::bigint, day::bigint, 0, 0, 0)" }',
    'column "tp_timestamp" { transform = "date" }',
    'column "tp_timestamp" { source = "date" }',
    'column "date" { type = "timestamp" }',
    'column "moment" {\n  type = "timestamp"\n  source = "date"\n}',
    'column "the moment." {\n  type = "timestamp"\n  transform = "date::timestamp"\n}',
]


@pytest.mark.parametrize(("text", "line"), [(LINES, "a 1\n"), (JSON, '{"word": "a"}\n')])
def test_records_without_a_time_have_that_of_their_path(place: Place, text: str, line: str) -> None:
    place.write("2024/06/02/web-2024-06-02.log", line)
    format_, blocks = text.split("table ", 1)
    tables = [
        f"table {blocks}".replace('"words"', f'"words{k}"')
        .replace("COLUMNS", column)
        .replace("PARTITION", "")
        for k, column in enumerate(MOMENTS)
    ]
    place.configure(format_ + "".join(tables))
    place.collect()
    for number in range(len(MOMENTS)):
        found = only(place.rows(f"words{number}"), "tp_timestamp", "tp_date", "word")
        assert found == [("2024-06-02T00:00:00", "2024-06-02", "a")], MOMENTS[number]


def test_a_field_hides_a_capture_where_the_record_has_it(place: Place) -> None:
    place.write(
        "2024/06/02/web-2024-06-02.log",
        '{"word": "a", "host": "own", "year": "1999"}\n{"word": "b", "host": null}\n',
    )
    columns = """
      column "tp_timestamp" { source = "date" }
      column "host" {}
      column "which" { transform = "host || '/' || year" }
    """
    configure(place, JSON, columns)
    place.collect()
    assert only(place.rows("words"), "word", "host", "which") == [
        ("a", "own", "own/1999"),
        ("b", "web", "web/2024"),
    ]


def test_rejects_are_tried_again_with_what_their_path_says(place: Place) -> None:
    place.write("2024/06/02/web-2024-06-02.log", "a 3\nb 25\n")
    configure(place, LINES, 'column "tp_timestamp" { transform = "try_cast(number as timestamp)" }')
    place.collect()
    configure(place, LINES, FROM_PATH)
    collection = place.collection()
    retry = Retry(
        targets=collection.targets,
        lake=place.lake,
        window=None,
        engine=collection.engine,
        now=NOW,
        watcher=Silence(),
        open_engine=collection.open_engine,
    )
    (outcome,) = retry.execute()
    assert (outcome.rows.read, outcome.rows.stored, outcome.rows.rejected) == (2, 1, 1)
    assert only(place.rows("words"), "tp_timestamp") == [("2024-06-02T03:00:00",)]
    assert 'gave no value for year = "2024", month = "06", day = "02", number = "25"' in reasons(place)[0]


def test_a_reject_tells_the_expression_and_what_it_was_given(place: Place) -> None:
    place.write("2024/06/02/web-2024-06-02.log", "31/Feb/2024 1\n9/May/99999 2\n2024 x\n02/Jun/2024 4\n")
    columns = """
      column "tp_timestamp" { transform = "coalesce(try_strptime(word, '%d/%b/%Y'), try_cast(word as timestamp))" }
      column "size" {
        type      = "integer"
        transform = "number"
        required  = true
      }
    """
    configure(place, LINES, columns)
    place.collect()
    assert only(place.rows("words"), "word", "size") == [("02/Jun/2024", 4)]
    stated = "tp_timestamp: coalesce(try_strptime(word, '%d/%b/%Y'), try_cast(word as timestamp)) gave no value for "
    assert reasons(place) == [
        f'{stated}word = "31/Feb/2024"',
        f'{stated}word = "9/May/99999"',
        f'{stated}word = "2024"',
    ]
    assert [row["raw"] for row in place.rejects("words")][2] == "2024 x"


def test_a_required_value_and_a_time_beyond_the_calendar(place: Place) -> None:
    place.write("2024/06/02/web-2024-06-02.log", "a x\nb 20000\n")
    columns = """
      column "tp_timestamp" { transform = "make_timestamp(coalesce(try_cast(number as bigint), 2024), 6, 2, 0, 0, 0)" }
      column "size" {
        type      = "integer"
        transform = "number"
        required  = true
      }
    """
    configure(place, LINES, columns)
    place.collect()
    assert reasons(place) == [
        'size: number gave no value for number = "x"',
        "tp_timestamp is outside the years 1 to 9999",
    ]


@pytest.mark.parametrize("map_fields", ["", "map_fields = []"])
def test_a_filter_and_tp_index_use_fields_without_a_column(place: Place, map_fields: str) -> None:
    place.write("2024/06/02/web-2024-06-02.log", "a 1\nb 2\nc 3\n")
    configure(
        place,
        LINES,
        'column "tp_timestamp" { source = "date" }' + f"\n{map_fields}",
        "filter = \"number <> '2'\"",
    )
    place.collect()
    assert len(place.rows("words")) == 2
    place.write("2024/06/03/web-2024-06-03.log", '{"level": "x", "n": 1}\n{"level": "y"}\n{"n": 2}\n')
    columns = 'column "tp_timestamp" { source = "date" }' + f"\n{map_fields}"
    configure(
        place, JSON.replace("words", "events"), columns, 'filter = "level is not null"\n  tp_index = "level"'
    )
    place.collect()
    assert [row["tp_index"] for row in place.rows("events")] == ["x", "y"]


def test_a_filter_sees_the_path_and_the_place_of_a_plugins_table_too(place: Place) -> None:
    line = '1.2.3.4 - - [02/Jun/2024:10:00:00 +0000] "GET /{} HTTP/1.1" 200 1 "-" "-"\n'
    place.write("web/a.log", line.format("a"))
    place.write("api/b.log", line.format("b"))
    place.configure(
        """
        partition "nginx_access_log" "p" {
          filter   = "service = 'api' and tp_source_location like '%/api/b.log' and tp_date = '2024-06-02'"
          tp_index = "service"
          source "file" {
            paths       = ["LOGS"]
            file_layout = `%{WORD:service}/%{WORD}.log`
          }
        }
        """
    )
    outcome = place.collect()
    assert (outcome.rows.stored, outcome.rows.filtered) == (1, 1)
    assert only(place.rows("nginx_access_log"), "tp_index", "request_uri") == [("api", "/b")]


def test_a_field_that_a_column_of_another_name_reads_is_a_column_too(place: Place) -> None:
    place.write("2024/06/02/web-2024-06-02.log", "a 1\n")
    columns = """
      column "tp_timestamp" { source = "date" }
      column "size" {
        type   = "integer"
        source = "number"
      }
      column "twice" {
        type      = "bigint"
        transform = "size * 2 + number::integer"
      }
    """
    configure(place, LINES, columns)
    place.collect()
    assert only(place.rows("words"), "size", "number", "twice") == [(1, "1", 3)]


def test_types_that_only_duckdb_has(place: Place) -> None:
    lines = [
        '{"src": "10.1.2.3", "doc": {"a": [1, 2]}, "n": 7}',
        '{"src": "192.168.0.1", "doc": "text", "n": 8}',
    ]
    place.write("2024/06/02/web-2024-06-02.log", "".join(line + "\n" for line in lines))
    columns = """
      column "tp_timestamp" { source = "date" }
      column "src" { type = "inet" }
      column "doc" { type = "json" }
      column "n" { type = "utinyint" }
      column "network" {
        type      = "inet"
        transform = "network(src)"
      }
      column "inner" {
        type      = "json"
        transform = "doc -> '$.a'"
      }
      column "words" {
        type      = "json"
        transform = "'n is ' || n"
      }
      column "parts" {
        type      = "struct(a utinyint, b varchar[])"
        transform = "{'a': n + 1, 'b': [host(src)]}"
      }
    """
    configure(place, JSON, columns, "filter = \"src <<= '10.0.0.0/8'::inet or n = 8\"")
    place.collect()
    found = only(place.rows("words"), "network", "inner", "words", "parts")
    assert sorted(found) == [
        ("10.1.2.3", "[1,2]", '"n is 7"', {"a": 8, "b": ["10.1.2.3"]}),
        ("192.168.0.1", None, '"n is 8"', {"a": 9, "b": ["192.168.0.1"]}),
    ]


def test_an_expression_over_a_field_into_which_a_column_reaches(place: Place) -> None:
    place.write("2024/06/02/web-2024-06-02.log", '{"user": {"id": 7, "name": "me"}}\n')
    columns = """
      column "tp_timestamp" { source = "date" }
      column "user_id" {
        type   = "integer"
        source = "user.id"
      }
      column "name" { transform = "(user::json) ->> 'name'" }
    """
    configure(place, JSON, columns)
    place.collect()
    assert only(place.rows("words"), "user_id", "name") == [(7, "me")]
