"""Text cut into lines, one record each: the reader's side of every line-based format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tailpipe.arrow import np, pa, pc
from tailpipe.formats.format import Cut
from tailpipe.formats.text import KEPT_BYTES, MAX_RECORD_BYTES, LongLine, line_blocks, utf8_chunks, valid_utf8
from tailpipe.records import ReasonCode

# Fields of a matched line are told apart by this character, so no line may hold it.
SEPARATOR = "\x01"
SEPARATOR_REASON = "line holds the control character 0x01"


def cut_lines(chunks: Iterator[bytes]) -> Iterator[Cut]:
    """Lines without their LF or CRLF. Empty lines are left out but counted in `position`."""
    position = 1
    for block in line_blocks(utf8_chunks(chunks)):
        if isinstance(block, LongLine):
            yield too_long("line", block.head, block.size_bytes, position)
            position += 1
            continue
        lines, count = split_lines(valid_utf8(block), position)
        position += count
        if len(lines.raw):
            yield lines


def size_reason(what: str, size_bytes: int, limit_bytes: int = MAX_RECORD_BYTES) -> str:
    return f"{what} is {size_bytes:,} bytes, the limit is {limit_bytes:,}"


def reject_longer(lines: Cut, limit_bytes: int) -> Cut:
    """Lines over the limit are rejected, and only their beginning is kept."""
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
    shortened = replace(lines, raw=pa.array(kept, pa.string()))
    return with_reasons(shortened, pa.array(reasons, pa.string()), ReasonCode.TOO_LONG)


def with_reasons(cut: Cut, reasons: pa.Array, code: ReasonCode) -> Cut:
    """The cut with reasons for more of its records; the code is that of records which had none before."""
    before = pa.nulls(len(cut.raw), pa.string()) if cut.code is None else cut.code
    is_new = pc.and_(cut.reason.is_null(), reasons.is_valid())
    return replace(cut, reason=reasons, code=pc.if_else(is_new, code, before))


def too_long(what: str, head: bytes, size_bytes: int, position: int) -> Cut:
    """A record of which only the beginning is kept."""
    return rejected(head, position, size_reason(what, size_bytes), ReasonCode.TOO_LONG)


def rejected(head: bytes, position: int, reason: str, code: ReasonCode) -> Cut:
    """One record that is rejected as it stands."""
    return Cut(
        raw=pa.array([valid_utf8(head).decode()], pa.string()),
        position=pa.array([position], pa.int64()),
        reason=pa.array([reason], pa.string()),
        code=pa.array([code], pa.string()),
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


def reject_separators(lines: Cut, is_exempt: pa.Array | None = None) -> Cut:
    """Rejects lines that hold the separator, but those that are exempt or were rejected before."""
    data = lines.raw.buffers()[2]
    if data is None or not (np.frombuffer(data, np.uint8) == ord(SEPARATOR)).any():
        return lines
    is_rejected = pc.match_substring(lines.raw, SEPARATOR)
    if is_exempt is not None:
        is_rejected = pc.and_not(is_rejected, is_exempt)
    reasons = pc.if_else(is_rejected, SEPARATOR_REASON, pa.scalar(None, pa.string()))
    return with_reasons(lines, pc.coalesce(lines.reason, reasons), ReasonCode.CONTROL_CHARACTER)
