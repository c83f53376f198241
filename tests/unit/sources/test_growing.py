"""Files read in steps as they grow give what one reading of the whole gives."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from log_file import Record, listed, read, read_listed, source_of

from tailpipe.sources.artifact import Mark
from tailpipe.sources.decompress import CHUNK_BYTES
from tailpipe.sources.fingerprint import HEAD_BYTES, can_read_on, digest

pieces = st.sampled_from(
    [
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b"a",
        b"{}",
        b" ",
        "é".encode(),
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xef",
        b"\x00",
    ]
)
short_texts = st.lists(pieces, max_size=40).map(b"".join)
lines_of_any_length = st.lists(
    st.tuples(st.integers(0, 3 * HEAD_BYTES), st.sampled_from([b"\n", b"\r\n"])), min_size=1, max_size=8
)
long_texts = lines_of_any_length.map(
    lambda lines: b"".join(b"%d" % number + b"x" * size + end for number, (size, end) in enumerate(lines))
)
texts = st.one_of(short_texts, long_texts).filter(lambda text: text and can_read_on(text))
cuts = st.lists(st.integers(0, 40_000), max_size=5)
on_one_folder = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def grow(path: Path, text: bytes, cut: int) -> bool:
    """Whether there is anything at all by now."""
    have = path.stat().st_size if path.exists() else 0
    with path.open("ab") as file:
        file.write(text[have : max(have, cut)])
    return path.stat().st_size > 0


@on_one_folder
@given(text=texts, cuts=cuts)
def test_steps_that_wait_for_line_ends_give_what_one_reading_gives(
    tmp_path: Path, text: bytes, cuts: list[int]
) -> None:
    path = tmp_path / "a.log"
    path.unlink(missing_ok=True)
    records: list[Record] = []
    mark = None
    for cut in [*sorted(cut % (len(text) + 1) for cut in cuts), len(text)]:
        if grow(path, text, cut):
            step = read(path, mark, waits=True)
            records += step.records
            assert step.mark.offset + step.ending["held_bytes"] == path.stat().st_size
            assert step.ending["bytes"] == step.mark.offset - (mark.offset if mark else 0)
            mark = step.mark
    last = read(path, mark)
    whole = read(path)
    assert records + last.records == whole.records
    assert last.mark == whole.mark


@on_one_folder
@given(text=texts, cuts=cuts)
def test_steps_that_take_half_lines_go_on_only_where_a_line_ends(
    tmp_path: Path, text: bytes, cuts: list[int]
) -> None:
    path = tmp_path / "a.log"
    path.unlink(missing_ok=True)
    records: list[Record] = []
    mark = Mark(0, 0, "", "")
    for cut in [*sorted(cut % (len(text) + 1) for cut in cuts), len(text)]:
        if not grow(path, text, cut) or path.stat().st_size == mark.offset:
            continue
        if not source_of(path).goes_on_at_line_end(str(path), mark):
            assert "has grown" in read(path, mark).ending["error"]
            records, mark = [], Mark(0, 0, "", "")
        step = read(path, mark)
        records += step.records
        mark = step.mark
    whole = read(path)
    assert records == whole.records
    assert mark == whole.mark


@on_one_folder
@given(text=texts, cut=st.integers(0, 40_000))
def test_the_same_content_is_known_again_plain_and_compressed(tmp_path: Path, text: bytes, cut: int) -> None:
    begin = text[: cut % (len(text) + 1)]
    assume(begin)
    path, packed = tmp_path / "a.log", tmp_path / "a.log.1.gz"
    path.write_bytes(begin)
    mark = read(path).mark
    path.write_bytes(text)
    packed.write_bytes(gzip.compress(text, 1))
    source = source_of(path)
    assert source.holds(str(path), mark)
    assert source.holds(str(packed), mark)
    on, on_packed = read(path, mark), read(packed, mark)
    assert on.records == on_packed.records
    assert on.ending.get("head") == on_packed.ending.get("head")


def test_a_half_written_line_waits(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n\ntw")
    first = read(path, waits=True)
    assert first.records == [("one", 1)]
    begin = digest(b"one\n\n")
    assert first.ending == {
        "rows": 1,
        "bytes": 5,
        "offset": 5,
        "position": 2,
        "head": begin,
        "tail": begin,
        "held_bytes": 2,
    }
    path.write_bytes(b"one\n\ntwo\nthree")
    second = read(path, first.mark, waits=True)
    assert second.records == [("two", 3)]
    assert (second.mark.offset, second.mark.position, second.ending["held_bytes"]) == (9, 3, 5)
    again = read(path, second.mark, waits=True)
    assert (again.records, again.mark, again.ending["bytes"]) == ([], second.mark, 0)


def test_a_file_without_a_line_end_waits_whole_and_keeps_memory_flat(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    size_bytes = 30 * CHUNK_BYTES + 1
    path.write_bytes(b"x" * size_bytes)
    tracemalloc.start()
    waiting = read(path, waits=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * CHUNK_BYTES
    assert waiting.records == []
    assert (waiting.mark.offset, waiting.mark.position) == (0, 0)
    assert waiting.ending["held_bytes"] == size_bytes
    assert not source_of(path).holds(str(path), waiting.mark)


@pytest.mark.parametrize("rest", [b"\nnext\n", b"\r\nnext\n"])
def test_a_last_line_that_was_taken_gets_its_line_end_later(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo")
    first = read(path)
    assert (first.records, first.mark.position) == ([("one", 1), ("two", 2)], 2)
    path.write_bytes(b"one\ntwo" + rest)
    assert source_of(path).goes_on_at_line_end(str(path), first.mark)
    second = read(path, first.mark, waits=True)
    assert second.records == [("next", 3)]
    assert second.mark == read(path).mark
    assert second.ending["bytes"] == len(rest)


@pytest.mark.parametrize(
    ("begin", "rest"),
    [(b"one\ntwo", b" and a half\n"), (b"two", b"\r"), (b"two", b"\rhalf\n"), (b"two\r", b"\r\n")],
)
def test_a_last_line_that_was_taken_and_goes_on_is_told(tmp_path: Path, begin: bytes, rest: bytes) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(begin)
    mark = read(path).mark
    assert source_of(path).goes_on_at_line_end(str(path), mark)
    path.write_bytes(begin + rest)
    assert source_of(path).holds(str(path), mark)
    assert not source_of(path).goes_on_at_line_end(str(path), mark)
    assert read(path, mark).ending == {
        "error": f"{path}: the line that was its last when it was read before has grown"
    }


@pytest.mark.parametrize("like_a_mark", [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", "，".encode()])
def test_a_later_line_that_begins_like_a_byte_order_mark_is_a_line(
    tmp_path: Path, like_a_mark: bytes
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"\xef\xbb\xbfone\n")
    first = read(path, waits=True)
    assert first.records == [("one", 1)]
    path.write_bytes(b"\xef\xbb\xbfone\n" + like_a_mark + b"two\n")
    assert first.records + read(path, first.mark).records == read(path).records
    assert read(path, first.mark).ending["bytes"] == len(like_a_mark) + 4


def test_utf_16_is_taken_to_its_end_and_never_read_on(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes("\ufeffone\ntwo".encode("utf-16-le"))
    reading = read(path, waits=True)
    assert reading.records == [("one", 1), ("two", 2)]
    assert reading.mark.offset == path.stat().st_size
    assert not can_read_on(source_of(path).head(str(path)) or b"")


def test_compressed_files_do_not_wait(tmp_path: Path) -> None:
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(b"one\ntwo"))
    reading = read(path, waits=True)
    assert reading.records == [("one", 1), ("two", 2)]
    assert reading.mark == Mark(7, 2, digest(b"one\ntwo"), digest(b"one\ntwo"))
    assert reading.ending["held_bytes"] == 0


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="only Linux counts what a process reads")
def test_only_the_ends_of_what_was_read_before_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    line = b"x" * 1023 + b"\n"
    path.write_bytes(line * 20_000)
    mark = read(path, waits=True).mark
    with path.open("ab") as file:
        file.write(b"new\n")
    artifact = listed(path, mark, waits=True)
    before = _read_bytes()
    assert read_listed(artifact).records == [("new", 20_001)]
    assert _read_bytes() - before < 64 * 1024


def _read_bytes() -> int:
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["rchar"])
