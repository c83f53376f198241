"""Every query in answers/ is written in every output, and must be what lies beside it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import duckdb
import pytest

from tailpipe.query.output import WRITERS, OutputOptions
from tailpipe.query.results import run_script

ANSWERS = Path(__file__).parent / "answers"
CASES = sorted(path.stem for path in ANSWERS.glob("*.sql"))
OUTPUTS = ("table", "csv", "json", "jsonl", "line", "pretty", "plain")


def written(
    connection: duckdb.DuckDBPyConnection, sql: str, output: str, options: OutputOptions | None = None
) -> str:
    out = io.StringIO()
    for result in run_script(connection, sql):
        WRITERS[output](result, out, options or OutputOptions(clock=lambda: 0.0))
    return out.getvalue()


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("case", CASES)
def test_answer(connection: duckdb.DuckDBPyConnection, case: str, output: str) -> None:
    sql = (ANSWERS / f"{case}.sql").read_text(encoding="utf-8")
    expected = (ANSWERS / f"{case}.{output}").read_bytes().decode()
    assert written(connection, sql, output) == expected


@pytest.mark.parametrize("case", CASES)
def test_json_is_json_and_its_lines_are_its_rows(connection: duckdb.DuckDBPyConnection, case: str) -> None:
    sql = (ANSWERS / f"{case}.sql").read_text(encoding="utf-8")
    whole = json.loads(written(connection, sql, "json"), parse_constant=pytest.fail)
    lines = [json.loads(line) for line in written(connection, sql, "jsonl").splitlines()]
    assert whole["rows"] == lines
    assert all(list(row) == [column["name"] for column in whole["columns"]] for row in lines)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("table", "┌───┐\n│ 1 │\n└───┘\n"),
        ("pretty", "┌─────────┐\n│       1 │\n└─────────┘\n1 row in 0.00 s\n"),
        ("csv", "1\n"),
        ("plain", "1\n"),
    ],
)
def test_without_header(connection: duckdb.DuckDBPyConnection, output: str, expected: str) -> None:
    options = OutputOptions(has_header=False, clock=lambda: 0.0)
    assert written(connection, "select 1 as number", output, options) == expected


def test_csv_with_another_separator(connection: duckdb.DuckDBPyConnection) -> None:
    text = written(connection, "select 'a;b' as x, 'c,d' as y", "csv", OutputOptions(separator=";"))
    assert text == 'x;y\n"a;b";c,d\n'


def test_pretty_wraps_to_the_terminal(connection: duckdb.DuckDBPyConnection) -> None:
    sql = "select 7 as n, 'the quick brown fox jumps over the lazy dog' as text"
    text = written(connection, sql, "pretty", OutputOptions(width_columns=40, clock=lambda: 0.0))
    assert text == (
        "┌─────────┬────────────────────────────┐\n"
        "│ n       │ text                       │\n"
        "│ integer │ varchar                    │\n"
        "├─────────┼────────────────────────────┤\n"
        "│       7 │ the quick brown fox jumps  │\n"
        "│         │ over the lazy dog          │\n"
        "└─────────┴────────────────────────────┘\n"
        "1 row in 0.00 s\n"
    )


def test_json_text_over_several_lines_stays_one_line_in_jsonl(connection: duckdb.DuckDBPyConnection) -> None:
    text = written(connection, "select e'{\"a\":\\r\\n [1,\\n2]}'::json as j", "jsonl")
    assert text.count("\n") == 1
    assert json.loads(text) == {"j": {"a": [1, 2]}}


def test_a_table_wider_after_its_head_loses_nothing(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailpipe.query.output.grid.HEAD_ROWS", 1)
    sql = "select repeat('x', 1 + (i // 4000)::int * 5) as x from range(4001) t(i)"
    lines = written(connection, sql, "table").splitlines()
    assert lines[3] == "│ x │"
    assert lines[-2] == "│ xxxxxx │"
    assert len(lines) == 4001 + 4
