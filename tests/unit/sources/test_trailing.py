"""What stands behind packed data is told, and costs nothing of the data before it."""

from __future__ import annotations

import gzip
import io
import random
import shutil
import struct
import subprocess
import tarfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from test_entries import COMPRESS, TEXT, Forward, read, tar, zipped

from tailpipe.config.values import FormatConfig, SourceConfig
from tailpipe.errors import ArtifactError
from tailpipe.formats import jsonl
from tailpipe.records import ReasonCode, decode_closing
from tailpipe.sources import entries as entries_module
from tailpipe.sources.artifact import Artifact
from tailpipe.sources.decompress import read_chunks
from tailpipe.sources.entries import Unread, entries_of, unpack
from tailpipe.sources.file import make
from tailpipe.sources.read import read_artifacts
from tailpipe.times import Window

SHORT = TEXT[:50_000]
SKIPPED = struct.pack("<II", 0x184D2A5A, 4) + b"\x00\x01\x02\x03"


def read_all(data: bytes, name: str = "x") -> list[object]:
    found: list[object] = []
    for item in entries_of(unpack(read_chunks(Forward(data)), name)):  # type: ignore[arg-type]
        found.append(item if isinstance(item, Unread) else (item[0], b"".join(item[1])))
    return found


def unread(kind: str, data: bytes, entry: str | None = None) -> Unread:
    reason = f"{len(data):,} bytes behind the end of the {kind} are of another kind and were not read"
    return Unread(entry, data[: 64 * 1024], reason)


@pytest.mark.parametrize("garbage", [b"x", b"text\n", b"B", b"\x1f", random.Random(3).randbytes(3_000_000)])
@pytest.mark.parametrize("kind", COMPRESS)
def test_the_members_before_garbage_are_kept(kind: str, garbage: bytes) -> None:
    packed = COMPRESS[kind](SHORT) + COMPRESS[kind](b"more\n")
    if kind in ("gzip", "bzip2") and garbage in {"gzip": b"\x1f", "bzip2": b"B"}[kind]:
        with pytest.raises(ArtifactError, match=f"{kind} stream ends after"):
            read_all(packed + garbage)
        return
    expected = [(None, SHORT + b"more\n"), unread(f"{kind} data", garbage)]
    assert read_all(packed + garbage) == expected
    assert read_all(packed + b"\x00" * 1_500_000 + garbage) == expected


@pytest.mark.parametrize("kind", COMPRESS)
def test_garbage_in_an_archive_is_told_with_its_entry(kind: str) -> None:
    packed = COMPRESS[kind](b"1\n") + b"garbage"
    expected = [("a", b"1\n"), unread(f"{kind} data", b"garbage", "a"), ("b", b"2\n")]
    assert read_all(tar(("a", packed), ("b", b"2\n"))) == expected
    assert read_all(zipped(("a", packed), ("b", b"2\n"))) == expected


@pytest.mark.parametrize("kind", COMPRESS)
def test_garbage_behind_a_packed_archive_is_told(kind: str) -> None:
    packed = COMPRESS[kind](tar(("a", b"1\n"))) + b"garbage"
    assert read_all(packed) == [("a", b"1\n"), unread(f"{kind} data", b"garbage")]


def test_archives_behind_a_tar_are_told() -> None:
    second = tar(("b", b"2\n"))
    assert read_all(tar(("a", b"1\n")) + second) == [("a", b"1\n"), unread("tar archive", second)]


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("seed", range(8))
def test_any_mixture_of_members_zeros_and_garbage(kind: str, seed: int) -> None:
    """Members are read wherever chunks are cut; the first byte of something else ends them."""
    chance = random.Random(seed)
    plain, packed = b"", b""
    for _ in range(chance.randint(1, 4)):
        part = chance.randbytes(chance.choice([0, 1, 70_000, 200_000]))
        if chance.random() < 0.5:
            part = part[:1] * len(part)
        plain += part
        packed += COMPRESS[kind](part) + b"\x00" * chance.choice([0, 4, 1_100_000])
        packed += SKIPPED if kind == "zstd" and chance.random() < 0.5 else b""
    garbage = chance.choice([b"", b"\x07", b"the end\n", b"\x07" + chance.randbytes(2_000_000)])
    found = read_all(packed + garbage)
    assert found == [(None, plain), *([unread(f"{kind} data", garbage)] if garbage else [])]


@pytest.mark.parametrize("level", [1, 12])
@pytest.mark.parametrize("options", [{}, {"write_content_size": False}, {"write_checksum": True}])
def test_every_form_of_zstd_frame(level: int, options: dict[str, bool]) -> None:
    parts = [b"", b"a", b"\x00" * 300_000, TEXT, random.Random(1).randbytes(400_000)]
    packed = b"".join(zstandard.ZstdCompressor(level, **options).compress(part) for part in parts)  # type: ignore[arg-type]
    assert read_all(SKIPPED + packed + SKIPPED + b"x") == [(None, b"".join(parts)), unread("zstd data", b"x")]


@pytest.mark.parametrize("cut", [3, 5, 9, 40, 5_000])
def test_a_cut_off_zstd_file_says_where(cut: int) -> None:
    packed = COMPRESS["zstd"](TEXT)
    for data in (packed + packed[:cut], SKIPPED + packed[:cut], packed + SKIPPED[: min(cut, 10)]):
        with pytest.raises(ArtifactError, match=f"^x: zstd stream ends after {len(data):,} bytes$"):
            read_all(data)


@pytest.mark.skipif(shutil.which("pzstd") is None, reason="pzstd is not installed")
def test_files_that_pzstd_wrote(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(TEXT * 20)
    subprocess.run(["pzstd", "-q", "-p", "2", tmp_path / "a.log"], check=True)
    assert read(tmp_path.joinpath("a.log.zst").read_bytes()) == [(None, TEXT * 20)]


def test_empty_archives_hold_nothing() -> None:
    assert read_all(zipped(), "x.zip") == []
    assert read_all(tar(), "x.tar") == []
    assert read_all(gzip.compress(tar()), "x.tar.gz") == []
    assert read_all(gzip.compress(b""), "x.tar.gz") == []


def test_entries_of_the_same_name_are_told_apart() -> None:
    members = (("a", b"1\n"), ("a", b"2\n"), ("b", b"3\n"), ("./a", b"4\n"))
    assert read_all(tar(*members)) == [("a", b"1\n"), ("a#2", b"2\n"), ("b", b"3\n"), ("a#3", b"4\n")]


def test_an_encrypted_entry_is_named() -> None:
    data = bytearray(zipped(("secret.log", b"x")))
    for signature in (b"PK\x03\x04", b"PK\x01\x02"):
        data[data.index(signature) + (6 if signature == b"PK\x03\x04" else 8)] |= 1
    with pytest.raises(ArtifactError) as caught:
        read_all(bytes(data), "a.zip")
    assert str(caught.value) == 'a.zip: entry "secret.log" of the zip archive is encrypted'


def test_a_method_of_zip_that_is_not_known_is_named() -> None:
    data = bytearray(zipped(("a.log", b"x")))
    data[data.index(b"PK\x01\x02") + 10] = 9
    with pytest.raises(
        ArtifactError, match=r'entry "a\.log" of the zip archive is compressed by method 9, which'
    ):
        read_all(bytes(data))


def test_a_zip_inside_packed_data_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries_module, "MAX_PACKED_ZIP_BYTES", 100_000)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.log", b"a" * 200_000)
    assert read_all(out.getvalue()) == [("a.log", b"a" * 200_000)]
    with pytest.raises(ArtifactError, match="inside packed data is larger than 100,000 bytes"):
        read_all(gzip.compress(out.getvalue()))


def test_a_file_of_nothing_but_holes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """GNU tar stores the places of data; a few bytes can stand for any number of zeros."""
    header = tarfile.TarInfo("holes")
    header.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    block[386:410] = b"%011o\0%011o\0" % (2**32, 0)
    block[483:495] = b"%011o\0" % (2**33 - 1)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    data = bytes(block) + tar()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert archive.getmembers()[0].issparse()
    monkeypatch.setattr(entries_module, "MAX_SPARSE_BYTES", 2**30)
    with pytest.raises(ArtifactError, match='"holes" has holes and is larger than'):
        read_all(data)


def test_garbage_is_one_reject_that_no_retry_takes_for_a_record(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n{"a": 2}\n') + b'{"a": 3}\n')
    source = make(SourceConfig("file", "logs", {"paths": [str(path)]}))
    (artifact,) = source.list(Window(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)))
    assert isinstance(artifact, Artifact)
    batches = read_artifacts(source, jsonl.make(FormatConfig("jsonl", "default", {})), [(0, artifact)])
    *records, closing = pa.Table.from_batches(batches).to_pylist()
    assert [(record["raw"], record["position"], record["reason"] is None) for record in records] == [
        ('{"a": 1}', 1, True),
        ('{"a": 2}', 2, True),
        ('{"a": 3}\n', 0, False),
    ]
    assert getattr(decode_closing(closing["raw"]), "rows", None) == 3
    assert ReasonCode(records[-1]["code"]).is_final
