"""The text of one configuration file, and the place of every byte in it."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tailpipe.config.regular_file import TooLarge, read_regular_file
from tailpipe.errors import Position, Problem

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_FILE_BYTES = 1 << 20
# With more than these, a file is no text that somebody saved in another encoding.
_MOST_FOREIGN_BYTES = 20
_NO_TEXT = re.compile("[\udc80-\udcff]")
_CONTINUATION = re.compile(rb"[\x80-\xbf]")


@dataclass(frozen=True)
class SourceText:
    """`data` is UTF-8 with plain newlines and no byte order mark; `line_starts` are offsets into it.

    `continuations` are the offsets of bytes that begin no character: a column counts characters.
    """

    name: str
    data: bytes
    line_starts: tuple[int, ...]
    continuations: Sequence[int] = ()

    def position(self, offset: int) -> Position:
        line = bisect_right(self.line_starts, offset)
        start = self.line_starts[line - 1]
        within = bisect_left(self.continuations, offset) - bisect_left(self.continuations, start)
        return Position(self.name, line, offset - start - within + 1)

    def line(self, offset: int) -> int:
        return bisect_right(self.line_starts, offset)

    def line_span(self, line: int) -> tuple[int, int]:
        """Offsets of a line's first byte and of its end, the newline excluded."""
        start = self.line_starts[line - 1]
        if line < len(self.line_starts):
            return start, self.line_starts[line] - 1
        return start, len(self.data)

    def text(self, start: int, end: int) -> str:
        return self.data[start:end].decode()


def source_text(name: str, data: bytes) -> SourceText:
    data = data.removeprefix(BYTE_ORDER_MARK).replace(b"\r\n", b"\n")
    starts = [0]
    at = data.find(b"\n")
    while at >= 0:
        starts.append(at + 1)
        at = data.find(b"\n", at + 1)
    continuations = (
        () if data.isascii() else array("L", (found.start() for found in _CONTINUATION.finditer(data)))
    )
    return SourceText(name, data, tuple(starts), continuations)


def read_source(path: Path) -> tuple[SourceText, tuple[Problem, ...]] | Problem:
    """The text with what is wrong with it: bytes that are no UTF-8 become question marks. Else why there is none."""
    name = str(path)
    try:
        data = read_regular_file(path, MAX_FILE_BYTES)
    except TooLarge:
        message = f"the file is larger than {MAX_FILE_BYTES >> 20} MiB, the limit of a configuration file"
        return Problem(message, Position(name, 1, 1), "split it, or name a folder that holds other files")
    except OSError as error:
        return Problem(f"cannot read the file: {error.strerror}", Position(name, 1, 1))
    source = source_text(name, data)
    try:
        source.data.decode()
    except UnicodeDecodeError as error:
        return _mended(source, error.start)
    return source, ()


def _mended(source: SourceText, first: int) -> tuple[SourceText, tuple[Problem, ...]] | Problem:
    hint = "save the file as UTF-8"
    text, count = _NO_TEXT.subn("?", source.data.decode(errors="surrogateescape"))
    mended = source_text(source.name, text.encode())
    if count > _MOST_FOREIGN_BYTES:
        return Problem("the file is not UTF-8 text from here on", mended.position(first), hint)
    at = mended.position(first)
    return mended, (Problem("this is not UTF-8 text", at, hint),)
