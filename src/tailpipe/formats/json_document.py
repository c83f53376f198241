"""Format `json`: whole documents that wrap records, or are one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import msgspec

from tailpipe.arrow import np, pa
from tailpipe.config.schema import Argument, BlockSchema
from tailpipe.config.values import FormatConfig
from tailpipe.errors import ArtifactError
from tailpipe.formats.arguments import DESCRIPTION, FIELD_MAP, argument_error, field_map
from tailpipe.formats.format import Cut
from tailpipe.formats.json_fields import json_field_names
from tailpipe.formats.json_text import decoding_reason, lone_surrogates, surrogate_reason, with_stand_ins
from tailpipe.formats.jsonl import NOT_AN_OBJECT, JsonFormat, JsonLines, why_not_an_object
from tailpipe.formats.lines import rejected, strings, too_long
from tailpipe.formats.text import KEPT_BYTES, MAX_RECORD_BYTES, utf8_chunks, valid_utf8
from tailpipe.records import ReasonCode

MAX_DOCUMENT_BYTES = 512 * 1024 * 1024
_BATCH_BYTES = 2 * 1024 * 1024
_LONGEST_GAP = 1024

SCHEMA = BlockSchema(
    (
        Argument("records", description="Dotted path to the list of records in each document: `Records`."),
        FIELD_MAP,
        DESCRIPTION,
    ),
    "JSON documents: a list of objects, one object, or a list at a path inside an object.",
)


@dataclass(frozen=True)
class JsonDocument(JsonFormat):
    """Without `records`, a list gives its members and an object is one record. A file may hold several."""

    records: str | None = None
    type: str = "json"
    mismatch_reason: str = "record is not a JSON object that can be read"

    def cut(self, chunks: Iterator[bytes]) -> Iterator[Cut]:
        document = valid_utf8(_whole(chunks))
        try:
            return _batches(self._records(document))
        except (msgspec.DecodeError, RecursionError) as error:
            return self._rejected(document, error)

    def _records(self, document: bytes) -> list[msgspec.Raw]:
        return _records_at(document, self.records) if self.records else _members(document)

    def field_names(self, sample: bytes) -> tuple[str, ...]:
        text = valid_utf8(_whole(iter([sample]))).decode()
        return json_field_names(_whole_records(text, self.records), self.field_map)

    def _rejected(self, document: bytes, error: Exception) -> Iterator[Cut]:
        """Objects on lines of their own are saved one by one; anything else is lost to one reject."""
        if self.records is None and _starts_with_object_line(document):
            yield from JsonLines().cut(iter([document]))
            return
        places = lone_surrogates(document)
        if places:
            readable, stand_in = with_stand_ins(document, places)
            try:
                cuts = _batches(self._records(readable))
            except (msgspec.DecodeError, RecursionError) as other:
                error = other
            else:
                halves = (document[start:end] for start, end in places)
                yield from (_with_halves(cut, halves, stand_in) for cut in cuts)
                return
        if isinstance(error, msgspec.ValidationError):
            reason = f"document has no list at {self.records}"
        else:
            reason = f"document cannot be read: {decoding_reason(error)}"
        yield rejected(document[:KEPT_BYTES], 1, reason, ReasonCode.NO_RECORDS)


def make(config: FormatConfig) -> JsonDocument:
    records = config.arguments.get("records")
    if records is not None and not all(records.split(".")):
        raise argument_error(
            config, "records", f'records "{records}" is not a dotted path', 'write it as "Records" or "a.b"'
        )
    return JsonDocument(records=records, field_map=field_map(config))


def _whole(chunks: Iterator[bytes]) -> bytes:
    parts: list[bytes] = []
    size_bytes = 0
    for chunk in utf8_chunks(chunks):
        size_bytes += len(chunk)
        if size_bytes > MAX_DOCUMENT_BYTES:
            raise ArtifactError(
                f"JSON document is over {MAX_DOCUMENT_BYTES:,} bytes",
                "one object per line has no such limit: use format jsonl if the file is written that way",
            )
        parts.append(chunk)
    return b"".join(parts)


@cache
def _wrapper_decoder(path: str) -> msgspec.json.Decoder[Any]:
    type_: Any = list[msgspec.Raw]
    for name in reversed(path.split(".")):
        type_ = msgspec.defstruct("Wrapper", [("inner", type_)], rename={"inner": name})
    return msgspec.json.Decoder(type_)


def _records_at(document: bytes, path: str) -> list[msgspec.Raw]:
    """Records of all documents in the buffer, still undecoded; views into the buffer."""
    found: list[msgspec.Raw] = []
    for wrapper in _wrapper_decoder(path).decode_lines(document):
        inner: Any = wrapper
        while not isinstance(inner, list):
            inner = inner.inner
        found.extend(inner)
    return found


def _members(document: bytes) -> list[msgspec.Raw]:
    if document.lstrip()[:1] == b"[":
        try:
            return msgspec.json.decode(document, type=list[msgspec.Raw])
        except msgspec.DecodeError:
            pass  # several lists, one after the other
    found: list[msgspec.Raw] = []
    for value in msgspec.json.Decoder(msgspec.Raw).decode_lines(document):
        if memoryview(value)[0] == ord("["):
            found.extend(msgspec.json.decode(value, type=list[msgspec.Raw]))
        else:
            found.append(value)
    return found


def _whole_records(text: str, path: str | None) -> Iterator[str]:
    """Objects at the start of documents, up to the first that the end of the sample cuts off."""
    decoder = json.JSONDecoder()
    at = _list_start(text, path) if path else 0
    while True:
        at += len(text[at : at + _LONGEST_GAP]) - len(text[at : at + _LONGEST_GAP].lstrip("[], \t\r\n"))
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            yield text[at:end]
        at = end


def _list_start(text: str, path: str) -> int:
    at = 0
    for name in path.split("."):
        at = max(at, text.find(json.dumps(name), at))
    return max(at, text.find("[", at))


def _with_halves(cut: Cut, halves: Iterator[bytes], stand_in: bytes) -> Cut:
    """Records that had halves of surrogate pairs get them back, and are rejected; all others are good."""
    texts, reasons = cut.raw.to_pylist(), cut.reason.to_pylist()
    for row, text in enumerate(texts):
        parts = text.encode().split(stand_in)
        if len(parts) > 1:
            found = [next(halves) for _ in parts[1:]]
            texts[row] = b"".join(
                part for pair in zip(parts, [*found, b""], strict=True) for part in pair
            ).decode()
            reasons[row] = surrogate_reason(found[0])
    return replace(cut, raw=pa.array(texts, pa.string()), reason=pa.array(reasons, pa.string()))


def _starts_with_object_line(document: bytes) -> bool:
    line = document.lstrip().partition(b"\n")[0]
    return why_not_an_object(line.decode(), msgspec.json.Decoder(msgspec.Raw)) is None


def _batches(records: list[msgspec.Raw]) -> Iterator[Cut]:
    lengths = np.fromiter(map(len, records), np.int64, len(records))
    ends = np.cumsum(lengths)
    first = 0
    while first < len(records):
        if lengths[first] > MAX_RECORD_BYTES:
            head = bytes(memoryview(records[first])[:KEPT_BYTES])
            yield too_long("record", head, int(lengths[first]), first + 1)
            first += 1
            continue
        done = ends[first] - lengths[first]
        last = max(first + 1, int(np.searchsorted(ends, done + _BATCH_BYTES, side="right")))
        yield _batch(records[first:last], lengths[first:last], first + 1)
        first = last


def _batch(records: list[msgspec.Raw], lengths: np.ndarray[Any, np.dtype[np.int64]], position: int) -> Cut:
    data = b"".join(records)
    offsets = np.zeros(len(records) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    positions = pa.array(np.arange(position, position + len(records), dtype=np.int64))
    is_object = np.frombuffer(data, np.uint8)[offsets[:-1]] == ord("{")
    if is_object.all():
        reasons = pa.nulls(len(records), pa.string())
    else:
        reasons = pa.array([None if good else NOT_AN_OBJECT for good in is_object], pa.string())
    return Cut(strings(data, offsets), positions, reasons)
