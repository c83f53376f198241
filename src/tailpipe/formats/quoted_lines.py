"""Lines of delimited text, joined where a quoted value runs over the end of its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tailpipe.arrow import np, pa
from tailpipe.formats.format import Cut
from tailpipe.formats.lines import split_lines, too_long
from tailpipe.formats.text import MAX_RECORD_BYTES, LongLine, line_blocks, utf8_chunks, valid_utf8


def cut_quoted_lines(chunks: Iterator[bytes], quote: str, delimiter: str) -> Iterator[Cut]:
    """Empty lines are left out; `position` is the line a record starts on."""
    joiner = _Joiner(quote, delimiter)
    for block in line_blocks(utf8_chunks(chunks)):
        if isinstance(block, LongLine):
            yield from joiner.give_up()
            yield too_long("line", block.head, block.size_bytes, joiner.line)
            joiner.line += 1
            continue
        text = valid_utf8(block)
        if joiner.waiting or _has_odd_line(text, quote):
            yield from joiner.join(text.decode()[:-1].split("\n"))
        else:
            cut, count = split_lines(text, joiner.line)
            joiner.line += count
            if len(cut.raw):
                yield cut
    yield from joiner.give_up()


def _has_odd_line(block: bytes, quote: str) -> bool:
    """Whether some line holds an odd number of quotes: only then a value may run over its end."""
    if not quote or quote.encode() not in block:
        return False
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    counts = np.searchsorted(np.flatnonzero(data == ord(quote)), ends)
    return bool((np.diff(counts, prepend=0) & 1).any())


def ends_open(line: str, quote: str, delimiter: str, starts_open: bool = False) -> bool:
    """Whether a quote that starts a value is not closed; quotes inside a bare value mean nothing."""
    at = 0
    while True:
        if starts_open or line.startswith(quote, at):
            at = _after_closing(line, quote, at if starts_open else at + 1)
            if at < 0:
                return True
            starts_open = False
        at = line.find(delimiter, at)
        if at < 0:
            return False
        at += len(delimiter)


def _after_closing(line: str, quote: str, at: int) -> int:
    """The offset after the quote that closes a value; -1 where there is none."""
    while True:
        at = line.find(quote, at) + 1
        if at == 0:
            return -1
        if not line.startswith(quote, at):
            return at
        at += 1


@dataclass
class _Joiner:
    """`waiting` are the lines of a record whose quote is still open, `line` is the number of the next line."""

    quote: str
    delimiter: str
    line: int = 1
    waiting: list[str] = field(default_factory=list)
    waiting_size: int = 0

    def join(self, lines: list[str]) -> Iterator[Cut]:
        records: list[tuple[str, int]] = []
        for line in lines:
            is_open = self._is_open_after(line)
            self.waiting.append(line)
            self.waiting_size += len(line)
            self.line += 1
            if is_open and self.waiting_size > MAX_RECORD_BYTES:
                yield from _cut(records)
                records = []
                yield from self.give_up()
            elif not is_open:
                records.append(("\n".join(self.waiting).removesuffix("\r"), self.line - len(self.waiting)))
                self.waiting, self.waiting_size = [], 0
        yield from _cut(records)

    def _is_open_after(self, line: str) -> bool:
        return ends_open(line, self.quote, self.delimiter, starts_open=bool(self.waiting))

    def give_up(self) -> Iterator[Cut]:
        """A quote that nothing closes: the lines after it are records of their own."""
        first = self.line - len(self.waiting)
        lines, self.waiting, self.waiting_size = self.waiting, [], 0
        yield from _cut([(line.removesuffix("\r"), first + offset) for offset, line in enumerate(lines)])


def _cut(records: list[tuple[str, int]]) -> Iterator[Cut]:
    full = [(text, position) for text, position in records if text]
    if full:
        yield Cut(
            pa.array([text for text, _ in full], pa.string()),
            pa.array([position for _, position in full], pa.int64()),
            pa.nulls(len(full), pa.string()),
        )
