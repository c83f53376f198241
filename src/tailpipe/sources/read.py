"""The executor's side of collection: artifacts in, Arrow batches of undecoded records out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.errors import TailpipeError, system_message
from tailpipe.formats.format import DOCUMENT, LINES, Cut, Format, is_whole_line
from tailpipe.formats.lines import refused
from tailpipe.formats.text import MAX_RECORD_BYTES, valid_utf8
from tailpipe.sources.artifact import Artifact, Mark, Source
from tailpipe.sources.content import Content, open_content
from tailpipe.sources.entries import Unread

BATCH_BYTES = 2 * 1024 * 1024
BATCH_ROWS = 16 * 1024

# Of a reject that is no record of the file; those count from 1.
UNREAD_POSITION = 0
DONE_POSITION = -1
ERROR_POSITION = -2

RECORDS_SCHEMA = pa.schema(
    [
        ("raw", pa.string()),
        ("artifact", pa.int32()),
        ("entry", pa.string()),
        ("position", pa.int64()),
        ("reason", pa.string()),
        ("original", pa.string()),
        ("extra", pa.string()),
    ]
)


@dataclass(frozen=True)
class Piece:
    """Records of one entry of one artifact."""

    artifact: int
    entry: str | None
    cut: Cut


def read_artifacts(
    source: Source, format: Format, artifacts: Iterable[tuple[int, Artifact]]
) -> Iterator[pa.RecordBatch]:
    """Batches of RECORDS_SCHEMA. Each artifact's records are followed by one trailer row.

    The trailer's position is -1 and its raw a JSON object when the artifact was read to its end: `rows` and `bytes`
    (decompressed) of this reading, the fields of the mark to read on from, `held_bytes` that wait for their line end,
    and `restarted`: whether the line before the artifact's start went on, so that it was read once more. It is -2
    and `{"error": …}` when it was not; the artifacts after it are read all the same.
    """
    return _batches(
        piece for number, artifact in artifacts for piece in _pieces(source, format, number, artifact)
    )


def _pieces(source: Source, format: Format, number: int, artifact: Artifact) -> Iterator[Piece]:
    rows, last_position, count = 0, 0, _ByteCount()
    try:
        with source.open(artifact) as stream:
            content = open_content(stream, artifact, partial(is_whole_line, format))
            for item in content.entries():
                if isinstance(item, Unread):
                    rows += 1
                    yield Piece(
                        number, item.entry, refused(valid_utf8(item.head), UNREAD_POSITION, item.reason)
                    )
                    continue
                entry, chunks = item
                for cut in format.cut(count.over(chunks)):
                    rows += len(cut.raw)
                    cut = _placed(cut, content.start.position)
                    last_position = cut.position[-1].as_py() if len(cut.position) else last_position
                    yield Piece(number, entry, cut)
    # Whatever breaks one artifact must not stop the others: the driver fails its unit by the trailer.
    except Exception as error:
        yield _trailer(number, ERROR_POSITION, {"error": _sentence(artifact, error)})
        return
    end = _end_mark(content, getattr(format, "shape", DOCUMENT), last_position)
    size_bytes = count.total if content.plain.archive else end.offset - content.start.offset
    facts = {"held_bytes": content.held_bytes, "restarted": content.is_restarted}
    yield _trailer(number, DONE_POSITION, {"rows": rows, "bytes": size_bytes, **vars(end), **facts})


def _end_mark(content: Content, shape: str, last_position: int) -> Mark:
    """A last line without its end counts as open where it gave one record, which can be replaced."""
    end = content.watch.mark()
    if end.offset == content.start.offset:
        return end
    is_a_record = shape == LINES and last_position == end.position and not content.plain.archive
    return end if is_a_record and end.open_bytes <= MAX_RECORD_BYTES else replace(end, open_bytes=0)


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


def _trailer(number: int, position: int, content: dict[str, object]) -> Piece:
    cut = Cut(
        raw=pa.array([json.dumps(content, ensure_ascii=False)], pa.string()),
        position=pa.array([position], pa.int64()),
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
    columns = [
        pa.concat_arrays([piece.cut.raw for piece in pieces]),
        pa.array(numbers),
        _entries(pieces, counts),
        pa.concat_arrays([piece.cut.position for piece in pieces]),
        pa.concat_arrays([piece.cut.reason for piece in pieces]),
        _texts([piece.cut.original for piece in pieces], counts),
        _texts([piece.cut.extra for piece in pieces], counts),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RECORDS_SCHEMA)


def _texts(parts: Sequence[pa.Array | None], counts: list[int]) -> pa.Array:
    if all(part is None for part in parts):
        return pa.nulls(sum(counts), pa.string())
    return pa.concat_arrays(
        [
            pa.nulls(count, pa.string()) if part is None else part
            for part, count in zip(parts, counts, strict=True)
        ]
    )


def _entries(pieces: list[Piece], counts: list[int]) -> pa.Array:
    if all(piece.entry is None for piece in pieces):
        return pa.nulls(sum(counts), pa.string())
    return pa.concat_arrays(
        [
            pa.repeat(pa.scalar(piece.entry, pa.string()), count)
            for piece, count in zip(pieces, counts, strict=True)
        ]
    )
