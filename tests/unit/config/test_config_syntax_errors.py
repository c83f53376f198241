"""One mistake never hides another: what is wrong is told where it is, and reading goes on behind it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

ProblemsOf = Callable[..., list[str]]

AFTER = """
workspace "w" {
  engine = "sparc"
}
"""
AFTER_LINES = 4

NOPE = '3:7 there is no function "nope"'

MISTAKES = [
    ("x", ["1:1 this is neither an argument nor a block"]),
    ("locals {\n  a: 3\n  b = nope()\n}", ["2:3 arguments are written with an equals sign", NOPE]),
    ("locals {\n  a =\n  b = 3\n}", ["2:3 this argument has no value"]),
    ("locals {\n  a = = 3\n  b = nope()\n}", ["2:3 one equals sign too many", NOPE]),
    ("locals {\n  a = @@\n  b = nope()\n}", ["2:7 this cannot be read as configuration", NOPE]),
    ('locals {\n  a = "open\n  b = nope()\n}', ["2:7 this string is not closed on its line", NOPE]),
    ('locals {\n  a = "é${ x "\n}', ["2:9 this `${` is never closed"]),
    ("locals {\n  a = 'x'\n  b = nope()\n}", ["2:7 strings take double quotes", NOPE]),
    ("locals {\n  a = `x\n}", ["2:7 this backtick string is never closed"]),
    ("locals {\n  a = [1, 2\n  b = nope()\n}", ["2:7 this `[` is never closed", NOPE]),
    ("locals {\n  a = lower(1\n  b = nope()\n}", ["2:12 this `(` is never closed", NOPE]),
    ("locals {\n  a = 1 b = nope()\n}", ["2:9 two things on one line", '2:13 there is no function "nope"']),
    ("locals {\n  a = 1\n  a = 2\n}", ['3:3 argument "a" is given twice; first at line 2']),
    ("locals {\n}\n}", ["3:1 this closes nothing"]),
    ("locals {\n  a = %s\n}" % ("9" * 400), ["2:7 this number is too large"]),
    (
        'locals {\n  a = "%{ if true }x%{ endif }"\n}',
        ["2:8 `%{ … }` directives are not supported in strings"],
    ),
    ('locals {\n  a = "é${}"\n}', ["2:9 `${}` holds no expression"]),
    ("a = 3", ['1:1 argument "a" stands outside any block']),
]


@pytest.mark.parametrize(("text", "expected"), MISTAKES)
def test_mistake_is_told_and_reading_goes_on(problems_of: ProblemsOf, text: str, expected: list[str]) -> None:
    told = problems_of(text + "\n" + AFTER)
    assert len(told) == len(expected) + 1
    for found, start in zip(told, expected, strict=False):
        assert found.startswith(start)
    line = text.count("\n") + AFTER_LINES
    assert told[-1].startswith(f'{line}:12 argument "engine" of workspace "w" must be one of sail, spark')


def test_block_that_is_never_closed(problems_of: ProblemsOf) -> None:
    told = problems_of('partition "nginx_access_log" "a" {\n  source "file" {\n    paths = ["x"]\n  }\n')
    assert told == ["1:34 this `{` is never closed (close it with `}`)"]


def test_text_that_is_never_closed(problems_of: ProblemsOf) -> None:
    told = problems_of("locals {\n  b = nope()\n  a = <<EOT\n x\n}")
    assert told == [
        '2:7 there is no function "nope"',
        "3:7 this text has no closing line `EOT` (end it with a line that holds only EOT)",
    ]


def test_comment_that_is_never_closed(problems_of: ProblemsOf) -> None:
    assert problems_of("locals {\n}\n/* x") == ["3:1 this comment is never closed (close it with */)"]


def test_columns_count_characters_behind_raw_strings_over_lines(problems_of: ProblemsOf) -> None:
    told = problems_of("locals {\n  a = [`é\nü`, nope()]\n}\n")
    assert told == ['3:5 there is no function "nope"']


def test_byte_order_mark_and_windows_lines(problems_of: ProblemsOf) -> None:
    told = problems_of(b"\xef\xbb\xbflocals {\r\n  a = <<EOT\r\nx\r\nEOT\r\n  b = nope()\r\n}\r\n")
    assert told == ['5:7 there is no function "nope"']


def test_what_is_not_text(problems_of: ProblemsOf) -> None:
    told = problems_of(b'locals {\n  a = "\xff"\n}\n')
    assert told == ["2:8 this is not UTF-8 text (save the file as UTF-8)"]


def test_nesting_without_end(problems_of: ProblemsOf) -> None:
    told = problems_of("locals {\n  a = " + "[" * 5000 + "]" * 5000 + "\n}\n")
    assert told == ["2:7 this value is nested too deeply to be read (name its parts in `locals`)"]


def test_garbage(problems_of: ProblemsOf) -> None:
    assert problems_of(bytes(range(1, 128)) * 20)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "/* nothing */", "locals {}\n"])
def test_nothing_at_all_is_fine(problems_of: ProblemsOf, text: str) -> None:
    assert problems_of(text) == []
