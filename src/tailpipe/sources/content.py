"""The plain content of an artifact: from its beginning or from a mark, to its end or to its last line end."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

from tailpipe.errors import ArtifactError
from tailpipe.formats.text import MAX_RECORD_BYTES
from tailpipe.records import Mark
from tailpipe.sources.artifact import Artifact
from tailpipe.sources.decompress import CHUNK_BYTES, peek, read_chunks
from tailpipe.sources.entries import Entry, Plain, Unread, entries_of, unpack
from tailpipe.sources.fingerprint import HEAD_BYTES, Watch, can_read_on, digest

_BEGINNING = Mark(0, 0, digest(b""), digest(b""))
# Of the bytes of a last line without its end: whether nothing can be missing of them.
IsWhole = Callable[[bytes], bool]
# First bytes of byte order marks.
_MARK_BYTES = (b"\xef", b"\xfe", b"\xff")


@dataclass(frozen=True)
class Content:
    """`watch` has seen what lies before the first of `plain.chunks`, and sees them as they are taken.

    Positions of records count on from that of `start`. `waiting_bytes` come after the last chunk. `is_restarted` says
    that the last line before the artifact's mark goes on after it, and comes once more.
    """

    plain: Plain
    watch: Watch
    start: Mark
    waiting_bytes: int = 0
    is_restarted: bool = False

    def entries(self) -> Iterator[Entry | Unread]:
        """As `entries_of` gives them. All bytes have been seen when they end, also those that nobody took."""
        return entries_of(self.plain)


def open_content(stream: BinaryIO, artifact: Artifact, is_whole: IsWhole = lambda line: False) -> Content:
    """Fails where the content does not begin with what the artifact's start was made of."""
    start = artifact.start or _BEGINNING
    if start.offset == 0:
        plain, watch = unpack(read_chunks(stream), artifact.location), Watch()
    else:
        plain, watch = at_mark(stream, artifact.location, start)
    if start.offset and plain.archive:
        raise ArtifactError(f"{artifact.location}: an archive cannot be read from its middle")
    end = _end(stream, plain, artifact, is_whole)
    waiting_bytes = 0 if end is None else artifact.size_bytes - end
    head, chunks = peek(_up_to(end, plain.chunks, watch))
    is_restarted = bool(head) and not watch.is_at_line_end and _line_end(head, watch) is None
    if is_restarted:
        plain, watch, start = _at_open_line(stream, artifact.location, start)
        head, chunks = peek(_up_to(end, plain.chunks, watch))
    return Content(
        plain.with_chunks(_from_next_line(head, chunks, watch)), watch, start, waiting_bytes, is_restarted
    )


def _end(stream: BinaryIO, plain: Plain, artifact: Artifact, is_whole: IsWhole) -> int | None:
    """The offset up to which content is read; None for all of it."""
    can_wait = not plain.is_packed and can_read_on(plain.head) and stream.seekable()
    if artifact.waits_after is None or not can_wait:
        return None
    start = artifact.start or _BEGINNING
    current = stream.tell()
    end = _last_line_end(stream, start.offset - start.open_bytes, artifact.size_bytes)
    line_bytes = artifact.size_bytes - end
    stream.seek(end)
    line = stream.read(line_bytes) if line_bytes <= MAX_RECORD_BYTES else b""
    stream.seek(current)
    if is_whole(line.removeprefix(codecs.BOM_UTF8) if end == 0 else line):
        return None
    return max(end, artifact.waits_after)


def at_mark(stream: BinaryIO, name: str, mark: Mark) -> tuple[Plain, Watch]:
    """The plain content after a mark; fails where what lies before is not what the mark was made of."""
    plain, watch = _at_offset(stream, name, mark.offset)
    if not watch.go_on(mark):
        raise ArtifactError(f"{name}: the file is no longer the one that was listed")
    return plain, watch


def _at_open_line(stream: BinaryIO, name: str, mark: Mark) -> tuple[Plain, Watch, Mark]:
    """The content from the beginning of the line on that was the last before the mark, and a mark there."""
    if not mark.open_bytes or not stream.seekable():
        raise ArtifactError(f"{name}: the line that was its last when it was read before has grown")
    stream.seek(0)
    plain, watch = _at_offset(stream, name, mark.offset - mark.open_bytes)
    watch.begin_line(mark.position - 1)
    return plain, watch, watch.mark()


def _at_offset(stream: BinaryIO, name: str, offset: int) -> tuple[Plain, Watch]:
    """Of a plain file, only the first and the last bytes before the offset are read."""
    plain, watch = _opened_small(stream, name), Watch()
    chunks = watch.skip(plain.chunks, min(HEAD_BYTES, offset))
    if not plain.is_packed and offset > 2 * HEAD_BYTES and stream.seekable():
        watch.jump(stream.seek(offset - HEAD_BYTES))
        chunks = read_chunks(stream)
    return plain.with_chunks(watch.skip(chunks, offset)), watch


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


def _from_next_line(head: bytes, chunks: Iterator[bytes], watch: Watch) -> Iterator[bytes]:
    """`head` are the first bytes of the chunks."""
    if head and not watch.is_at_line_end:
        line_end = _line_end(head, watch) or b""
        chunks = watch.skip(chunks, watch.offset + len(line_end))
        head = head[len(line_end) :]
    is_first_line = watch.offset == 0
    chunks = watch.over(chunks)
    # Formats take a byte order mark off the first chunk. Where a later line begins like one, they get one more to take.
    return chain((codecs.BOM_UTF8,), chunks) if not is_first_line and head[:1] in _MARK_BYTES else chunks


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


def _up_to(end: int | None, chunks: Iterator[bytes], watch: Watch) -> Iterator[bytes]:
    """What comes before the offset `end` of chunks that begin where the watch is."""
    return chunks if end is None else _limited(chunks, end - watch.offset)


def _limited(chunks: Iterator[bytes], size_bytes: int) -> Iterator[bytes]:
    while size_bytes > 0 and (chunk := next(chunks, None)) is not None:
        yield chunk[:size_bytes]
        size_bytes -= len(chunk)
