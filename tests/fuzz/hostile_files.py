"""Files that a generator writes, packs and damages, and what must come of each of them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import zstandard

# A name ends in one of these, or in nothing that says how the file is packed: content tells, not names.
ENDINGS = (".log", ".jsonl", "", ".gz", ".txt", ".1", ".json.gz", ".zip", ".bak")
ODD_NAMES = (
    "ü",
    "日本",
    "a b",
    "it's",
    'q"q',
    "100%",
    "a%20b",
    "#x",
    "$HOME",
    "*",
    "[x]",
    "{y}",
    "-rf",
    "..x",
    "new\nline",
    "\x1b[31m",
    "n" * 180,
)
FILES_A_FOLDER = 500


@dataclass(frozen=True)
class Written:
    """A file, the ids of its records, and whether it was damaged: then some may be missing, but not silently."""

    path: Path
    ids: frozenset[str]
    is_damaged: bool = False
    is_other_text: bool = False


def write_files(folder: Path, seed: int, count: int) -> list[Written]:
    random = Random(seed)
    return [_write(folder / f"{number // FILES_A_FOLDER:03d}", number, random) for number in range(count)]


def _write(folder: Path, number: int, random: Random) -> Written:
    folder.mkdir(parents=True, exist_ok=True)
    odd = random.choice(ODD_NAMES) if random.random() < 0.1 else ""
    path = folder / f"{number:05d}{odd}{random.choice(ENDINGS)}"
    kind = random.random()
    if kind < 0.02:
        return _special(path, random)
    ids = [f"{number}-{row}" for row in range(random.choice((0, 1, 1, 2, 5, 40)))]
    data = _encoded("".join(_line(row_id, random) for row_id in ids), random)
    packed = random.choice((_plain, _plain, _gzip, _gzip, _members, _bzip2, _xz, _zstd, _frames, _zip, _tar))(
        data
    )
    if kind < 0.2 and packed:
        damaged = _damaged(packed, random)
        path.write_bytes(damaged)
        # Text that was changed is other text: nobody can tell what is missing of it.
        is_text = packed == data or not damaged.strip()
        return Written(path, frozenset() if is_text else frozenset(ids), damaged != packed, is_text)
    path.write_bytes(packed)
    return Written(path, frozenset(ids))


def _line(row_id: str, random: Random) -> str:
    end = random.choice(("\n", "\n", "\n", "\r\n", "\n\n"))
    return json.dumps({"at": f"2024-06-{random.randint(1, 9):02d}T00:00:00Z", "id": row_id}) + end


def _encoded(text: str, random: Random) -> bytes:
    if random.random() < 0.1:
        text = text.rstrip("\r\n")
    return text.encode(random.choice(("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16")))


def _plain(data: bytes) -> bytes:
    return data


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _members(data: bytes) -> bytes:
    middle = len(data) // 2
    return gzip.compress(data[:middle], mtime=0) + gzip.compress(data[middle:], mtime=0)


def _bzip2(data: bytes) -> bytes:
    return bz2.compress(data)


def _xz(data: bytes) -> bytes:
    return lzma.compress(data)


def _zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def _frames(data: bytes) -> bytes:
    """As pzstd writes: each frame is announced by a skippable one."""
    middle = len(data) // 2
    frames = [_zstd(part) for part in (data[:middle], data[middle:])]
    return b"".join(
        b"\x50\x2a\x4d\x18\x04\x00\x00\x00" + len(frame).to_bytes(4, "little") + frame for frame in frames
    )


def _zip(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside.jsonl", data)
    return buffer.getvalue()


def _tar(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo("inside.jsonl")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _damaged(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data))
    damages: tuple[Callable[[], bytes], ...] = (
        lambda: data[:at],
        lambda: data + bytes(random.randrange(256) for _ in range(random.randint(1, 40))),
        lambda: data + bytes(random.randint(1, 600)),
        lambda: data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :],
        lambda: bytes(random.randrange(256) for _ in range(random.randint(1, 200))) + data,
        lambda: data[at:],
    )
    return random.choice(damages)()


def _special(path: Path, random: Random) -> Written:
    """What is found in folders and is no log: nothing comes of it, and nothing is lost by it."""
    makers: tuple[Callable[[], None], ...] = (
        lambda: path.symlink_to(path.name),
        lambda: path.symlink_to("nowhere"),
        lambda: path.symlink_to(path.parent),
        lambda: os.mkfifo(path),
        lambda: path.mkdir(),
        lambda: path.write_bytes(zipfile_without_entries()),
        lambda: path.write_bytes(b"\x00" * 1024),
        lambda: path.write_bytes(b""),
    )
    random.choice(makers)()
    return Written(path, frozenset(), is_damaged=True)


def zipfile_without_entries() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w"):
        pass
    return buffer.getvalue()
