"""What is refused and what is said, what a name stands for, and what a calculation gives."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from tailpipe.errors import ConfigError, Position
from tailpipe.tables.expressions.calculation import Calculation, Output, calculations
from tailpipe.tables.expressions.check import check_expression
from tailpipe.tables.expressions.database import open_database
from tailpipe.tables.expressions.scope import Input, Scope

COLUMNS = {
    "event_name": "VARCHAR",
    "status": "INTEGER",
    "seen": "TIMESTAMP",
    "doc": "JSON",
    "src": "INET",
    "tags": "VARCHAR[]",
    "who": "STRUCT(type VARCHAR, name VARCHAR)",
}
SCOPE = Scope(COLUMNS, fields=("status", "rawLine"), captures=("region",))
OPEN = Scope(COLUMNS, captures=("region",), is_open=True)

REFUSED = [
    (
        "evnt_name = 'x'",
        'there is no field or column "evnt_name".\nhint: did you mean "event_name"? columns: doc, ',
    ),
    (
        "zzz = 1",
        "hint: columns: doc, event_name, seen, src, status, tags, who; fields: rawLine; from the path: region",
    ),
    ("who.tpe = 'x'", 'Could not find key "tpe" in struct'),
    ("event_name.x = 'x'", "because it is not a struct"),
    ("lowerr(event_name)", 'lowerr does not exist.\nhint: did you mean "lower"?'),
    ("count(status) > 1", "aggregates are not supported: an expression sees one record"),
    ("count(*) > 1", "aggregates are not supported"),
    ("list(status)", "aggregates are not supported"),
    ("sum(status) over () > 1", "window functions are not supported"),
    ("unnest(tags) = 'a'", "unnest is not supported"),
    ("status = (select 1)", "a query inside an expression is not supported"),
    ("status in (select 1)", "a query inside an expression is not supported"),
    ("exists (select 1)", "a query inside an expression is not supported"),
    ("event_name = any(tags)", "write list_contains(list, value)"),
    ("select 1", "a query inside an expression is not supported"),
    ("(from range(3))", "a query inside an expression is not supported"),
    ("drop table x", "SQL syntax error"),
    ("status = 1; status = 2", 'SQL syntax error near ";", character 11 of the expression'),
    ("1) from read_text('/etc/passwd') where (true", "this is more than one expression"),
    ("1) order by (1", "this is more than one expression"),
    ("read_text('/etc/passwd')", "is a table function"),
    ("*", "* is not supported"),
    ("COLUMNS('s.*') = 1", "* is not supported"),
    ("status = ?", "this is more than one expression"),
    ("#1 = 1", "columns have no numbers here"),
    ("status as x", 'SQL syntax error near "as", character 8'),
    ("", "the expression is empty"),
    ("  \n", "the expression is empty"),
    ("status = \0", "NUL"),
    ("event_name = '\ud800'", "what is no character"),
    (" + ".join(["status"] * 3000), "the expression is nested too deeply"),
    (" + ".join(["status"] * 700), "the expression is nested too deeply"),
    ("status = = 1", 'SQL syntax error near "=", character 10 of the expression'),
    ("'é' = = 1", 'SQL syntax error near "=", character 7 of the expression'),
    ("status +", "the expression ends too early"),
    ("'open", "does not end"),
    ("/* open", "does not end"),
    (
        "strptime(at, '%Y')",
        'hint: "at" is a word of SQL; if a field has that name, write it in double quotes',
    ),
    ("order > 1", 'hint: "order" is a word of SQL'),
    ("lower(status)", "No function matches the given name"),
    ("lower(event_name, 'x')", "No function matches the given name"),
    ("regexp_matches(event_name, '(?=a)')", "invalid perl operator: (?="),
    ("strptime(event_name, '%Q')", "Unrecognized format"),
    ("seen > 'yesterday'", "invalid timestamp field format"),
    ("status = 'x'", "Could not convert string 'x' to INT32"),
    ("random() > 0.5", "a record must always become the same row"),
    ("uuid()::varchar = event_name", "a record must always become the same row"),
    ("tp_ips is null", 'there is no field or column "tp_ips"'),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refusals_name_the_place_and_the_reason(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_expression(text, SCOPE, position=Position("p.tpc", 3, 14), what="filter of x.y")
    assert str(caught.value).startswith("p.tpc:3:14: filter of x.y: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("EVENT_NAME = 'a'", [Input("event_name", is_column=True)]),
        ("status = 1", [Input("status", "INTEGER", is_column=True)]),
        ("rawline", [Input("rawLine", is_field=True)]),
        ("region || src::varchar", [Input("region", capture="region"), Input("src", "INET", is_column=True)]),
        ("src <<= '10.0.0.0/8'::inet", [Input("src", "INET", is_column=True)]),
        (
            "list_filter(tags, lambda tag: tag = region)",
            [Input("tags", "VARCHAR[]", is_column=True), "region"],
        ),
        ("list_filter(tags, tag -> tag = region)", [Input("tags", "VARCHAR[]", is_column=True), "region"]),
        ("doc -> event_name", [Input("doc", "JSON", is_column=True), Input("event_name", is_column=True)]),
        ("now() > current_date", []),
        ("event_name.upper()", [Input("event_name", is_column=True)]),
        ("event_name -- to the end", [Input("event_name", is_column=True)]),
    ],
)
def test_what_names_stand_for(text: str, inputs: list[Input | str]) -> None:
    expected = {Input("region", capture="region") if entry == "region" else entry for entry in inputs}
    assert set(check_expression(text, SCOPE).inputs) == expected


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("Level = 'x'", Input("Level", is_field=True)),
        ("region = 'x'", Input("region", is_field=True, capture="region")),
        ("user = 'x'", Input("user", is_field=True)),
        ("nested.part is null", None),
        ("doc ->> 'a' = 'b'", Input("doc", "JSON", is_column=True)),
    ],
)
def test_where_any_field_may_occur_other_names_are_fields(text: str, entry: Input | None) -> None:
    if entry is None:
        with pytest.raises(ConfigError, match="not a struct"):
            check_expression(text, OPEN)
        return
    assert check_expression(text, OPEN).inputs == (entry,)


def test_long_expressions_are_no_problem() -> None:
    assert check_expression(" or ".join(f"status = {k}" for k in range(2000)), SCOPE).type == "BOOLEAN"
    assert check_expression(" || ".join(["event_name"] * 250), SCOPE).type == "VARCHAR"


def test_of_fields_that_differ_in_letter_case_an_expression_sees_the_one_it_spells() -> None:
    scope = Scope(fields=("Level", "level"))
    assert [check_expression(text, scope).inputs[0].name for text in ("level", "Level", "LEVEL")] == [
        "level",
        "Level",
        "Level",
    ]
    with pytest.raises(ConfigError, match="differ in letter case only"):
        check_expression("Level || level", scope)
    outputs = [Output(name, name, "VARCHAR", (Input(name, is_field=True),)) for name in ("Level", "level")]
    assert [len(each.outputs) for each in calculations(outputs)] == [1, 1]


def run(text: str, type_: str, **columns: list[object]) -> list[object]:
    """The value of an expression over columns of text."""
    inputs = tuple(Input(name, is_field=True) for name in columns)
    calculation = Calculation((Output("x", text, type_, inputs),))
    rows = max((len(values) for values in columns.values()), default=2)
    arrays = [pa.array(values, pa.string()) for values in columns.values()]
    with open_database(datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)) as connection:
        (found,) = calculation.run(connection, arrays, rows)
    values: list[object] = found.to_pylist()
    return values


def test_an_error_is_null_in_its_row_alone() -> None:
    assert run("x::int // y::int", "INTEGER", x=["7", "a", None, "8"], y=["2", "2", "2", "0"]) == [
        3,
        None,
        None,
        None,
    ]
    assert run("x", "TINYINT", x=["127", "128", "-1"]) == [127, None, -1]


TEXT = (Input("x", "VARCHAR"),)


@pytest.mark.parametrize(
    ("text", "type_", "given", "expected"),
    [
        ("x::int + x::int", "BIGINT", ["1", "bad", "3"], [2, None, 6]),
        ("x::int >= 1 and x::int < 3", "BOOLEAN", ["1", "bad", "3"], [True, None, False]),
        (
            "year(timezone(x, timestamp '2024-01-01 12:00:00'))",
            "BIGINT",
            ["Europe/Berlin", "Mars", "UTC"],
            [2024, None, 2024],
        ),
        (
            "list_reduce(list_filter([x], lambda v: v <> ''), lambda a, b: a || b)",
            "VARCHAR",
            ["a", "", "c"],
            ["a", None, "c"],
        ),
        ("x like x escape '!'", "BOOLEAN", ["a!", "c"], [None, True]),
    ],
)
def test_errors_that_pass_through_try_are_null_in_their_row_alone(
    text: str, type_: str, given: list[str], expected: list[object]
) -> None:
    outputs = (Output("c", text, type_, TEXT), Output("same", "x", "VARCHAR", TEXT))
    values, same = Calculation(outputs).run(open_database(), [pa.array(given)], len(given))
    assert values.to_pylist() == expected
    assert same.to_pylist() == given


def test_times_without_end_are_null() -> None:
    assert run("'infinity'", "TIMESTAMP") == [None, None]
    assert run("'-infinity'", "DATE") == [None, None]
    assert run("x::timestamptz", "TIMESTAMPTZ", x=["infinity", "2024-01-01"])[0] is None


def test_an_expression_without_inputs_has_a_value_in_every_row() -> None:
    assert run("now()::timestamp", "TIMESTAMP") == [datetime.fromisoformat("2024-01-02T03:04:05")] * 2


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_text('{file}')",
        "COPY (SELECT 1) TO '{file}'",
        "ATTACH '{file}'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '10GB'",
        "SET threads = 8",
    ],
)
def test_the_database_reaches_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "file"
    file.write_text("secret")
    with (
        open_database() as connection,
        pytest.raises(Exception, match=r"disabled|locked|Permission|configuration"),
    ):
        connection.execute(text.format(file=file))
    assert file.read_text() == "secret"
