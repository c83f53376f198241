"""Where frames of zstd end, told without decompressing them: what follows the last one may be something else.

The format: RFC 8878, section 3.1.
"""

from __future__ import annotations

from collections.abc import Iterator

FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
# The first byte of the magic of a frame to skip is 0x50 to 0x5f: pzstd writes one before each frame.
_SKIPPED_MAGIC_END = b"\x2a\x4d\x18"

_DICTIONARY_BYTES = (0, 1, 2, 4)
_SIZE_BYTES = (0, 2, 4, 8)
_RLE_BLOCK = 1
_PIECE_BYTES = 64 * 1024


def starts_frame(data: bytes) -> bool:
    """Whether the bytes begin a frame, or may be the beginning of one that is cut off."""
    if len(data) < 4:
        return FRAME_MAGIC.startswith(data) or (
            _is_skipped_first(data) and _SKIPPED_MAGIC_END.startswith(data[1:])
        )
    return data.startswith(FRAME_MAGIC) or is_skipped(data)


def is_skipped(data: bytes) -> bool:
    return _is_skipped_first(data) and data[1:4] == _SKIPPED_MAGIC_END


def _is_skipped_first(data: bytes) -> bool:
    return data[:1] != b"" and data[0] & 0xF0 == 0x50


class FrameCutter:
    """Hands frames on as they are stored, up to what is no frame; `rest` then begins with that.

    Cut off or broken frames are handed on too: it is for the decoder to say what is wrong with them.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._held = b""
        self._at = 0

    def frames(self) -> Iterator[bytes]:
        while self._skip_zeros() and starts_frame(self._peek(4)):
            yield from self._skipped_frame() if is_skipped(self._peek(4)) else self._frame()

    @property
    def rest(self) -> Iterator[bytes]:
        if len(self._held) > self._at:
            yield self._held[self._at :]
        yield from self._chunks

    def _frame(self) -> Iterator[bytes]:
        descriptor = self._peek(5)[4:]
        yield self._take(5 + _header_bytes(descriptor[0])) if descriptor else self._take(4)
        is_last = not descriptor
        while not is_last:
            header = self._take(3)
            yield header
            number = int.from_bytes(header, "little")
            is_last = number & 1 == 1 or len(header) < 3
            yield from self._pieces(1 if number >> 1 & 3 == _RLE_BLOCK else number >> 3)
        if descriptor and descriptor[0] >> 2 & 1:
            yield self._take(4)

    def _skipped_frame(self) -> Iterator[bytes]:
        header = self._take(8)
        yield header
        yield from self._pieces(int.from_bytes(header[4:], "little"))

    def _pieces(self, size_bytes: int) -> Iterator[bytes]:
        while size_bytes > 0 and (piece := self._take(min(size_bytes, _PIECE_BYTES))):
            yield piece
            size_bytes -= len(piece)

    def _skip_zeros(self) -> bool:
        """Whether anything is left behind them."""
        while not (held := self._held[self._at :].lstrip(b"\x00")):
            chunk = next(self._chunks, None)
            self._held, self._at = chunk or b"", 0
            if chunk is None:
                return False
        self._held, self._at = held, 0
        return True

    def _peek(self, count: int) -> bytes:
        while len(self._held) - self._at < count and (chunk := next(self._chunks, None)) is not None:
            self._held, self._at = self._held[self._at :] + chunk, 0
        return self._held[self._at : self._at + count]

    def _take(self, count: int) -> bytes:
        taken = self._peek(count)
        self._at += len(taken)
        return taken


def _header_bytes(descriptor: int) -> int:
    """Bytes of a frame's header after its descriptor."""
    is_single_segment = descriptor >> 5 & 1
    size_flag = descriptor >> 6
    size_bytes = _SIZE_BYTES[size_flag] or is_single_segment
    return (1 - is_single_segment) + _DICTIONARY_BYTES[descriptor & 3] + size_bytes
