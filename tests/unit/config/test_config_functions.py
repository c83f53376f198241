from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from config_values import error_of, value_of
from hypothesis import given
from hypothesis import strategies as st

ENVIRONMENT = {"HOME": "/home/ann", "REGION": "eu-west-1", "EMPTY": ""}

CASES: list[tuple[str, Any]] = [
    # text
    ('chomp("a\\n\\n")', "a"),
    ('endswith("a.gz", ".gz")', True),
    (
        'format("%s-%d-%03d-%.2f-%v-%q-%t-%%", "a", 3, 7, 1.5, [1, "b"], "q", true)',
        'a-3-007-1.50-[1,"b"]-"q"-true-%',
    ),
    ('format("%5s|%-5s|%x|%b|%[1]s", "a", "b", 255, 5)', "    a|b    |ff|101|a"),
    ('formatlist("%s/%s", "logs", ["a", "b"])', ["logs/a", "logs/b"]),
    ('indent(2, "a\\nb")', "a\n  b"),
    ('join(",", ["a", "b"], ["c"])', "a,b,c"),
    ('join("-", [1, true])', "1-true"),
    ('lower("AbC")', "abc"),
    ('upper("AbC")', "ABC"),
    ('title("hello big-world")', "Hello Big-World"),
    ('regex("[a-z]+", "12ab34")', "ab"),
    ('regex("(\\\\d)(\\\\d)", "a12")', ["1", "2"]),
    ('regex("(?P<y>\\\\d+)-(?P<m>\\\\d+)", "2024-03")', {"y": "2024", "m": "03"}),
    ('regexall("[a-z]", "1a2b")', ["a", "b"]),
    ('regexall("(?P<k>\\w)=(\\w)?", "a=1 b=")', [{"k": "a"}, {"k": "b"}]),
    ('regexall("(a)|(b)", "ab")', [["a", None], [None, "b"]]),
    ('regexall("[(](\\()?(?:x)([]()]*)", "((x)")', [["(", ")"]]),
    ('regexall("(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)", "0123456789a")', [list("0123456789a")]),
    ('regexall("x*", "ab")', ["", "", ""]),
    ('regex("(?i)É", "aé")', "é"),
    ('try(regex("^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"), "none")', "none"),
    ('replace("a.b.c", ".", "/")', "a/b/c"),
    ('replace("a1b22", "/(\\\\d+)/", "<$1>")', "a<1>b<22>"),
    ('split(",", "a,b,")', ["a", "b", ""]),
    ('startswith("s3://x", "s3://")', True),
    ('strcontains("hello", "ell")', True),
    ('strrev("abc")', "cba"),
    ('substr("hello", 1, 3)', "ell"),
    ('substr("hello", -2, -1)', "lo"),
    ('trim("??a?", "?")', "a"),
    ('trimprefix("s3://x", "s3://")', "x"),
    ('trimspace("  a ")', "a"),
    ('trimsuffix("a.gz", ".gz")', "a"),
    # lists
    ("alltrue([true, false])", False),
    ("anytrue([true, false])", True),
    ("chunklist([1, 2, 3], 2)", [[1, 2], [3]]),
    ('coalesce(null, "", "a")', "a"),
    ("coalescelist([], [1])", [1]),
    ('compact(["a", "", null, "b"])', ["a", "b"]),
    ("concat([1], [], [2, 3])", [1, 2, 3]),
    ('contains(["a", "b"], "b")', True),
    ("contains([1], true)", False),
    ("distinct([1, 1, true, 2])", [1, True, 2]),
    ("element([1, 2, 3], 4)", 2),
    ("flatten([1, [2, [3, []]]])", [1, 2, 3]),
    ('index(["a", "b"], "b")', 1),
    ('length("abc") + length([1]) + length({a = 1})', 5),
    ("one([])", None),
    ("range(3)", [0, 1, 2]),
    ("range(1, 8, 3)", [1, 4, 7]),
    ("range(3, 0)", [3, 2, 1]),
    ("reverse([1, 2])", [2, 1]),
    ("setintersection([1, 2, 2], [2, 3])", [2]),
    ("setsubtract([1, 2], [2])", [1]),
    ("setunion([1, 2], [2, 3])", [1, 2, 3]),
    ("slice([1, 2, 3], 1, 3)", [2, 3]),
    ('sort(["b", "a"])', ["a", "b"]),
    ("sum([1, 2.5])", 3.5),
    # maps
    ("keys({b = 1, a = 2})", ["a", "b"]),
    ("values({b = 1, a = 2})", [2, 1]),
    ('lookup({a = 1}, "a")', 1),
    ('lookup({a = 1}, "b", 9)', 9),
    ("merge({a = 1, b = 1}, null, {b = 2})", {"a": 1, "b": 2}),
    ('zipmap(["a", "b"], [1, 2])', {"a": 1, "b": 2}),
    # numbers
    (
        "[abs(-2), ceil(1.2), floor(1.8), max(1, 3), min(1, 3), signum(-7), pow(2, 10)]",
        [2, 2, 1, 3, 1, -1, 1024],
    ),
    ("log(8, 2)", 3.0),
    ('parseint("ff", 16)', 255),
    # conversion
    (
        '[tostring(1.0), tostring(true), tonumber("1.5"), tonumber("-3"), tobool("true")]',
        ["1", "true", 1.5, -3, True],
    ),
    ('toset(["b", "a", "b"])', ["a", "b"]),
    ("tolist([1])", [1]),
    ("tomap({a = 1})", {"a": 1}),
    # dates
    ("timestamp()", "2024-03-05T16:07:08Z"),
    ('formatdate("YYYY-MM-DD", timestamp())', "2024-03-05"),
    ('formatdate("EEE, DD MMM YY hh:mm:ss ZZZ", timestamp())', "Tue, 05 Mar 24 16:07:08 UTC"),
    ("formatdate(\"M/D h 'o''clock' H AA aa\", timestamp())", "3/5 16 o'clock 4 PM pm"),
    (
        'formatdate("EEEE MMMM HH m s Z ZZZZ ZZZZZ", "2024-01-01T05:04:03+02:30")',
        "Monday January 05 4 3 +02:30 +0230 +02:30",
    ),
    ('timeadd(timestamp(), "-168h")', "2024-02-27T16:07:08Z"),
    ('timeadd("2024-01-01T00:00:00Z", "1d12h")', "2024-01-02T12:00:00Z"),
    ('timeadd("2024-01-01T00:00:00Z", "-365d")', "2023-01-01T00:00:00Z"),
    ('timeadd("2024-01-01T00:00:00Z", "1.5h500ms")', "2024-01-01T01:30:00Z"),
    ('timecmp("2024-01-01T00:00:00Z", "2024-01-01T01:00:00+01:00")', 0),
    # environment and paths
    ('env("REGION")', "eu-west-1"),
    ('env("EMPTY", "x")', ""),
    ('env("NONE", "x")', "x"),
    ('pathexpand("~/logs")', "/home/ann/logs"),
    ('[basename("/a/b.gz"), dirname("/a/b.gz"), dirname("b")]', ["b.gz", "/a", "."]),
    ('abspath("/a/../b")', "/b"),
    # encoding
    ('base64decode(base64encode("é"))', "é"),
    ('csvdecode("a,b\\n1,\\"x,y\\"")', [{"a": "1", "b": "x,y"}]),
    ('jsondecode("[1, {\\"a\\": null}]")', [1, {"a": None}]),
    ('jsonencode({a = [1, true, null, "é"]})', '{"a":[1,true,null,"é"]}'),
    ('md5("a")', "0cc175b9c0f1b6a831c399e269772661"),
    ('sha1("a")', "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
    ('substr(sha256("a"), 0, 8)', "ca978112"),
    ('urlencode("a b/c")', "a+b%2Fc"),
]

DURATION = '22 timeadd(): not a duration (write it like "-168h", "7d" or "1d12h30m")'

ERRORS = [
    ('format("%s")', "8 format(): the pattern asks for value 1, but there are 0"),
    ('format("a", 1)', "8 format(): the pattern uses 0 of 1 values"),
    ('format("%d", "a")', "14 format(): %d takes a number, not a string"),
    (
        'regex("(", "a")',
        "7 regex(): not a regular expression: missing ) "
        "(patterns are RE2: without look-around and without references to groups)",
    ),
    (
        'regex("(?=a)", "a")',
        "7 regex(): not a regular expression: invalid perl operator "
        "(patterns are RE2: without look-around and without references to groups)",
    ),
    ('replace("a", "/a/", "$1")', "21 replace(): the pattern has no group 1"),
    ('regex("b", "a")', "12 regex(): the text does not match the pattern (use try() to give another value)"),
    ('tonumber("12a")', "10 tonumber(): argument 1 is not the text of a number"),
    ('tobool("yes")', '8 tobool(): only "true" and "false" can become a bool'),
    (
        'timeadd("2024-01-01", "1h")',
        '9 timeadd(): not a time in RFC 3339, with date, time and zone (such as "2024-01-31T10:00:00Z")',
    ),
    ('timeadd(timestamp(), "3x")', DURATION),
    ('timeadd(timestamp(), "99999999999d")', DURATION),
    (
        'formatdate("YYYY-QQ", timestamp())',
        "12 formatdate(): the pattern has no token QQ (text in a pattern stands in single quotes: 'T')",
    ),
    (
        'env("NONE")',
        '5 env(): the environment variable NONE is not set (set it, or give a default: env("NONE", "…"))',
    ),
    ('lookup({abc = 1}, "abd")', '19 lookup(): the map has no key "abd" (did you mean "abc"?)'),
    (
        'jsondecode("{a}")',
        "12 jsondecode(): not JSON: Expecting property name enclosed in double quotes at line 1, column 2",
    ),
    ('base64decode("?")', "14 base64decode(): not base64 of UTF-8 text"),
    ('csvdecode("a,b\\n1")', "11 csvdecode(): record 1 has 1 fields where the header has 2"),
    ("range(1000000)", "1 range(): the range holds more than 100,000 numbers"),
    ("pow(10, 1000)", "1 pow(): the result is too large"),
    ("coalesce(null)", "1 coalesce(): all arguments are null or empty"),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_value(text: str, expected: Any) -> None:
    assert value_of(text, environment=ENVIRONMENT) == expected


@pytest.mark.parametrize(("text", "expected"), ERRORS)
def test_error(text: str, expected: str) -> None:
    assert error_of(text) == expected


def test_files_are_found_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("é\n")
    file = str(tmp_path / "main.tpc")
    assert value_of('file("names.txt")', file=file) == "é\n"
    assert value_of('fileexists("names.txt")', file=file) is True
    assert value_of('fileexists("other.txt")', file=file) is False
    assert value_of('abspath("sub")', file=file) == str(tmp_path / "sub")


@given(st.integers(0, 3000), st.integers(0, 100), st.integers(0, 100), st.sampled_from(["", "-"]))
def test_durations_add_up(days: int, hours: int, minutes: int, sign: str) -> None:
    start = datetime(2015, 6, 1, tzinfo=UTC)
    span = timedelta(days=days, hours=hours, minutes=minutes)
    expected = start - span if sign else start + span
    moved = value_of(f'timeadd("2015-06-01T00:00:00Z", "{sign}{days}d{hours}h{minutes}m")')
    assert datetime.fromisoformat(moved) == expected


@given(st.lists(st.text("abc", max_size=3), min_size=1))
def test_split_undoes_join(parts: list[str]) -> None:
    assert value_of('split(",", join(",", parts))', {"parts": parts}) == parts
