"""First lines of delimited files: which are headers, and what their names mean."""

from __future__ import annotations

import pytest

from tailpipe.formats.headers import Expected, aligned, merged_headers

ORDERS = Expected(read=frozenset({"at", "user", "total"}))


@pytest.mark.parametrize(
    ("values", "is_header"),
    [
        (["at", "user", "total"], True),
        (["Total", " AT ", "user", "some thing"], True),
        (["at", "user", "note"], True),
        (["at", "note"], False),
        (["2024-06-01", "user", "total"], False),
        (["at", "user", ""], False),
        (["at", "user", "user"], False),
        (["at", "user", "12"], False),
        (["at", "user", "said: hello"], False),
        (["alice", "bob"], False),
        ([], False),
    ],
)
def test_a_header_has_nothing_but_names_and_names_what_columns_read(
    values: list[str], is_header: bool
) -> None:
    assert ORDERS.is_header(values) is is_header


def test_the_only_field_that_is_read_makes_a_header() -> None:
    assert Expected(read=frozenset({"at"})).is_header(["at", "what"])
    assert not Expected().is_header(["at", "what"])
    assert Expected(read=frozenset({"level"}), mentioned=frozenset({"ts"})).is_header(["ts", "level"])


def test_fields_of_the_format_make_only_that_very_line_a_header() -> None:
    expected = Expected(fields=("a", "b"), read=frozenset({"a", "b"}))
    assert expected.is_header(["A", "b "])
    assert not expected.is_header(["b", "a"])


def test_names_in_another_letter_case_are_the_planned_ones() -> None:
    assert aligned(("AT", "user", "x"), ("at", "User", "User2")) == ("at", "User", "x")
    assert aligned(("At", "AT"), ("at",)) == ("at", "AT")
    assert aligned(("At", "at"), ("at",)) == ("At", "at")


def test_files_without_a_header_go_by_those_of_the_others() -> None:
    headers = [("column0", "column1"), ("at", "Level"), ("AT", "level", "more"), ("level", "Level")]
    assert merged_headers(headers) == ("at", "Level", "more", "level")
    assert merged_headers([("column0", "column1"), ("column0",)]) == ("column0", "column1")
