"""Characters beyond the first 65,536, such as emoji, found without looking at records one by one.

One engine writes them as a pair of escapes when it writes a part of a record again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tailpipe.formats.json_numbers import Bytes, Flags, record_bytes, records_at

_CHUNK_BYTES = 256 * 1024
# The first byte of such a character in UTF-8, and how both halves of its escape begin.
_FIRST_BYTE = 0xF0
_BACKSLASH, _U, _D = b"\\ud"


def has_pairs(raw: pa.Array) -> Flags:
    """Of JSON objects: whether such a character stands in them, as it is or as escapes."""
    data, starts = record_bytes(raw)
    return records_at(list(_places(data)), starts)


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
