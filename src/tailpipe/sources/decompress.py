"""Stored bytes to plain bytes: first bytes tell what is inside, the name where those are silent."""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO, cast

from isal import igzip_lib

from tailpipe.arrow import pa
from tailpipe.errors import ArtifactError
from tailpipe.formats.text import KEPT_BYTES
from tailpipe.sources.zstd_frames import FrameCutter, starts_frame

CHUNK_BYTES = 1024 * 1024
MAGIC_BYTES = 262

_MAGICS: dict[str, tuple[bytes, ...]] = {
    "gzip": (b"\x1f\x8b",),
    "bzip2": (b"BZh",),
    "xz": (b"\xfd7zXZ\x00",),
    # One that holds entries, an empty one, and a part of several.
    "zip": (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"),
}
_EXTENSIONS = {
    ".gz": "gzip",
    ".tgz": "gzip",
    ".bz2": "bzip2",
    ".xz": "xz",
    ".zst": "zstd",
    ".zip": "zip",
    ".tar": "tar",
}


class ChunkReader(io.RawIOBase):
    """A forward-only file over chunks, for libraries that want to read one."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = chunks
        self._rest = memoryview(b"")
        self.read_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        self.read_bytes += count
        return count


def read_chunks(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def peek(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, enough to tell what they are, and all chunks including them."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= MAGIC_BYTES:
            break
    return head[:MAGIC_BYTES], _rejoined(head, chunks)


def _rejoined(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from chunks


def is_archive(head: bytes) -> bool:
    """Whether plain content is a zip or a tar, of which the entries are the logs."""
    return head.startswith(_MAGICS["zip"]) or _is_tar(head)


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


def kind_of(head: bytes, name: str) -> str | None:
    """gzip, bzip2, xz, zstd, zip, tar, or None for plain bytes."""
    for kind, magics in _MAGICS.items():
        if head.startswith(magics):
            return kind
    if len(head) >= 4 and starts_frame(head[:4]):
        return "zstd"
    if _is_tar(head):
        return "tar"
    expected = next((kind for end, kind in _EXTENSIONS.items() if name.lower().endswith(end)), None)
    if expected == "tar":
        return "tar"
    if expected and b"\x00" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ArtifactError(f"{name}: not a {expected} file: it starts with {head[:4].hex(' ')}")
    return None


@dataclass
class Trailing:
    """Bytes behind the end of packed data that are not packed. Filled when the packed data was read to its end."""

    kind: str
    head: bytes = b""
    size_bytes: int = 0

    def see(self, chunks: Iterable[bytes]) -> None:
        for chunk in chunks:
            self.head += chunk[: KEPT_BYTES - len(self.head)]
            self.size_bytes += len(chunk)


def expand(kind: str, chunks: Iterator[bytes], name: str, trailing: Trailing) -> Iterator[bytes]:
    """Plain chunks of at most CHUNK_BYTES, whatever the ratio of compression."""
    if kind == "zstd":
        return _expand_zstd(chunks, name, trailing)
    return _expand_members(chunks, kind, name, trailing)


_DECODERS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}
_DECODE_ERRORS: tuple[type[Exception], ...] = (
    cast(type[Exception], igzip_lib.IsalError),
    lzma.LZMAError,
    OSError,
    EOFError,
    ValueError,
)


def _expand_members(chunks: Iterator[bytes], kind: str, name: str, trailing: Trailing) -> Iterator[bytes]:
    """Members may follow each other, and zeros may follow the last: tapes and block devices pad with them."""
    (magic,) = _MAGICS[kind]
    decoder: Any = None
    held = b""
    read_bytes = 0
    for chunk in chunks:
        read_bytes += len(chunk)
        data = held + chunk if held else chunk
        held = b""
        while True:
            if decoder is None:
                data = data.lstrip(b"\x00")
                if len(data) < len(magic) and magic.startswith(data):
                    held = data
                    break
                if not data.startswith(magic):
                    trailing.see(chain((data,), chunks))
                    return
                decoder = _DECODERS[kind]()
            try:
                plain = decoder.decompress(data, CHUNK_BYTES)
            except _DECODE_ERRORS as error:
                raise ArtifactError(
                    f"{name}: {kind} data is broken within the first {read_bytes:,} bytes: {error}"
                ) from error
            if plain:
                yield plain
            if decoder.eof:
                data, decoder = decoder.unused_data, None
            elif decoder.needs_input:
                break
            else:
                data = b""
    if decoder is not None or held:
        raise ArtifactError(f"{name}: {kind} stream ends after {read_bytes:,} bytes")


def _expand_zstd(chunks: Iterator[bytes], name: str, trailing: Trailing) -> Iterator[bytes]:
    cutter = FrameCutter(chunks)
    reader = ChunkReader(cutter.frames())
    try:
        with pa.CompressedInputStream(pa.PythonFile(reader, mode="r"), "zstd") as stream:
            while plain := stream.read(CHUNK_BYTES):
                yield plain
    except OSError as error:
        if "runcated" in str(error):
            raise ArtifactError(f"{name}: zstd stream ends after {reader.read_bytes:,} bytes") from error
        raise ArtifactError(
            f"{name}: zstd data is broken within the first {reader.read_bytes:,} bytes: {error}"
        ) from error
    trailing.see(cutter.rest)
