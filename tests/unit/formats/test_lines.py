from __future__ import annotations

import codecs
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.formats import text
from tailpipe.formats.format import Cut
from tailpipe.formats.lines import cut_lines, reject_longer, reject_separators


def rows(cuts: Iterator[Cut]) -> list[tuple[str, int, str | None]]:
    return [
        row
        for cut in cuts
        for row in zip(cut.raw.to_pylist(), cut.position.to_pylist(), cut.reason.to_pylist(), strict=True)
    ]


def lines(*chunks: bytes) -> list[tuple[str, int, str | None]]:
    return rows(cut_lines(iter(chunks)))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n\n", []),
        (b"a", [("a", 1)]),
        (b"a\nb\n", [("a", 1), ("b", 2)]),
        (b"a\r\n\r\nb\r\n", [("a", 1), ("b", 3)]),
        (b"a\r", [("a", 1)]),
        (b"a\rb\n", [("a\rb", 1)]),
        (codecs.BOM_UTF8 + "é\n".encode(), [("é", 1)]),
        ("\ufeffé\r\nü".encode("utf-16-le"), [("é", 1), ("ü", 2)]),
        ("\ufeffé\nü".encode("utf-16-be"), [("é", 1), ("ü", 2)]),
        (b"caf\xe9\nok\n", [("caf\ufffd", 1), ("ok", 2)]),
        (b"\xe2\x82\n\xac\n", [("\ufffd", 1), ("\ufffd", 2)]),
        (b"a\x00b\n", [("a\x00b", 1)]),
    ],
)
def test_lines_of_every_encoding_and_line_end(data: bytes, expected: list[tuple[str, int]]) -> None:
    assert lines(data) == [(line, position, None) for line, position in expected]


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_chunk_borders_mean_nothing(data: bytes, cuts: list[int]) -> None:
    borders = [0, *sorted(cuts), len(data)]
    chunks = [data[start:end] for start, end in pairwise(borders)]
    assert lines(*chunks) == lines(data)


@given(st.text(st.characters(exclude_characters="\r\n\ufeff", exclude_categories=["Cs"]), max_size=30))
def test_a_line_comes_out_as_it_went_in(line: str) -> None:
    assert [row[0] for row in lines(f"{line}\n".encode())] == ([line] if line else [])


def test_a_line_over_the_limit_is_one_rejected_record() -> None:
    size = text.MAX_RECORD_BYTES * 2 + 5
    chunk = b"x" * (1 << 20)
    pieces = [b"first\n", *[chunk] * 16, b"x" * 5 + b"\nlast"]
    found = lines(*pieces)
    assert [(len(raw), position) for raw, position, _ in found] == [(5, 1), (text.KEPT_BYTES, 2), (4, 3)]
    assert found[1][2] == f"line is {size:,} bytes, the limit is 8,388,608"


def test_a_long_line_is_never_held_whole() -> None:
    held = 0

    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield b"x" * (1 << 20)

    for block in text.line_blocks(endless()):
        held = max(held, len(block.head) if isinstance(block, text.LongLine) else len(block))
    assert held == text.KEPT_BYTES


def test_a_line_of_exactly_the_limit_is_kept() -> None:
    data = b"y" * text.MAX_RECORD_BYTES
    assert [(len(raw), reason) for raw, _, reason in lines(data + b"\n")] == [(len(data), None)]


def test_the_field_separator_is_rejected_where_fields_are_split_by_it() -> None:
    found = rows(map(reject_separators, cut_lines(iter([b"a\nb\x01c\nd\n"]))))
    assert [reason for _, _, reason in found] == [None, "line holds the control character 0x01", None]


def test_lines_over_a_limit_are_rejected_and_keep_their_beginning() -> None:
    long = "é" * 50_000
    (cut,) = cut_lines(iter([f"a\n{long}\nb\n".encode()]))
    first, second, third = rows(iter([reject_longer(cut, 70_000)]))
    assert (first, third) == (("a", 1, None), ("b", 3, None))
    assert second == ("é" * 32_768, 2, "line is 100,000 bytes, the limit is 70,000")
    assert reject_longer(cut, 100_000).reason.null_count == 3
