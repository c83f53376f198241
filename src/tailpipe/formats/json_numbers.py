"""Numbers that an engine would spell anew, found without looking at records one by one.

Engines parse a number and write it again: one through doubles, the other through Java's. Integers up to 19 digits, and
decimals between 0.001 and 10 million whose digits a double holds, come back as they were. All others do not. One of
them refuses nesting beyond 128 levels, which the same scan finds by its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

_KEPT = re.compile(
    rb"-?(?:0|[1-9][0-9]{0,17}|(?:0|[1-9])[.](?:0|[0-9]{0,13}[1-9])|[1-9][0-9]{1,6}[.](?:0|[0-9]{0,7}[1-9]))"
    rb"|[1-9][0-9]{18}"
)
_TOO_SMALL = re.compile(rb"-?0[.]000|-0$")
_LONGEST_KEPT = 24
_USUAL_DIGITS = 18
_CHUNK_BYTES = 256 * 1024
_EIGHT_FLAGS = np.uint64(0x0101010101010101)
# What numbers are made of; a bit more for what usual ones, whole and positive, do not have.
_PART, _MARK = 1, 2
_KINDS = np.zeros(256, np.uint8)
_KINDS[list(b"0123456789")] = _PART
_KINDS[list(b"+-.eE")] = _PART | _MARK
_BEFORE_NUMBERS = np.zeros(256, dtype=bool)
_BEFORE_NUMBERS[list(b":,[ \t\r\n")] = True

Flags = np.ndarray[Any, np.dtype[np.bool_]]
Places = np.ndarray[Any, np.dtype[np.int64]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def is_kept(number: bytes) -> bool:
    """Whether both engines give the number back letter by letter."""
    return _KEPT.fullmatch(number) is not None and _TOO_SMALL.match(number) is None


def is_respelled(raw: pa.Array) -> Flags:
    """Of JSON objects: whether a number in them may not be kept, or their nesting ends with a long row of brackets.

    Digits in strings may look like a number.
    """
    data, starts = record_bytes(raw)
    odd = [place for start, ends, rows in _chunks(data) for place in (*rows, *_odd_ends(data, start, ends))]
    return records_at(odd, starts)


def record_bytes(raw: pa.Array) -> tuple[Bytes, Places]:
    """All records, one after the other, without a copy; where each begins in them, and where the last one ends."""
    offsets = np.frombuffer(raw.buffers()[1], np.int32)[raw.offset : raw.offset + len(raw) + 1]
    data = np.frombuffer(raw.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    return data, offsets - offsets[0]


def records_at(places: Sequence[int], starts: Places) -> Flags:
    """Which records hold one of the places."""
    found = np.zeros(len(starts) - 1, dtype=bool)
    if places:
        found[np.searchsorted(starts, places, side="right") - 1] = True
    return found


def _chunks(data: Bytes) -> Iterator[tuple[int, Places, list[int]]]:
    """Where a digit stands before a comma or a closing bracket, or before a space and one of the three.

    A string ends with a quote, and words in one are seldom followed by two spaces. Then places inside rows of
    brackets, of which some are as short as eight. Chunk by chunk, so that what is computed on the way stays in the
    processor's cache.
    """
    size = min(_CHUNK_BYTES, len(data)) + 1
    shifted, is_end, is_close, is_space = (np.empty(size, kind) for kind in (np.uint8, bool, bool, bool))
    for start in range(0, len(data) - 1, _CHUNK_BYTES):
        after = data[start + 1 : start + 2 + _CHUNK_BYTES]
        count = len(after)
        number, end, close, space = (array[:count] for array in (shifted, is_end, is_close, is_space))
        # ] and } differ in this bit only.
        np.equal(np.bitwise_or(after, 0x20, out=number), ord("}"), out=close)
        eights = close[: count - count % 8].view(np.uint64) == _EIGHT_FLAGS
        close |= np.equal(after, ord(","), out=end)
        np.less_equal(after, ord(" "), out=space)
        np.logical_or(close, space, out=end)
        space[:-1] &= end[1:]
        close |= space
        np.less(np.subtract(data[start : start + count], ord("0"), out=number), 10, out=end)
        end &= close
        yield start, np.flatnonzero(end[:_CHUNK_BYTES]), (start + 8 * np.flatnonzero(eights)).tolist()


def _odd_ends(data: Bytes, start: int, ends: Places) -> Iterator[int]:
    """Goes back from the last digits to where the numbers begin, with all of them at once."""
    if not len(ends):
        return
    at, kinds, open_ = ends + start, np.zeros(len(ends), np.uint8), np.arange(len(ends))
    first = at.copy()
    for _ in range(_LONGEST_KEPT):
        here = _KINDS[data[first[open_] - 1]]
        open_ = open_[here != 0]
        if not len(open_):
            break
        kinds[open_] |= here[here != 0]
        first[open_] -= 1
    is_number = _BEFORE_NUMBERS[data[first - 1]]
    is_number[open_] = True
    is_usual = ((kinds & _MARK) == 0) & (at - first < _USUAL_DIGITS)
    for k in np.flatnonzero(is_number & ~is_usual).tolist():
        if not is_kept(data[first[k] : at[k] + 1].tobytes()):
            yield start + int(ends[k])
