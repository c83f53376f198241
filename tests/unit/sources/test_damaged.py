"""Whatever bytes a packed file has, reading it gives content, or an error that names the artifact and nothing else."""

from __future__ import annotations

import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from random import Random

import pytest
from test_entries import COMPRESS, TEXT, tar, zipped

from tailpipe.errors import ArtifactError
from tailpipe.sources.decompress import read_chunks
from tailpipe.sources.entries import Unread, entries_of, unpack

CONTENT = TEXT[:3_000]
FILES = (("a", CONTENT), ("b.gz", gzip.compress(CONTENT)), ("c", b""))


def zipped_by(method: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("a", CONTENT)
    return out.getvalue()


WHOLE: dict[str, Callable[[], bytes]] = {
    **{kind: lambda kind=kind: COMPRESS[kind](CONTENT) + COMPRESS[kind](b"x\n") for kind in COMPRESS},
    "tar": lambda: tar(*FILES),
    "zip": lambda: zipped(*FILES),
    "tar.gz": lambda: gzip.compress(tar(*FILES)),
    "tar.xz": lambda: lzma.compress(tar(*FILES)),
    "zip.gz": lambda: gzip.compress(zipped(*FILES)),
    "tar in zip": lambda: zipped(("t.tar", tar(*FILES))),
    "bzip2 in zip": lambda: zipped_by(zipfile.ZIP_BZIP2),
    "lzma in zip": lambda: zipped_by(zipfile.ZIP_LZMA),
}


def damaged(data: bytes, chance: Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5, 30])):
        at = chance.randrange(len(found) + 1)
        end = at + chance.choice([1, 8, 50])
        found[at : chance.choice([at, end, end, len(found)])] = chance.choice(
            [b"", b"\xff" * 8, b"\x00" * 8, chance.randbytes(chance.randrange(1, 30))]
        )
    return bytes(found)


def read(data: bytes, name: str) -> str:
    """What is said of it."""
    try:
        for item in entries_of(unpack(read_chunks(io.BytesIO(data)), name)):
            size_bytes = 0 if isinstance(item, Unread) else sum(map(len, item[1]))
            assert size_bytes < 1_000_000
    except ArtifactError as error:
        return error.message
    return ""


@pytest.mark.parametrize("kind", WHOLE)
def test_damaged_files_are_read_or_told(kind: str) -> None:
    whole = WHOLE[kind]()
    for seed in range(60):
        chance = Random(f"{kind} {seed}")
        name = chance.choice(["x", "x.gz", "x.tar", "x.zip", "x.tgz", "x.zst"])
        told = read(damaged(whole, chance), name)
        assert "object at 0x" not in told, seed
        assert "<ZipInfo" not in told, seed
