"""Content is known again by its mark, and nothing else is taken for it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from log_file import read, source_of

from tailpipe.records import Failed, Mark
from tailpipe.sources.fingerprint import HEAD_BYTES, Watch, can_read_on, digest

TEXT = b"".join(b"line %d\n" % number for number in range(5000))


@given(st.binary(max_size=3 * HEAD_BYTES), st.lists(st.integers(0, 3 * HEAD_BYTES), max_size=5))
def test_a_mark_depends_on_the_bytes_and_not_on_their_chunks(data: bytes, cuts: list[int]) -> None:
    watch = Watch()
    ends = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[start:end] for start, end in pairwise(ends)]
    assert list(watch.over(iter(chunks))) == chunks
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    last_line = len(data) - (data.rfind(b"\n") + 1)
    ends_of_data = digest(data[:HEAD_BYTES]), digest(data[-HEAD_BYTES:])
    assert watch.mark() == Mark(len(data), lines, *ends_of_data, last_line)


def test_a_digest_is_short_and_stays_what_it_is() -> None:
    # Marks live in manifests for years: another hash would make every file look new.
    assert digest(b"") == "e4a6a0577479b2b4"
    assert digest(b"a\n") == "baeb391be5387e3b"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"", True),
        (b"a", True),
        (b"\xef\xbb\xbfa", True),
        (b"\xff\xfea\x00", False),
        (b"\xfe\xff\x00a", False),
    ],
)
def test_only_utf_16_cannot_be_read_on(head: bytes, expected: bool) -> None:
    assert can_read_on(head) is expected


@pytest.fixture
def log(tmp_path: Path) -> tuple[Path, Mark]:
    path = tmp_path / "a.log"
    path.write_bytes(TEXT)
    return path, read(path).mark


def holds(path: Path, mark: Mark) -> bool:
    source = source_of(path)
    assert source.can_recognise
    return source.holds(str(path), mark)


def test_a_renamed_a_grown_and_a_touched_file_hold_their_mark(log: tuple[Path, Mark]) -> None:
    path, mark = log
    moved = path.rename(path.with_name("a.log.1"))
    assert holds(moved, mark)
    with moved.open("ab") as file:
        file.write(b"more\n")
    os.utime(moved, (0, 0))
    assert holds(moved, mark)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: b"X" + text[1:],
        lambda text: text[:-2] + b"X\n",
        lambda text: b"\n" + text,
        lambda text: text[::-1],
        lambda text: b"",
    ],
    ids=["truncated", "another beginning", "another end", "moved", "replaced", "emptied"],
)
def test_other_content_does_not_hold_it(log: tuple[Path, Mark], change: Callable[[bytes], bytes]) -> None:
    path, mark = log
    path.write_bytes(change(TEXT))
    assert not holds(path, mark)
    assert not source_of(path).goes_on_at_line_end(str(path), mark)


def test_content_that_was_replaced_is_not_read_on(log: tuple[Path, Mark]) -> None:
    path, mark = log
    path.write_bytes(TEXT[::-1] + TEXT)
    reading = read(path, mark)
    assert reading.records == []
    assert reading.ending == Failed(f"{path}: the file is no longer the one that was listed")


def test_a_file_that_is_gone_or_is_a_folder_holds_nothing(log: tuple[Path, Mark]) -> None:
    path, mark = log
    path.unlink()
    for nothing in (path, path.parent):
        assert not holds(nothing, mark)
        assert source_of(nothing).head(str(nothing)) is None
        assert not source_of(nothing).goes_on_at_line_end(str(nothing), mark)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("kind", COMPRESS)
def test_compressed_content_is_the_same_content(log: tuple[Path, Mark], kind: str) -> None:
    path, mark = log
    packed = path.with_name(f"a.log.1.{kind}")
    packed.write_bytes(COMPRESS[kind](TEXT + b"after\n"))
    assert holds(packed, mark)
    assert source_of(packed).head(str(packed)) == source_of(path).head(str(path)) == TEXT[:HEAD_BYTES]
    assert read(packed, mark).records == [("after", 5001)]
    packed.write_bytes(COMPRESS[kind](TEXT[:-1]))
    assert not holds(packed, mark)
    packed.write_bytes(COMPRESS[kind](TEXT)[:-20])
    assert not holds(packed, Mark(len(TEXT) + 1, mark.position, mark.head, mark.tail))


def tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("in.log")
        info.size = len(TEXT)
        archive.addfile(info, io.BytesIO(TEXT))
    return out.getvalue()


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in.log", TEXT)
    return out.getvalue()


@pytest.mark.parametrize("pack", [tar, zipped])
@pytest.mark.parametrize("wrap", [bytes, gzip.compress])
def test_an_archive_is_marked_by_its_own_bytes(
    tmp_path: Path, pack: Callable[[], bytes], wrap: Callable[[bytes], bytes]
) -> None:
    path, stored = tmp_path / "a", pack() + bytes(3 << 20 if pack is tar else 0)
    path.write_bytes(wrap(stored))
    reading = read(path)
    assert len(reading.records) == 5000
    assert (reading.mark.offset, reading.ending.size_bytes) == (len(stored), len(TEXT))
    assert holds(path, reading.mark)
    assert source_of(path).head(str(path)) == stored[:HEAD_BYTES]
    assert not source_of(path).goes_on_at_line_end(str(path), reading.mark)
    assert read(path, reading.mark).ending == Failed(f"{path}: an archive cannot be read from its middle")
