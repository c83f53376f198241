"""Stored bytes to plain bytes: first bytes tell what is inside, the name where those are silent."""

from __future__ import annotations

import bz2
import lzma
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO, cast

import zstandard
from isal import igzip_lib

from tailpipe.errors import ArtifactError
from tailpipe.formats.text import KEPT_BYTES

CHUNK_BYTES = 1024 * 1024
MAGIC_BYTES = 262
# A few bytes of zstd may stand for 32 KiB each: then it gets fewer at a time.
_ZSTD_INPUT_BYTES, _DENSE_INPUT_BYTES = 1024, 64

_MAGICS: dict[str, tuple[bytes, ...]] = {
    "gzip": (b"\x1f\x8b",),
    "bzip2": (b"BZh",),
    "xz": (b"\xfd7zXZ\x00",),
    # A frame, and frames to skip: pzstd writes one before each of its frames.
    "zstd": (b"\x28\xb5\x2f\xfd", *(bytes((first, 0x2A, 0x4D, 0x18)) for first in range(0x50, 0x60))),
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


class _ZstdDecoder:
    """One frame, read like `bz2.BZ2Decompressor`. The library has no limit for what it gives, so it gets little."""

    def __init__(self) -> None:
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._input = memoryview(b"")
        self._input_bytes = _DENSE_INPUT_BYTES
        self._output = b""

    def decompress(self, data: bytes, limit_bytes: int) -> bytes:
        self._input = memoryview(data) if data else self._input
        parts, size_bytes = [self._output], len(self._output)
        while size_bytes < limit_bytes and self._input and not self._frame.eof:
            parts.append(self._frame.decompress(self._input[: self._input_bytes]))
            self._input = self._input[self._input_bytes :]
            is_dense = len(parts[-1]) > limit_bytes // 16
            self._input_bytes = _DENSE_INPUT_BYTES if is_dense else _ZSTD_INPUT_BYTES
            size_bytes += len(parts[-1])
        plain = b"".join(parts)
        self._output = plain[limit_bytes:]
        return plain[:limit_bytes]

    @property
    def eof(self) -> bool:
        return self._frame.eof and not self._output

    @property
    def needs_input(self) -> bool:
        return not self._input and not self._output

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data + self._input


_DECODERS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
    "zstd": _ZstdDecoder,
}
_DECODE_ERRORS: tuple[type[Exception], ...] = (
    cast(type[Exception], igzip_lib.IsalError),
    lzma.LZMAError,
    zstandard.ZstdError,
    OSError,
    EOFError,
    ValueError,
)


def expand(kind: str, chunks: Iterator[bytes], name: str, trailing: Trailing) -> Iterator[bytes]:
    """Plain chunks of at most CHUNK_BYTES, whatever the ratio of compression.

    Members may follow each other, and zeros may follow the last: tapes and block devices pad with them.
    """
    magics = _MAGICS[kind]
    decoder: Any = None
    waiting = b""
    read_bytes = 0
    for chunk in chunks:
        read_bytes += len(chunk)
        data = waiting + chunk if waiting else chunk
        waiting = b""
        while True:
            if decoder is None:
                data = data.lstrip(b"\x00")
                if any(len(data) < len(magic) and magic.startswith(data) for magic in magics):
                    waiting = data
                    break
                if not data.startswith(magics):
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
    if decoder is not None or waiting:
        raise ArtifactError(f"{name}: {kind} stream ends after {read_bytes:,} bytes")
