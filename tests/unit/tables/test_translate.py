"""What is refused and what is said; that the documented functions are those that are there and tried."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlglot import exp

from tailpipe.errors import ConfigError, Position
from tailpipe.tables.expressions import FUNCTIONS, translate
from tailpipe.tables.expressions.parse import parse_expression

ROOT = Path(__file__).parents[3]
COLUMNS = {
    "event_name": "varchar",
    "status": "integer",
    "seen": "timestamp",
    "doc": "json",
    "src": "inet",
    "tags": "varchar[]",
    "who": "struct(type varchar, name varchar)",
    "ratio": "double",
}

REFUSED = [
    ("evnt_name = 'x'", 'there is no column "evnt_name".\nhint: did you mean "event_name"?'),
    ("zzz = 1", "hint: columns: doc, event_name"),
    ("who.tpe = 'x'", '"who" has no member "tpe".\nhint: did you mean "type"?'),
    ("event_name.x = 'x'", '"event_name" is not a struct'),
    ("lowerr(event_name)", 'function "lowerr" is not supported in expressions.\nhint: did you mean "lower"?'),
    ("count(status) > 1", 'function "count" is not supported'),
    ("sum(status) over () > 1", "window functions are not supported"),
    ("status = (select 1)", "a query inside an expression is not supported"),
    ("exists (select 1)", "a query inside an expression is not supported"),
    ("select 1", "a query inside an expression is not supported"),
    ("drop table x", "this is a statement"),
    ("status = 1; status = 2", "more than one statement"),
    ("*", "* is not supported"),
    ("status = ?", "parameters are not supported"),
    ("status as x", "has no alias"),
    ("", "the expression is empty"),
    ("status = = 1", 'SQL syntax error near "=", character 10 of the expression'),
    ("status +", "SQL syntax error"),
    ("'open", "does not end"),
    ("lower(status)", "No function matches the given name"),
    ("lower(event_name, 'x')", "No function matches the given name"),
    ("event_name + 1", "add explicit type casts"),
    ("status AND true", "status is INTEGER where a boolean is expected"),
    ("doc -> 'a'", "-> leaves JSON"),
    ("doc ->> '$.a[#-1]'", 'the JSON path "$.a[#-1]" is not supported'),
    ("src = '10.0.0.1'", "src is INET where"),
    ("who = who", "where a single value is expected"),
    ("ratio::varchar", "cast it to DECIMAL"),
    ("regexp_matches(event_name, event_name)", "regexp_matches needs its pattern written out in quotes"),
    ("regexp_matches(event_name, '(?=a)')", "invalid perl operator: (?="),
    ("regexp_matches(event_name, '(?m)^a')", '"(?m)" is not supported in a regular expression'),
    ("regexp_extract(event_name, '(a)', 2)", "the pattern has 1 groups, there is no group 2"),
    ("regexp_replace(event_name, '(a)', '\\1x', 'g')", "followed by a letter"),
    ("strptime(event_name, '%Q')", "Unrecognized format"),
    ("strptime(event_name, '%j')", '"%j" in the time format "%j" is not supported'),
    ("date_trunc('century', seen)", 'date_trunc of "century" is not supported'),
    ("seen - seen > INTERVAL 1 DAY", "use date_diff"),
    ("tags[1:2]", "not supported"),
    ("status BETWEEN SYMMETRIC 1 AND 2", "not supported"),
    ("event_name COLLATE nocase = 'x'", "not supported"),
    ("event_name.lower()", "write functions as name(column)"),
    ("seen > 'yesterday'", "invalid timestamp field format"),
    ("status = 'x'", "Could not convert string 'x' to INT32"),
    ("seen AT TIME ZONE 'UTC' > seen", "not supported"),
    ("event_name GLOB 'a*'", "not supported"),
    ("status & 1 = 1", "not supported"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refusals_name_the_place_and_the_reason(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        translate(text, COLUMNS, position=Position("p.tpc", 3, 14), what="filter of x.y")
    assert str(caught.value).startswith("p.tpc:3:14: filter of x.y: ")
    assert message in str(caught.value)


def test_columns_are_found_in_any_case_and_reported_by_their_own_name() -> None:
    result = translate("EVENT_NAME = 'a' AND who.TYPE = 'b'", COLUMNS)
    assert result.columns == {"event_name", "who"}
    assert result.type == "BOOLEAN"


def test_bindings_stand_in_for_columns() -> None:
    result = translate("lower(event_name)", COLUMNS, bindings={"event_name": "f.`eventName`"})
    assert result.sql == "(lower(f.`eventName`))"
    assert result.columns == {"event_name"}


def test_spark_sees_neither_variables_nor_escapes_in_text() -> None:
    result = translate("event_name = 'a${x}\\n''b'", COLUMNS)
    assert result.sql == r"(`event_name` = 'a\u0024{x}\\n\'b')"


def _tried_functions() -> set[str]:
    lines = (ROOT / "tests/spark/expressions.sql").read_text(encoding="utf-8").splitlines()
    trees = [parse_expression(line) for line in lines if line and not line.startswith("--")]
    nodes = [node for tree in trees for node in tree.find_all(exp.Func)]
    return {(node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower() for node in nodes}


def test_every_function_is_tried_against_duckdb() -> None:
    assert set(FUNCTIONS) - _tried_functions() == set()


def test_the_reference_lists_exactly_the_functions() -> None:
    page = (ROOT / "docs/reference/expressions.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z_0-9]+)\(", page, re.MULTILINE)
    assert sorted(listed) == sorted(FUNCTIONS)
