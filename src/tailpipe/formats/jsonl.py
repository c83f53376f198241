"""Format `jsonl`: one JSON object per line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import msgspec

from tailpipe.arrow import np, pa
from tailpipe.config.schema import BlockSchema
from tailpipe.config.values import FormatConfig
from tailpipe.formats.arguments import DESCRIPTION, FIELD_MAP, field_map
from tailpipe.formats.format import LINES, Cut, Format
from tailpipe.formats.json_fields import json_field_names, json_fields
from tailpipe.formats.json_text import syntax_reason
from tailpipe.formats.lines import cut_lines
from tailpipe.formats.members import Wanted, renamed

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

NOT_AN_OBJECT = "record is not a JSON object"
# What JSON calls white space. Python strips control characters too.
_SPACES = " \t\r\n"

SCHEMA = BlockSchema((FIELD_MAP, DESCRIPTION), "One JSON object per line.")


@dataclass(frozen=True, kw_only=True)
class JsonFormat(Format):
    """What formats of JSON objects share, however the objects lie in a file."""

    field_map: Mapping[str, str] = field(default_factory=dict)
    wanted: Wanted | None = None

    def with_members(self, wanted: Wanted) -> Self:
        return replace(self, wanted=renamed(wanted, self.field_map))

    def cut_again(self, raw: pa.Array, position: pa.Array) -> Cut:
        return Cut(raw, position, object_reasons(raw))

    def settled(self, cut: Cut) -> Cut:
        # Loaded late, as it works with numpy from its first line on.
        from tailpipe.formats.json_records import settled

        return settled(cut, self.wanted)

    def fields(self, raw: Column, names: Sequence[str], nested: StructType) -> Column:
        return json_fields(raw, names, nested, self.field_map)


@dataclass(frozen=True)
class JsonLines(JsonFormat):
    type: str = "jsonl"
    mismatch_reason: str = "line is not a JSON object that can be read"
    framing: str = LINES

    def cut(self, chunks: Iterator[bytes]) -> Iterator[Cut]:
        decoder = msgspec.json.Decoder(msgspec.Raw)
        for lines in cut_lines(chunks):
            is_good = _all_objects(lines.raw, decoder)
            yield lines if is_good else _checked_one_by_one(lines, decoder)

    def field_names(self, sample: bytes) -> tuple[str, ...]:
        cuts = self.cut(iter([sample]))
        good = (cut.raw.filter(cut.reason.is_null()).to_pylist() for cut in cuts)
        return json_field_names((text for texts in good for text in texts), self.field_map)

    def is_whole(self, line: bytes) -> bool:
        """A closed object can only be whole."""
        try:
            return why_not_an_object(line.decode(), msgspec.json.Decoder(msgspec.Raw)) is None
        except UnicodeDecodeError:
            return False


def make(config: FormatConfig) -> JsonLines:
    return JsonLines(field_map=field_map(config))


def _all_objects(raw: pa.Array, decoder: msgspec.json.Decoder[msgspec.Raw]) -> bool:
    """Whether every line is exactly one JSON object, in one pass over all lines without their line ends.

    Lengths are compared because neighbours that are broken one by one may be whole together.
    """
    offsets = np.frombuffer(raw.buffers()[1], np.int32)[raw.offset : raw.offset + len(raw) + 1]
    data = raw.buffers()[2]
    if not (np.frombuffer(data, np.uint8)[offsets[:-1]] == ord("{")).all():
        return False
    try:
        values = decoder.decode_lines(memoryview(data))
    except (msgspec.DecodeError, RecursionError):
        return False
    lengths = np.fromiter(map(len, values), np.int32, len(values))
    return len(values) == len(raw) and bool((lengths == np.diff(offsets)).all())


def _checked_one_by_one(lines: Cut, decoder: msgspec.json.Decoder[msgspec.Raw]) -> Cut:
    reasons = [
        reason or (why_not_an_object(text, decoder) if text.strip(_SPACES) else "")
        for text, reason in zip(lines.raw.to_pylist(), lines.reason.to_pylist(), strict=True)
    ]
    # A line of spaces only is as empty as an empty line: no record.
    is_record = pa.array([reason != "" for reason in reasons])
    judged = replace(lines, reason=pa.array(reasons, pa.string()))
    return judged.filter(is_record)


def object_reasons(raw: pa.Array) -> pa.Array:
    decoder = msgspec.json.Decoder(msgspec.Raw)
    return pa.array([why_not_an_object(text, decoder) for text in raw.to_pylist()], pa.string())


def why_not_an_object(text: str, decoder: msgspec.json.Decoder[msgspec.Raw]) -> str | None:
    try:
        decoder.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        return syntax_reason(error, text.encode(), decoder)
    return None if text.lstrip().startswith("{") else NOT_AN_OBJECT
