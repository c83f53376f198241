"""Content known again by its first and last bytes, wherever it lies and however it is compressed."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from hashlib import blake2b
from itertools import chain

from tailpipe.arrow import np
from tailpipe.records import Mark

HEAD_BYTES = 4096


def digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def can_read_on(head: bytes) -> bool:
    """False for UTF-16: its byte order stands only at the beginning, and its line ends are not one byte."""
    return not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


class Watch:
    """Sees plain bytes go by, and says at any moment how to know what went by again."""

    def __init__(self) -> None:
        self.offset = 0
        self._line_ends = 0
        self._line_start = 0
        self.head = b""
        self._tail = b""

    def see(self, data: bytes) -> None:
        if len(self.head) < HEAD_BYTES:
            self.head += data[: HEAD_BYTES - len(self.head)]
        self._tail = data[-HEAD_BYTES:] if len(data) >= HEAD_BYTES else (self._tail + data)[-HEAD_BYTES:]
        last_end = data.rfind(b"\n")
        if last_end >= 0:
            self._line_start = self.offset + last_end + 1
        self.offset += len(data)
        # Four times as fast as bytes.count.
        self._line_ends += int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))

    def over(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.see(chunk)
            yield chunk

    def skip(self, chunks: Iterator[bytes], offset: int) -> Iterator[bytes]:
        """Sees chunks up to the offset, or to their end if that comes first; what is left of them."""
        while self.offset < offset:
            chunk = next(chunks, None)
            if chunk is None:
                break
            wanted = offset - self.offset
            self.see(chunk[:wanted])
            if len(chunk) > wanted:
                return chain((chunk[wanted:],), chunks)
        return chunks

    def jump(self, offset: int) -> None:
        """Goes on at the offset, unseen what lies between: right once HEAD_BYTES follow, as they did before."""
        self.offset = offset

    def go_on(self, start: Mark) -> bool:
        """Counts lines from the start's on; False where what was seen is not what the start was made of."""
        seen = self.mark()
        if (seen.offset, seen.head, seen.tail) != (start.offset, start.head, start.tail):
            return False
        self._line_ends = start.position - (not self.is_at_line_end)
        self._line_start = start.offset - start.open_bytes
        return True

    def begin_line(self, lines_before: int) -> None:
        """Counts lines from here on, where one begins."""
        self._line_ends, self._line_start = lines_before, self.offset

    @property
    def last_byte(self) -> bytes:
        return self._tail[-1:]

    @property
    def is_at_line_end(self) -> bool:
        return self.last_byte in (b"", b"\n")

    def mark(self) -> Mark:
        position = self._line_ends + (not self.is_at_line_end)
        head = digest(self.head)
        tail = head if self._tail == self.head else digest(self._tail)
        return Mark(self.offset, position, head, tail, self.offset - self._line_start)
