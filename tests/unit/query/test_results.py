"""Scripts: statements in order, errors with their place and the nearest name."""

from __future__ import annotations

import resource
import subprocess
import sys

import duckdb
import pytest

from tailpipe.errors import QueryError
from tailpipe.query.results import BATCH_ROWS, run_script

TABLES = ("aws_cloudtrail_log", "nginx_access_log")


def answers(connection: duckdb.DuckDBPyConnection, script: str) -> list[list[tuple[str | None, ...]]]:
    return [
        [row for batch in result.text_batches() for row in batch] for result in run_script(connection, script)
    ]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("select 1; select 2;", [[("1",)], [("2",)]]),
        ("create temp table t as select 1 as x; insert into t values (2); from t", [[("1",), ("2",)]]),
        ("select ';' -- a; comment\n; /* select 3; */", [[(";",)]]),
        (
            "create temp table t(k int, v int); insert into t values (1, 5); pivot t on k using sum(v)",
            [[("5",)]],
        ),
        ("prepare p as select $1 + 1; execute p(41)", [[("42",)]]),
        ("set threads = 1; select current_setting('threads')", [[("1",)]]),
        ("select current_setting('TimeZone')", [[("UTC",)]]),
        (";", []),
    ],
)
def test_statements_run_in_order(
    connection: duckdb.DuckDBPyConnection, script: str, expected: list[list[tuple[str, ...]]]
) -> None:
    assert answers(connection, script) == expected


def test_order_of_rows_is_kept(connection: duckdb.DuckDBPyConnection) -> None:
    (numbers,) = answers(connection, "select i from range(100000) t(i) order by i desc")
    assert [int(number or -1) for (number,) in numbers] == list(range(99999, -1, -1))


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "select * from aws_cloudtrail",
            'There is no table "aws_cloudtrail".\n'
            "LINE 1: select * from aws_cloudtrail\n"
            "                      ^\n"
            'hint: did you mean "aws_cloudtrail_log"?',
        ),
        (
            "select 1;\n\nselect eventname\nfrom aws_cloudtrail_log",
            'There is no column "eventname".\n'
            "LINE 3: select eventname\n"
            "               ^\n"
            'hint: did you mean "event_name"?',
        ),
        (
            "select user_identity.an from aws_cloudtrail_log",
            'The struct has no member "an".\nhint: did you mean "arn"?',
        ),
        (
            "select lowr('x')",
            "Catalog Error: Scalar Function with name lowr does not exist!\n"
            "LINE 1: select lowr('x')\n"
            "               ^\n"
            'hint: did you mean "lower"?',
        ),
        (
            "select 1;\nselct 2",
            'Parser Error: syntax error at or near "selct"\nLINE 2: selct 2\n        ^',
        ),
        (
            "select * from zzzzzz",
            'There is no table "zzzzzz".\n'
            "LINE 1: select * from zzzzzz\n"
            "                      ^\n"
            "hint: there are: aws_cloudtrail_log, nginx_access_log",
        ),
        (
            "from tailpipe.collections",
            'There is no table "tailpipe.collections".\n'
            "LINE 1: from tailpipe.collections\n"
            "             ^\n"
            "hint: it is called tailpipe.runs now",
        ),
    ],
)
def test_errors(connection: duckdb.DuckDBPyConnection, script: str, message: str) -> None:
    connection.execute(
        "create view aws_cloudtrail_log as select 1 as event_name, {'arn': 'x'} as user_identity"
    )
    with pytest.raises(QueryError) as caught:
        [list(result.text_batches()) for result in run_script(connection, script, TABLES)]
    assert str(caught.value) == message


def test_without_any_table_the_hint_says_what_to_do(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(QueryError, match="run tailpipe collect"):
        list(run_script(connection, "from aws_cloudtrail_log"))


def test_an_error_while_reading_does_not_point_into_sql_of_ours(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    (result,) = run_script(connection, "select v::int from (values ('1'), ('x')) t(v)")
    with pytest.raises(QueryError, match="Could not convert string 'x'") as caught:
        list(result.text_batches())
    assert "LINE" not in str(caught.value)


def test_large_answers_are_streamed(connection: duckdb.DuckDBPyConnection) -> None:
    (result,) = run_script(connection, "select i, repeat('x', 200) as x from range(100000000) t(i)")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    batches = result.text_batches()
    assert [len(next(batches)) for _ in range(100)] == [BATCH_ROWS] * 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def test_the_query_room_imports_neither_spark_nor_pyarrow() -> None:
    program = (
        "import sys, tailpipe.query.tables, tailpipe.query.output, tailpipe.cli.commands.query\n"
        "print([name for name in ('pyspark', 'pyarrow', 'deltalake', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
