"""Bytes to whole lines of valid UTF-8, in blocks of bounded size."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

MAX_RECORD_BYTES = 8 * 1024 * 1024
KEPT_BYTES = 64 * 1024
BLOCK_BYTES = 4 * 1024 * 1024

_UTF16_CODECS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True)
class LongLine:
    """A line over the limit: its first bytes and its full size, without the line end."""

    head: bytes
    size_bytes: int


def utf8_chunks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Removes a byte order mark and turns UTF-16 into UTF-8. Broken UTF-8 passes: see `valid_utf8`."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= len(codecs.BOM_UTF8):
            break
    encoding = _UTF16_CODECS.get(head[:2])
    if encoding:
        yield from _transcoded(head[2:], chunks, encoding)
        return
    yield from _bounded(head.removeprefix(codecs.BOM_UTF8))
    for chunk in chunks:
        yield from _bounded(chunk)


def _transcoded(head: bytes, chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for part in _bounded(head):
        yield decoder.decode(part).encode()
    for chunk in chunks:
        for part in _bounded(chunk):
            yield decoder.decode(part).encode()
    yield decoder.decode(b"", final=True).encode()


def _bounded(chunk: bytes) -> Iterator[bytes]:
    if len(chunk) <= BLOCK_BYTES:
        if chunk:
            yield chunk
        return
    for start in range(0, len(chunk), BLOCK_BYTES):
        yield chunk[start : start + BLOCK_BYTES]


def valid_utf8(data: bytes) -> bytes:
    """The same bytes where they are valid; broken sequences become U+FFFD. `data` holds whole characters."""
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode(errors="replace").encode()
    return data


def line_blocks(chunks: Iterator[bytes], limit_bytes: int = MAX_RECORD_BYTES) -> Iterator[bytes | LongLine]:
    """Blocks of whole lines, each ended by LF. The last line gets its LF if the file lacks it.

    A line over the limit comes as a LongLine of its own; what waits meanwhile stays bounded.
    """
    waiting: list[bytes] = []
    waiting_bytes = 0
    for chunk in chunks:
        first_end = chunk.find(b"\n")
        if first_end < 0:
            if waiting_bytes <= limit_bytes:
                waiting.append(chunk)
            waiting_bytes += len(chunk)
            continue
        start = 0
        if waiting_bytes + first_end > limit_bytes:
            yield _long_line(waiting, chunk[:first_end], waiting_bytes + first_end)
            start = first_end + 1
            waiting, waiting_bytes = [], 0
        last_end = chunk.rfind(b"\n") + 1
        if last_end > start:
            yield b"".join([*waiting, chunk[start:last_end]])
        rest = chunk[last_end:]
        waiting, waiting_bytes = [rest], len(rest)
    if waiting_bytes > limit_bytes:
        yield _long_line(waiting, b"", waiting_bytes)
    elif waiting_bytes:
        yield b"".join([*waiting, b"\n"])


def _long_line(waiting: list[bytes], end: bytes, size_bytes: int) -> LongLine:
    head = b"".join(part[:KEPT_BYTES] for part in [*waiting, end])[:KEPT_BYTES]
    return LongLine(head, size_bytes)
