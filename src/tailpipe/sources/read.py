"""The executor's side of collection: artifacts in, Arrow batches of undecoded records out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.errors import TailpipeError, system_message
from tailpipe.formats.format import LINES, Cut, Format
from tailpipe.formats.lines import rejected
from tailpipe.formats.text import MAX_RECORD_BYTES
from tailpipe.records import (
    CLOSING_POSITION,
    UNREAD_POSITION,
    Closing,
    Failed,
    Mark,
    Reading,
    ReasonCode,
    encode_closing,
    record_batch,
)
from tailpipe.sources.artifact import Artifact, Source
from tailpipe.sources.content import Content, open_content
from tailpipe.sources.entries import Unread

BATCH_BYTES = 2 * 1024 * 1024
BATCH_ROWS = 16 * 1024


@dataclass(frozen=True)
class Piece:
    """Records of one entry of one artifact."""

    artifact: int
    entry: str | None
    cut: Cut


def read_artifacts(
    source: Source, format: Format, artifacts: Iterable[tuple[int, Artifact]]
) -> Iterator[pa.RecordBatch]:
    """Batches of records; those of each artifact are followed by its closing row.

    Where one could not be read to its end, the artifacts after it are read all the same.
    """
    return _batches(
        piece for number, artifact in artifacts for piece in _pieces(source, format, number, artifact)
    )


def _pieces(source: Source, format: Format, number: int, artifact: Artifact) -> Iterator[Piece]:
    rows, last_position, count = 0, 0, _ByteCount()
    try:
        with source.open(artifact) as stream:
            content = open_content(stream, artifact, format.is_whole)
            for item in content.entries():
                if isinstance(item, Unread):
                    rows += 1
                    cut = rejected(item.head, UNREAD_POSITION, item.reason, ReasonCode.NOT_READ)
                    yield Piece(number, item.entry, cut)
                    continue
                entry, chunks = item
                for cut in format.cut(count.over(chunks)):
                    rows += len(cut.raw)
                    cut = _placed(cut, content.start.position)
                    last_position = cut.position[-1].as_py() if len(cut.position) else last_position
                    yield Piece(number, entry, cut)
    # Whatever breaks one artifact must not stop the others: the driver fails its unit by the closing row.
    except Exception as error:
        yield _closing(number, Failed(_sentence(artifact, error)))
        return
    end = _end_mark(content, format.framing, last_position)
    size_bytes = count.total if content.plain.archive else end.offset - content.start.offset
    yield _closing(number, Reading(rows, size_bytes, end, content.waiting_bytes, content.is_restarted))


def _end_mark(content: Content, framing: str, last_position: int) -> Mark:
    """A last line without its end counts as open where it gave one record, which can be replaced."""
    end = content.watch.mark()
    if end.offset == content.start.offset:
        return end
    is_a_record = framing == LINES and last_position == end.position and not content.plain.archive
    return (
        end
        if is_a_record and end.open_bytes <= MAX_RECORD_BYTES
        else msgspec.structs.replace(end, open_bytes=0)
    )


def _placed(cut: Cut, last_position: int) -> Cut:
    return replace(cut, position=pc.add(cut.position, last_position)) if last_position else cut


@dataclass
class _ByteCount:
    total: int = 0

    def over(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.total += len(chunk)
            yield chunk


def _sentence(artifact: Artifact, error: Exception) -> str:
    if isinstance(error, TailpipeError):
        text = error.message
    elif isinstance(error, OSError):
        text = system_message(error)
    else:
        text = f"{type(error).__name__}: {error}"
    return text if artifact.location in text else f"{artifact.location}: {text}"


def _closing(number: int, closing: Closing) -> Piece:
    cut = Cut(
        raw=pa.array([encode_closing(closing)], pa.string()),
        position=pa.array([CLOSING_POSITION], pa.int64()),
        reason=pa.nulls(1, pa.string()),
    )
    return Piece(number, None, cut)


def _batches(pieces: Iterator[Piece]) -> Iterator[pa.RecordBatch]:
    """Small pieces share a batch: the engine pays per batch, and a task may hold thousands of tiny files."""
    held: list[Piece] = []
    held_rows = held_bytes = 0
    for piece in pieces:
        size_bytes = piece.cut.raw.nbytes
        if held and (held_bytes + size_bytes > BATCH_BYTES or held_rows >= BATCH_ROWS):
            yield from _emit(held)
            held, held_rows, held_bytes = [], 0, 0
        held.append(piece)
        held_rows += len(piece.cut.raw)
        held_bytes += size_bytes
    if held:
        yield from _emit(held)


def _emit(pieces: list[Piece]) -> Iterator[pa.RecordBatch]:
    batch = _batch(pieces)
    for start in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(start, BATCH_ROWS)


def _batch(pieces: list[Piece]) -> pa.RecordBatch:
    counts = [len(piece.cut.raw) for piece in pieces]
    numbers = np.repeat(np.array([piece.artifact for piece in pieces], np.int32), counts)
    return record_batch(
        {
            "raw": pa.concat_arrays([piece.cut.raw for piece in pieces]),
            "artifact": pa.array(numbers),
            "entry": _entries(pieces, counts),
            "position": pa.concat_arrays([piece.cut.position for piece in pieces]),
            "reason": pa.concat_arrays([piece.cut.reason for piece in pieces]),
            "code": _texts([piece.cut.code for piece in pieces], counts),
            "original": _texts([piece.cut.original for piece in pieces], counts),
            "extra": _texts([piece.cut.extra for piece in pieces], counts),
        }
    )


def _texts(parts: Sequence[pa.Array | None], counts: list[int]) -> pa.Array | None:
    if all(part is None for part in parts):
        return None
    return pa.concat_arrays(
        [
            pa.nulls(count, pa.string()) if part is None else part
            for part, count in zip(parts, counts, strict=True)
        ]
    )


def _entries(pieces: list[Piece], counts: list[int]) -> pa.Array | None:
    if all(piece.entry is None for piece in pieces):
        return None
    return pa.concat_arrays(
        [
            pa.repeat(pa.scalar(piece.entry, pa.string()), count)
            for piece, count in zip(pieces, counts, strict=True)
        ]
    )
