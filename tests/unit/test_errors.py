"""What people read of an error."""

from __future__ import annotations

from tailpipe.errors import ConfigError, Position, Problem, UsageError


def test_names_cannot_steer_the_terminal() -> None:
    problem = Problem('there is no table "\x1b[2J\r\x9b"', Position("a.tpc", 1, 2), "two\nlines")
    expected = 'a.tpc:1:2: there is no table "\\x1b[2J\\x0d\\x9b"\nhint: two\nlines'
    assert str(problem) == expected
    assert str(ConfigError([problem])) == expected
    assert str(UsageError("no \x07")) == "no \\x07"


def test_long_values_are_cut() -> None:
    assert len(str(Problem("x" * 100_000))) == 2001
