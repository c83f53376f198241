"""Files that are changed between listing and reading, and while they are read."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from log_file import gathered, listed, read, read_listed, source_of

from tailpipe.formats.jsonl import JsonLines
from tailpipe.records import CLOSING_POSITION, Failed, decode_closing
from tailpipe.sources.artifact import Artifact
from tailpipe.sources.fingerprint import digest
from tailpipe.sources.read import read_artifacts

LINE = b"x" * 99 + b"\n"
# Several batches, so that a reader can be stopped in the middle.
LONG = LINE * 100_000


def later(path: Path) -> None:
    """Two writes within one tick of the kernel's clock leave the same time."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))


def rewrite(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    later(path)


def replace_file(path: Path, data: bytes) -> None:
    path.with_name("new").write_bytes(data)
    path.with_name("new").replace(path)


def test_a_plain_file_that_grew_since_gives_what_was_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo\n")
    artifact = listed(path)
    with path.open("ab") as file:
        file.write(b"three\n")
    reading = read_listed(artifact)
    assert reading.records == [("one", 1), ("two", 2)]
    assert reading.mark.offset == 8
    assert read(path, reading.mark).records == [("three", 3)]


@pytest.mark.parametrize("size", [-1, None, 3, 5, 100])
def test_a_listed_file_ends_where_it_was_listed_however_it_is_read(tmp_path: Path, size: int | None) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo\n")
    artifact = listed(path)
    with path.open("ab") as file:
        file.write(b"three\n")
    with source_of(path).open(artifact) as stream:
        assert b"".join(iter(lambda: stream.read(size), b"")) == b"one\ntwo\n"  # type: ignore[arg-type]
        stream.seek(4)
        buffer = bytearray(10)
        assert stream.readinto(buffer) == 4  # type: ignore[attr-defined]
        assert bytes(buffer[:4]) == b"two\n"
        stream.seek(4)
        assert stream.readall() == b"two\n"  # type: ignore[attr-defined]
        stream.seek(12)
        assert stream.read(1) == b""


def test_a_compressed_file_that_grew_since_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(b"one\n"))
    artifact = listed(path)
    with path.open("ab") as file:
        file.write(gzip.compress(b"two\n"))
    assert read_listed(artifact).ending == Failed(f"{path}: the file changed after it was listed")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda path: rewrite(path, b"ONE\ntwo\n"), "the file changed after it was listed"),
        (later, "the file changed after it was listed"),
        (lambda path: replace_file(path, b"one\ntwo\n"), "the file changed after it was listed"),
        (lambda path: replace_file(path, b"one\ntwo\nthree\n"), "the file changed after it was listed"),
        (lambda path: replace_file(path, b"one\n"), "the file changed after it was listed"),
        (lambda path: os.truncate(path, 3), "the file was cut from 8 to 3 bytes after it was listed"),
        (Path.unlink, "No such file or directory"),
    ],
    ids=["rewritten", "touched", "replaced", "replaced by more", "replaced by less", "truncated", "deleted"],
)
def test_a_file_that_changed_since_it_was_listed_fails(
    tmp_path: Path, change: Callable[[Path], None], expected: str
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo\n")
    artifact = listed(path)
    change(path)
    reading = read_listed(artifact)
    assert reading.records == []
    assert reading.ending == Failed(f"{path}: {expected}")


def closing_rows(path: Path, change: Callable[[Path], object]) -> list[Any]:
    """What is said at the end of a long file that is changed after its first batch was read, and of one beside it."""
    other = path.with_name("other.log")
    path.write_bytes(LONG)
    other.write_bytes(b"one\n")
    artifacts: list[tuple[int, Artifact]] = [(0, listed(path)), (1, listed(other))]
    batches = read_artifacts(source_of(path), JsonLines(), artifacts)
    read_already = next(batches)
    assert read_already.num_rows < 50_000
    change(path)
    rows = [row for batch in batches for row in batch.to_pylist()]
    return [decode_closing(row["raw"]) for row in rows if row["position"] == CLOSING_POSITION]


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(LINE * 10)


def test_a_file_that_grows_while_it_is_read_gives_what_was_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    first, _ = closing_rows(path, append)
    assert (first.rows, first.mark.offset, first.mark.position) == (100_000, len(LONG), 100_000)
    assert first.mark.tail == digest(LONG[-4096:])


@pytest.mark.parametrize(
    "change",
    [
        lambda path: os.truncate(path, 0),
        lambda path: os.truncate(path, len(LONG) - 1),
        later,
        lambda path: rewrite(path, b"y" * len(LONG)),
        lambda path: rewrite(path, b"y" * (len(LONG) + 1)),
    ],
    ids=["emptied", "truncated", "touched", "rewritten", "truncated and grown beyond"],
)
def test_a_file_that_changes_while_it_is_read_fails_alone(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    path = tmp_path / "a.log"
    first, second = closing_rows(path, change)
    assert first == Failed(f"{path}: the file changed while it was read")
    assert second.rows == 1


def test_a_file_that_is_renamed_or_deleted_while_it_is_read_is_read_on(tmp_path: Path) -> None:
    first, second = closing_rows(tmp_path / "a.log", Path.unlink)
    assert (first.rows, second.rows) == (100_000, 1)


def test_a_reader_that_stops_early_is_not_told_of_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(LONG)
    batches = read_artifacts(source_of(path), JsonLines(), [(0, listed(path))])
    next(batches)
    os.truncate(path, 0)
    batches.close()  # type: ignore[attr-defined]
    path.write_bytes(b"one\n")
    reading = gathered(read_artifacts(source_of(path), JsonLines(), [(0, listed(path))]))
    assert reading.records == [("one", 1)]


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="few file systems have times this far away")
def test_a_time_that_no_calendar_has_is_left_out() -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        file.write(b"one\n")
        file.flush()
        os.utime(file.name, (0, 10**12))
        assert listed(Path(file.name)).modified is None
