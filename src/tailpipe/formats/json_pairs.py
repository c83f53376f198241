"""Characters beyond the first 65,536, such as emoji, found without looking at records one by one.

One engine writes them as a pair of escapes when it writes a part of a record again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tailpipe.formats.json_numbers import Bytes, Flags

_CHUNK_BYTES = 256 * 1024
# The first byte of such a character in UTF-8, and how both halves of its escape begin.
_FIRST_BYTE = 0xF0
_BACKSLASH, _U, _D = b"\\ud"


def has_pairs(raw: pa.Array) -> Flags:
    """Of JSON objects: whether such a character stands in them, as it is or as escapes."""
    offsets = np.frombuffer(raw.buffers()[1], np.int32)[raw.offset : raw.offset + len(raw) + 1]
    data = np.frombuffer(raw.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    found = np.zeros(len(raw), dtype=bool)
    places = list(_places(data))
    if places:
        found[np.searchsorted(offsets - offsets[0], places, side="right") - 1] = True
    return found


def _places(data: Bytes) -> Iterator[int]:
    for start in range(0, len(data), _CHUNK_BYTES):
        chunk = data[start : start + _CHUNK_BYTES]
        if chunk.max() >= _FIRST_BYTE:
            yield from (start + np.flatnonzero(chunk >= _FIRST_BYTE)).tolist()
        is_escape = chunk == _BACKSLASH
        if is_escape.any():
            at = start + np.flatnonzero(is_escape)
            at = at[at < len(data) - 2]
            yield from at[(data[at + 1] == _U) & (data[at + 2] | 0x20 == _D)].tolist()
