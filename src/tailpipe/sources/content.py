"""The plain content of an artifact: from its beginning or from a mark, to its end or to its last line end."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

from tailpipe.errors import ArtifactError
from tailpipe.sources.artifact import Artifact, Mark
from tailpipe.sources.decompress import CHUNK_BYTES, peek, read_chunks
from tailpipe.sources.entries import Entry, Plain, Unread, entries_of, unpack
from tailpipe.sources.fingerprint import HEAD_BYTES, Watch, can_read_on, digest

_BEGINNING = Mark(0, 0, digest(b""), digest(b""))
# First bytes of byte order marks.
_MARK_BYTES = (b"\xef", b"\xfe", b"\xff")


@dataclass(frozen=True)
class Content:
    """`watch` has seen what lies before the first of `plain.chunks`, and sees them as they are taken.

    Positions of records count on from that of `start`. `held_bytes` come after the last chunk and wait.
    """

    plain: Plain
    watch: Watch
    start: Mark
    held_bytes: int = 0

    def entries(self) -> Iterator[Entry | Unread]:
        """As `open_entries` gives them. All bytes have been seen when they end, also those that nobody took."""
        return entries_of(self.plain)


def open_content(stream: BinaryIO, artifact: Artifact) -> Content:
    """Fails where the content does not begin with what the artifact's start was made of."""
    start = artifact.start or _BEGINNING
    if start.offset == 0:
        plain, watch = unpack(read_chunks(stream), artifact.location), Watch()
    else:
        plain, watch = at_mark(stream, artifact.location, start)
    chunks, held_bytes = plain.chunks, 0
    if artifact.waits and not plain.is_packed and can_read_on(plain.head) and stream.seekable():
        end = _last_line_end(stream, start.offset, artifact.size_bytes)
        chunks, held_bytes = _limited(chunks, end - start.offset), artifact.size_bytes - end
    if start.offset == 0:
        chunks = watch.over(chunks)
    elif plain.archive:
        raise ArtifactError(f"{artifact.location}: an archive cannot be read from its middle")
    else:
        chunks = _from_next_line(chunks, watch, artifact.location)
    return Content(plain.with_chunks(chunks), watch, start, held_bytes)


def at_mark(stream: BinaryIO, name: str, mark: Mark) -> tuple[Plain, Watch]:
    """The plain content after a mark; fails where what lies before is not what the mark was made of."""
    plain, watch = _opened_small(stream, name), Watch()
    chunks = watch.skip(plain.chunks, min(HEAD_BYTES, mark.offset))
    if not plain.is_packed and mark.offset > 2 * HEAD_BYTES and stream.seekable():
        watch.jump(stream.seek(mark.offset - HEAD_BYTES))
        chunks = read_chunks(stream)
    chunks = watch.skip(chunks, mark.offset)
    if not watch.go_on(mark):
        raise ArtifactError(f"{name}: the file is no longer the one that was listed")
    return plain.with_chunks(chunks), watch


def first_bytes(stream: BinaryIO, name: str) -> bytes:
    """At most HEAD_BYTES of the plain content."""
    watch = Watch()
    watch.skip(_opened_small(stream, name).chunks, HEAD_BYTES)
    return watch.head


def goes_on_at_line_end(plain: Plain, watch: Watch) -> bool:
    """Whether what follows can be read without what was seen: the last line seen does not go on there."""
    if plain.archive or watch.is_at_line_end:
        return not plain.archive
    following = peek(plain.chunks)[0]
    return not following or _line_end(following, watch) is not None


def _opened_small(stream: BinaryIO, name: str) -> Plain:
    """Reads no more than it must: callers look at little of many files."""
    return unpack(chain((stream.read(HEAD_BYTES),), read_chunks(stream)), name)


def _from_next_line(chunks: Iterator[bytes], watch: Watch, name: str) -> Iterator[bytes]:
    head, chunks = peek(chunks)
    if head and not watch.is_at_line_end:
        line_end = _line_end(head, watch)
        if line_end is None:
            raise ArtifactError(f"{name}: the line that was its last when it was read before has grown")
        chunks = watch.skip(chunks, watch.offset + len(line_end))
        head = head[len(line_end) :]
    chunks = watch.over(chunks)
    # Formats take a byte order mark off the first chunk. Where a later line begins like one, they get one more to take.
    return chain((codecs.BOM_UTF8,), chunks) if head[:1] in _MARK_BYTES else chunks


def _line_end(following: bytes, watch: Watch) -> bytes | None:
    """The line end of a line that was taken without it; None where it goes on."""
    if following.startswith(b"\n"):
        return b"\n"
    # A CR that was the last byte was taken for half a line end: before CRLF it was part of the line.
    return b"\r\n" if following.startswith(b"\r\n") and watch.last_byte != b"\r" else None


def _last_line_end(stream: BinaryIO, start: int, end: int) -> int:
    """The offset after the last LF between two offsets, searched from behind; `start` where there is none."""
    current = stream.tell()
    try:
        while end > start:
            block_start = max(start, end - CHUNK_BYTES)
            stream.seek(block_start)
            found = stream.read(end - block_start).rfind(b"\n")
            if found >= 0:
                return block_start + found + 1
            end = block_start
        return start
    finally:
        stream.seek(current)


def _limited(chunks: Iterator[bytes], size_bytes: int) -> Iterator[bytes]:
    while size_bytes > 0 and (chunk := next(chunks, None)) is not None:
        yield chunk[:size_bytes]
        size_bytes -= len(chunk)
