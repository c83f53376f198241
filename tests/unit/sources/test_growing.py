"""Files read in steps as they grow give what one reading of the whole gives."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from log_file import listed, read, read_listed, source_of

from tailpipe.formats.text import MAX_RECORD_BYTES
from tailpipe.records import Failed, Mark, Reading
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
steps = st.lists(st.tuples(st.integers(0, 40_000), st.booleans()), max_size=6)
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
@given(text=texts, steps=steps)
def test_steps_give_what_one_reading_gives(
    tmp_path: Path, text: bytes, steps: list[tuple[int, bool]]
) -> None:
    """Some wait for line ends. A line that was taken and went on comes again, in place of what it gave before."""
    path = tmp_path / "a.log"
    path.unlink(missing_ok=True)
    records: dict[int, str] = {}
    mark = Mark()
    ends = sorted((cut % (len(text) + 1), waits) for cut, waits in steps)
    for end, waits in [*ends, (len(text), False)]:
        if not grow(path, text, end):
            continue
        if not mark.open_bytes and not source_of(path).goes_on_at_line_end(str(path), mark):
            assert "has grown" in read(path, mark).ending.message
            records, mark = {}, Mark()
        step = read(path, mark, waits)
        again = {mark.position} if step.ending.is_restarted else set()
        assert records.keys() & {position for _, position in step.records} <= again
        assert again <= records.keys()
        records = {position: raw for position, raw in records.items() if position not in again}
        records |= {position: raw for raw, position in step.records}
        reread = mark.open_bytes if step.ending.is_restarted else 0
        assert step.ending.size_bytes == step.mark.offset - mark.offset + reread
        assert step.mark.offset + step.ending.waiting_bytes == path.stat().st_size
        mark = step.mark
    whole = read(path)
    assert [(raw, position) for position, raw in sorted(records.items())] == whole.records
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
    assert type(on.ending) is type(on_packed.ending)
    assert isinstance(on.ending, Failed) or on.mark.head == on_packed.mark.head


def test_a_half_written_line_waits(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n\ntw")
    first = read(path, waits=True)
    assert first.records == [("one", 1)]
    begin = digest(b"one\n\n")
    assert first.ending == Reading(1, 5, Mark(5, 2, begin, begin), waiting_bytes=2)
    path.write_bytes(b"one\n\ntwo\nthree")
    second = read(path, first.mark, waits=True)
    assert second.records == [("two", 3)]
    assert (second.mark.offset, second.mark.position, second.ending.waiting_bytes) == (9, 3, 5)
    again = read(path, second.mark, waits=True)
    assert (again.records, again.mark, again.ending.size_bytes) == ([], second.mark, 0)


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
    assert waiting.ending.waiting_bytes == size_bytes
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
    assert second.ending.size_bytes == len(rest)


@pytest.mark.parametrize(
    ("begin", "rest"),
    [(b"one\ntwo", b" and a half\n"), (b"two", b"\r"), (b"two", b"\rhalf\n"), (b"two\r", b"\r\n")],
)
def test_a_last_line_that_was_taken_and_goes_on_is_read_again(
    tmp_path: Path, begin: bytes, rest: bytes
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(begin)
    mark = read(path).mark
    assert source_of(path).goes_on_at_line_end(str(path), mark)
    path.write_bytes(begin + rest)
    assert source_of(path).holds(str(path), mark)
    assert not source_of(path).goes_on_at_line_end(str(path), mark)
    again, whole = read(path, mark), read(path)
    assert (again.records, again.mark) == (whole.records[-1:], whole.mark)
    assert again.ending.is_restarted
    packed = tmp_path / "a.log.gz"
    packed.write_bytes(gzip.compress(begin + rest))
    assert read(packed, mark) == again


def test_a_line_that_was_taken_and_goes_on_while_it_is_written_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntw")
    mark = read(path).mark
    path.write_bytes(b"one\ntwo")
    young = read(path, mark, waits=True)
    assert (young.records, young.mark, young.ending.waiting_bytes) == ([], mark, 1)
    assert not young.ending.is_restarted
    old = read(path, mark)
    assert (old.records, old.ending.is_restarted) == ([("two", 2)], True)


def test_a_line_too_long_to_be_a_record_is_told_when_it_goes_on(tmp_path: Path) -> None:
    """It can only be replaced by reading the file from its beginning."""
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * (MAX_RECORD_BYTES + 1))
    mark = read(path).mark
    assert mark.open_bytes == 0
    with path.open("ab") as file:
        file.write(b"y\n")
    assert not source_of(path).goes_on_at_line_end(str(path), mark)
    assert read(path, mark).ending == Failed(
        f"{path}: the line that was its last when it was read before has grown"
    )


@pytest.mark.parametrize(
    ("line", "is_taken"),
    [
        (b'{"a": 1}', True),
        (b'{"a": 1} ', True),
        (b'{"a": "}"', False),
        (b'{"a": 1', False),
        (b"[1]", False),
        (b"1", False),
        (b"{}{", False),
        (b'{"a": "\xff"}', False),
    ],
)
def test_a_closed_object_does_not_wait_for_its_line_end(tmp_path: Path, line: bytes, is_taken: bool) -> None:
    path = tmp_path / "a.log"
    for before in (b"", b"\xef\xbb\xbf", b"{}\n"):
        path.write_bytes(before + line)
        reading = read(path, waits=True)
        assert reading.ending.waiting_bytes == (
            0 if is_taken else len(line) + len(before) * (before[:1] != b"{")
        )
        assert len(reading.records) == is_taken + (before == b"{}\n")


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
    assert read(path, first.mark).ending.size_bytes == len(like_a_mark) + 4


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
    assert reading.mark == Mark(7, 2, digest(b"one\ntwo"), digest(b"one\ntwo"), 3)
    assert reading.ending.waiting_bytes == 0


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
