"""The executor's side of collection: artifacts in, Arrow batches of undecoded records out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.errors import TailpipeError, system_message
from tailpipe.formats.format import LINES, Cut, Format
from tailpipe.formats.lines import rejected
from tailpipe.formats.text import MAX_RECORD_BYTES
from tailpipe.records import UNREAD_POSITION, Failed, Mark, Reading, ReasonCode, closing_rows, record_batch
from tailpipe.sources.artifact import Artifact, Source
from tailpipe.sources.content import Content, open_content
from tailpipe.sources.entries import Unread

BATCH_BYTES = 2 * 1024 * 1024
BATCH_ROWS = 16 * 1024


def read_artifacts(
    source: Source, format: Format, artifacts: Iterable[tuple[int, Artifact]]
) -> Iterator[pa.RecordBatch]:
    """Batches of records; those of each artifact are followed by its closing row.

    Where one could not be read to its end, the artifacts after it are read all the same.
    """
    parts = (part for number, artifact in artifacts for part in _parts(source, format, number, artifact))
    return (batch for joined in _joined(parts) for batch in _cut_up(_settled(format, joined)))


def _parts(source: Source, format: Format, number: int, artifact: Artifact) -> Iterator[pa.RecordBatch]:
    rows, last_position, count = 0, 0, _ByteCount()
    try:
        with source.open(artifact) as stream:
            content = open_content(stream, artifact, format.is_whole)
            for item in content.entries():
                if isinstance(item, Unread):
                    rows += 1
                    cut = rejected(item.head, UNREAD_POSITION, item.reason, ReasonCode.NOT_READ)
                    yield _records(number, item.entry, cut)
                    continue
                entry, chunks = item
                for cut in format.cut(count.over(chunks)):
                    rows += len(cut.raw)
                    cut = _placed(cut, content.start.position)
                    last_position = cut.position[-1].as_py() if len(cut.position) else last_position
                    yield _records(number, entry, cut)
    # Whatever breaks one artifact must not stop the others: the driver fails its unit by the closing row.
    except Exception as error:
        yield closing_rows({number: Failed(_sentence(error))})
        return
    end = _end_mark(content, format.framing, last_position)
    size_bytes = count.total if content.plain.archive else end.offset - content.start.offset
    reading = Reading(rows, size_bytes, end, content.waiting_bytes, content.is_restarted)
    yield closing_rows({number: reading})


def _end_mark(content: Content, framing: str, last_position: int) -> Mark:
    """A last line without its end counts as open where it gave one record, which can be replaced."""
    end = content.watch.mark()
    if end.offset == content.start.offset:
        return end
    is_a_record = framing == LINES and last_position == end.position and not content.plain.archive
    if is_a_record and end.open_bytes <= MAX_RECORD_BYTES:
        return end
    return msgspec.structs.replace(end, open_bytes=0)


def _placed(cut: Cut, last_position: int) -> Cut:
    return replace(cut, position=pc.add(cut.position, last_position)) if last_position else cut


@dataclass
class _ByteCount:
    total: int = 0

    def over(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.total += len(chunk)
            yield chunk


def _sentence(error: Exception) -> str:
    if isinstance(error, TailpipeError):
        return error.message
    return system_message(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"


def _records(number: int, entry: str | None, cut: Cut) -> pa.RecordBatch:
    place = {"artifact": pa.repeat(pa.scalar(number, pa.int32()), len(cut.raw))}
    if entry is not None:
        place["entry"] = pa.repeat(entry, len(cut.raw))
    return record_batch(vars(cut) | place)


def _joined(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small parts share a batch: the engine pays per batch, and a task may hold thousands of tiny files."""
    waiting: list[pa.RecordBatch] = []
    rows = size_bytes = 0
    for part in parts:
        part_bytes = part.column("raw").nbytes
        if waiting and (size_bytes + part_bytes > BATCH_BYTES or rows >= BATCH_ROWS):
            yield pa.concat_batches(waiting)
            waiting, rows, size_bytes = [], 0, 0
        waiting.append(part)
        rows += part.num_rows
        size_bytes += part_bytes
    if waiting:
        yield pa.concat_batches(waiting)


def _settled(format: Format, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Records that break it cost their own artifact alone, of which no other row is of use then."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    place = {name: columns.pop(name) for name in ("artifact", "entry")}
    cut = Cut(**columns)
    try:
        settled = format.settled(cut)
    except Exception as error:
        numbers = pc.unique(place["artifact"]).to_pylist()
        if len(numbers) == 1:
            return closing_rows({numbers[0]: Failed(_sentence(error))})
        parts = [batch.filter(pc.equal(place["artifact"], number)) for number in numbers]
        return pa.concat_batches([_settled(format, part) for part in parts])
    return batch if settled is cut else record_batch(vars(settled) | place)


def _cut_up(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(start, BATCH_ROWS)
