from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import stat
import tarfile
import tracemalloc
import zipfile

import pytest
import zstandard

from tailpipe.errors import ArtifactError
from tailpipe.sources.decompress import read_chunks
from tailpipe.sources.entries import entries_of, unpack

TEXT = b"".join(b"%d %d\n" % (number, number * 7919 % 10007) for number in range(100_000))


class Forward(io.RawIOBase):
    """A stream that cannot seek, as a network gives it."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._data.readinto(buffer)


def read(data: bytes, name: str = "x") -> list[tuple[str | None, bytes]]:
    return [
        (entry, b"".join(chunks)) for entry, chunks in entries_of(unpack(read_chunks(Forward(data)), name))
    ]  # type: ignore[arg-type]


def tar(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


COMPRESS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}


@pytest.mark.parametrize("kind", COMPRESS)
def test_compressed_streams_are_told_by_their_first_bytes(kind: str) -> None:
    assert read(COMPRESS[kind](TEXT), "any.name") == [(None, TEXT)]


@pytest.mark.parametrize("kind", COMPRESS)
def test_members_may_follow_each_other(kind: str) -> None:
    compress = COMPRESS[kind]
    assert read(compress(b"a\n") + compress(TEXT) + compress(b"b")) == [(None, b"a\n" + TEXT + b"b")]


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
def test_zeros_may_follow_the_last_member(kind: str) -> None:
    assert read(COMPRESS[kind](TEXT) + b"\x00" * 3_000_000) == [(None, TEXT)]


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_stream_that_ends_early_says_where(kind: str) -> None:
    whole = COMPRESS[kind](TEXT)
    part = whole[: len(whole) // 2]
    with pytest.raises(ArtifactError) as caught:
        read(part, "a/0412.json")
    assert str(caught.value) == f"a/0412.json: {kind} stream ends after {len(part):,} bytes"


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_stream_with_broken_bytes_is_an_error(kind: str) -> None:
    whole = bytearray(COMPRESS[kind](random.Random(1).randbytes(500_000)))
    whole[len(whole) // 2 : len(whole) // 2 + 64] = random.Random(2).randbytes(64)
    with pytest.raises(ArtifactError, match=f"^x: {kind} "):
        read(bytes(whole))


def test_plain_files_and_empty_ones() -> None:
    assert read(TEXT) == [(None, TEXT)]
    assert read(b"", "x.gz") == [(None, b"")]
    assert read(b"plain text", "x.json.gz") == [(None, b"plain text")]


def test_a_name_that_promises_what_the_bytes_are_not_is_an_error() -> None:
    with pytest.raises(ArtifactError, match=r"^x.gz: not a gzip file: it starts with 00 01 02 03$"):
        read(bytes(range(200)), "x.gz")


@pytest.mark.parametrize("kind", [None, *COMPRESS])
def test_files_in_archives_come_with_their_names(kind: str | None) -> None:
    archive = tar(("a.log", b"1\n"), ("sub/b.json.gz", gzip.compress(TEXT)), ("./c", b""))
    data = COMPRESS[kind](archive) if kind else archive
    assert read(data) == [("a.log", b"1\n"), ("sub/b.json.gz", TEXT), ("c", b"")]


def test_zip_archives() -> None:
    data = zipped(("a.log", b"1\n"), ("sub/", b""), ("sub/b.json.gz", gzip.compress(TEXT)))
    assert read(data) == [("a.log", b"1\n"), ("sub/b.json.gz", TEXT)]
    inner = zipped(("in.log", b"x"))
    assert read(zipped(("inner.zip", inner))) == [("inner.zip/in.log", b"x")]


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "..\\x", "C:\\x"])
@pytest.mark.parametrize("pack", [tar, zipped])
def test_no_entry_may_leave_its_folder(name: str, pack: object) -> None:
    with pytest.raises(ArtifactError, match="the archive names an entry outside its own folder"):
        read(pack((name, b"x")))  # type: ignore[operator]


def test_links_and_devices_are_no_files() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            info = tarfile.TarInfo("link")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert read(out.getvalue()) == []
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(out := io.BytesIO(), "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert read(out.getvalue()) == []


@pytest.mark.parametrize("pack", [tar, zipped])
def test_a_truncated_archive_is_an_error(pack: object) -> None:
    whole = pack(("a.log", os.urandom(100_000)))  # type: ignore[operator]
    with pytest.raises(ArtifactError, match=r"^x: .*(tar|zip) archive (cannot be read|is broken)"):
        read(whole[:50_000])


def test_what_is_packed_over_and_over_is_an_error() -> None:
    data = b"x"
    for _ in range(8):
        data = gzip.compress(data)
    with pytest.raises(ArtifactError, match="compressed more than 4 times over"):
        read(data)


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_bomb_keeps_memory_flat(kind: str) -> None:
    bomb = COMPRESS[kind](bytes(1 << 20) * 200)
    tracemalloc.start()
    total = sum(
        len(chunk) for _, chunks in entries_of(unpack(read_chunks(io.BytesIO(bomb)), "x")) for chunk in chunks
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 200 << 20
    assert peak < 16 << 20


def test_a_name_in_an_archive_that_is_no_text() -> None:
    assert read(tar(("odd\udcff.log", b"x"))) == [("odd\ufffd.log", b"x")]
