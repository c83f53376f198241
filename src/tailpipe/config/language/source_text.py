"""The text of one configuration file, and the place of every byte in it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from tailpipe.errors import Position, Problem

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class SourceText:
    """`data` is UTF-8 with plain newlines and no byte order mark; `line_starts` are offsets into it."""

    name: str
    data: bytes
    line_starts: tuple[int, ...]

    def position(self, offset: int) -> Position:
        line = bisect_right(self.line_starts, offset)
        start = self.line_starts[line - 1]
        return Position(self.name, line, len(self.data[start:offset].decode(errors="replace")) + 1)

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
    return SourceText(name, data, tuple(starts))


def read_source(path: Path) -> SourceText | Problem:
    name = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        return Problem(f"cannot read the file: {error.strerror}", Position(name, 1, 1))
    source = source_text(name, data)
    try:
        source.data.decode()
    except UnicodeDecodeError as error:
        where = source.position(error.start)
        return Problem("the file is not UTF-8 text from here on", where, "save the file as UTF-8")
    return source
