"""Text cut into lines, one record each: the reader's side of every line-based format."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.formats.format import Cut
from tailpipe.formats.text import KEPT_BYTES, MAX_RECORD_BYTES, LongLine, line_blocks, utf8_chunks, valid_utf8

# Fields of a matched line are told apart by this character, so no line may hold it.
SEPARATOR = "\x01"
SEPARATOR_REASON = "line holds the control character 0x01"

# The text kept of these records does not show what is wrong with them: it is only their beginning, a document in which
# no record was found, a line without its header, bytes of another kind, or it looks like a record that `cut` split into
# values itself.
_FINAL_REASONS = (
    r"(?s)^(?:(?:line|record) is [0-9,]+ bytes, the limit is [0-9,]+"
    r"|document has no list at .*|document cannot be read: .*"
    r"|line has [0-9]+ values, the header has [0-9]+"
    r"|the header of its file names none of the fields .*"
    r"|[0-9,]+ more rejects of this artifact were only counted; .*"
    r"|[0-9,]+ bytes behind the end of .* were not read"
    rf"|{SEPARATOR_REASON})$"
)


def cut_lines(chunks: Iterator[bytes]) -> Iterator[Cut]:
    """Lines without their LF or CRLF. Empty lines are left out but counted in `position`."""
    position = 1
    for block in line_blocks(utf8_chunks(chunks)):
        if isinstance(block, LongLine):
            yield refused(valid_utf8(block.head), position, size_reason("line", block.size_bytes))
            position += 1
            continue
        lines, count = split_lines(valid_utf8(block), position)
        position += count
        if len(lines.raw):
            yield lines


def cut_text(chunks: Iterator[bytes]) -> Iterator[Cut]:
    """Lines for the regex pass: those that hold the field separator are refused."""
    for lines in cut_lines(chunks):
        yield refuse_separators(lines)


def size_reason(what: str, size_bytes: int, limit_bytes: int = MAX_RECORD_BYTES) -> str:
    return f"{what} is {size_bytes:,} bytes, the limit is {limit_bytes:,}"


def unread_reason(size_bytes: int, where: str) -> str:
    return f"{size_bytes:,} bytes {where} are of another kind and were not read"


def is_cut_off(reasons: pa.Array) -> pa.Array:
    """Whether records must stay refused: what is kept of them is not enough to judge it anew."""
    return pc.fill_null(pc.match_substring_regex(reasons, _FINAL_REASONS), False)


def refuse_longer(lines: Cut, limit_bytes: int) -> Cut:
    """Lines over the limit are refused, and only their beginning is kept."""
    if lines.raw.nbytes <= limit_bytes:
        return lines
    sizes = pc.binary_length(lines.raw).to_pylist()
    if max(sizes) <= limit_bytes:
        return lines
    kept = [
        text if size <= limit_bytes else valid_utf8(text.encode()[:KEPT_BYTES]).decode()
        for text, size in zip(lines.raw.to_pylist(), sizes, strict=True)
    ]
    reasons = [
        size_reason("line", size, limit_bytes) if size > limit_bytes else reason
        for reason, size in zip(lines.reason.to_pylist(), sizes, strict=True)
    ]
    return Cut(pa.array(kept, pa.string()), lines.position, pa.array(reasons, pa.string()))


def refused(raw: bytes, position: int, reason: str) -> Cut:
    """One record that is refused as it stands; `raw` must be valid UTF-8."""
    return Cut(
        raw=pa.array([raw.decode()], pa.string()),
        position=pa.array([position], pa.int64()),
        reason=pa.array([reason], pa.string()),
    )


def strings(data: bytes, offsets: np.ndarray[tuple[int], np.dtype[np.int32]]) -> pa.Array:
    """An Arrow string array over `data` without copying it; `data` must be valid UTF-8."""
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))


def split_lines(block: bytes, first_position: int) -> tuple[Cut, int]:
    """The lines of a block that ends with LF, and how many there were with the empty ones."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    count = len(ends)
    offsets = np.zeros(count + 1, np.int32)
    offsets[1:] = ends - np.arange(count)
    positions = np.arange(first_position, first_position + count, dtype=np.int64)
    is_full = offsets[1:] > offsets[:-1]
    if not is_full.all():
        offsets = np.concatenate([offsets[:1], offsets[1:][is_full]])
        positions = positions[is_full]
    raw = strings(block.replace(b"\n", b""), offsets)
    return Cut(raw, pa.array(positions), pa.nulls(len(raw), pa.string())), count


def refuse_separators(lines: Cut) -> Cut:
    data = lines.raw.buffers()[2]
    if data is None or not (np.frombuffer(data, np.uint8) == ord(SEPARATOR)).any():
        return lines
    return Cut(lines.raw, lines.position, pc.coalesce(lines.reason, separator_refusals(lines.raw)))


def separator_refusals(raw: pa.Array) -> pa.Array:
    return pc.if_else(pc.match_substring(raw, SEPARATOR), SEPARATOR_REASON, pa.scalar(None, pa.string()))
