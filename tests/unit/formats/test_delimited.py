from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.config.values import FormatConfig
from tailpipe.errors import ConfigError
from tailpipe.formats import delimited
from tailpipe.formats.delimited import Delimited, line_passes
from tailpipe.formats.quoted_lines import ends_open

Row = tuple[str, int, str | None]


def csv_format(**arguments: object) -> Delimited:
    return delimited.make_csv(FormatConfig("csv", "x", arguments))


def cut(format: Delimited, *chunks: bytes) -> list[Row]:
    return [
        row
        for cut in format.cut(iter(chunks))
        for row in zip(cut.raw.to_pylist(), cut.position.to_pylist(), cut.reason.to_pylist(), strict=True)
    ]


def values(text: str, count: int, delimiter: str = ",") -> list[str] | None:
    """What the passes make of a record, as Spark would: with Python's engine instead."""
    for line_pass in line_passes(delimiter, '"', count):
        found = re.search(line_pass.expression, text)
        if found:
            parts = ["".join(found[group] or "" for group in slot) for slot in line_pass.slots]
            return [part[1:].replace('""', '"') if part.startswith('"') else part for part in parts]
    return None


def test_quoted_values_run_over_lines_and_stray_quotes_do_not() -> None:
    data = b'a,b,c\r\n1,"x\r\ny",3\r\n\r\n5" disk,2,3\n"q ""z""",,\n"open,1,2\nnext,1,2\n'
    assert cut(csv_format(), data) == [
        ('1,"x\r\ny",3', 2, None),
        ('5" disk,2,3', 5, None),
        ('"q ""z""",,', 6, None),
        ('"open,1,2', 7, None),
        ("next,1,2", 8, None),
    ]


@pytest.mark.parametrize(
    ("line", "is_open"),
    [
        ('a,"b', True),
        ('a,"b",c', False),
        ('a,b"c', False),
        ('"a""b', True),
        ('"a"",b', True),
        ('"a""",b', False),
    ],
)
def test_an_open_quote_starts_a_value(line: str, is_open: bool) -> None:
    assert ends_open(line, '"', ",") == is_open


def test_a_header_in_another_order_is_put_right() -> None:
    format = csv_format(field_map={"user": "User Name"}).with_fields(("a", "user", "extra"))
    data = b'User Name,b,a\n"x, y",2,3\nonly,two\n'
    assert format.field_names(b"") == ("a", "user", "extra")
    assert cut(format, data) == [
        ('3,"x, y",', 2, None),
        ("only,two", 3, "line has 2 values, the header has 3"),
    ]


def test_fields_that_are_given_stand_for_the_header() -> None:
    format = csv_format(fields=["x", "y"], header=True)
    assert format.field_names(b"") == ("x", "y")
    assert cut(format, b"a,b\n1,2\n") == [("1,2", 2, None)]
    assert cut(csv_format(fields=["x", "y"]), b"a,b\n1,2\n") == [("a,b", 1, None), ("1,2", 2, None)]


def test_names_come_from_the_header_or_are_numbered() -> None:
    assert csv_format().field_names(b'\xef\xbb\xbf a ,"b,c",,a\n1,2,3,4\n') == ("a", "b,c", "column2", "a_3")
    assert csv_format(header=False).field_names(b"1,2\n") == ("column0", "column1")
    assert csv_format(header=False).field_names(b",".join([b"1"] * 11))[:2] == ("column00", "column01")
    assert csv_format().field_names(b"") == ()


def test_skipped_lines_and_comments_come_before_the_header() -> None:
    format = csv_format(skip=1, comment="#")
    data = b"exported by x\n# note\na,b\n#no\n1,2\n"
    assert format.field_names(data) == ("a", "b")
    assert cut(format, data) == [("1,2", 5, None)]


def test_several_characters_may_stand_between_values() -> None:
    format = delimited.make(FormatConfig("delimited", "x", {"delimiter": "||", "header": True}))
    assert format.field_names(b'a||"b||c"||d|e\n') == ("a", "b||c", "d|e")
    assert cut(format.with_fields(("b", "a")), b"a||b\n1||2\n") == [("2||1", 2, None)]


def test_very_many_doubled_quotes_are_split_before_the_regex() -> None:
    value = '{"a":1}' * 1000
    record = f'x,"{value.replace(chr(34), chr(34) * 2)}"'
    (row,) = cut(csv_format(fields=["a", "b"]), record.encode())
    assert row[0].split("\x01") == ["", "x", f'"{value.replace(chr(34), chr(34) * 2)}']


text = st.text(st.sampled_from('ab,"|\n\r; é'), max_size=6)


@given(st.lists(st.lists(text, min_size=2, max_size=2), min_size=1, max_size=6), st.integers(1, 40))
def test_what_the_csv_module_writes_comes_back(rows: list[list[str]], size: int) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    data = out.getvalue().encode()
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    records = [raw for raw, *_ in cut(csv_format(fields=["a", "b"]), *chunks)]
    assert [values(record, 2) for record in records] == rows


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("a,b", ["a", "b"]),
        (",", ["", ""]),
        ('"a,b",c', ["a,b", "c"]),
        ('5" x 6" disk,c', ['5" x 6" disk', "c"]),
        ("a", None),
        ("a,b,c", None),
        ('"a"x,b', None),
        ('"a,b', None),
    ],
)
def test_records_with_too_few_or_too_many_values_are_rejected(
    record: str, expected: list[str] | None
) -> None:
    assert values(record, 2) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delimiter": ""}, "delimiter '' cannot stand between values"),
        ({"quote": "''"}, "quote \"''\" is not a single character"),
        ({"delimiter": '"'}, "quote and delimiter are the same character"),
        ({"skip": -1}, "skip is less than 0"),
    ],
)
def test_arguments_that_cannot_work_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        csv_format(**arguments)


@pytest.mark.parametrize("name", ["null", "null_token", "null_column_char"])
def test_the_null_token_has_older_spellings(name: str) -> None:
    assert csv_format(**{name: "-"}).null_token == "-"
