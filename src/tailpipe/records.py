"""What travels from readers through the engine to writers: records, and behind those of an artifact a closing row.

The closing row has CLOSING_POSITION, and in `raw` how the reading ended. Workers and commands that run no job import
this module: it must stay light.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from operator import add
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa

# Types as Spark names them.
_COLUMNS = {
    "raw": "string",
    "artifact": "int",
    "entry": "string",
    "position": "bigint",
    "reason": "string",
    "code": "string",
    "original": "string",
    "extra": "string",
}
RECORD_DDL = ", ".join(f"{name} {type_}" for name, type_ in _COLUMNS.items())

# Records of a file count from 1. A reject that is none of them has position 0.
UNREAD_POSITION = 0
CLOSING_POSITION = -1


class ReasonCode(StrEnum):
    """Why a record is rejected, for programs; the reason beside it is for people."""

    UNREADABLE = "unreadable"
    BAD_VALUE = "bad_value"
    TOO_LONG = "too_long"
    CONTROL_CHARACTER = "control_character"
    NO_RECORDS = "no_records"
    OTHER_HEADER = "other_header"
    NOT_READ = "not_read"
    NOT_KEPT = "not_kept"

    @property
    def is_final(self) -> bool:
        """Whether the text kept of the record is not enough to try it again.

        It is only its beginning, a document in which no record was found, a line without its header, bytes of another
        kind, one for many, or it looks like a record that `cut` split into values itself.
        """
        return self not in (ReasonCode.UNREADABLE, ReasonCode.BAD_VALUE)


class Mark(msgspec.Struct, frozen=True, gc=False):
    """How far the plain (unpacked) content of an artifact was read, and how to know that content again.

    `offset` counts plain bytes, `position` is that of the last line before it. `head` and `tail` are hashes of
    the first and of the last bytes before the offset. `open_bytes` is not zero where the last line was taken without
    its end and gave one record: so many bytes of it lie before the offset.
    """

    offset: int = 0
    position: int = 0
    head: str = ""
    tail: str = ""
    open_bytes: int = 0


class RowCounts(msgspec.Struct, frozen=True, gc=False):
    """Records by what became of them. Always: read = stored + filtered + outside + rejected.

    `filtered` are those that the filter dropped, `outside` those outside the windows that were read for. Of `outside`,
    `stored_before` are in the lake already.
    """

    read: int = 0
    stored: int = 0
    filtered: int = 0
    outside: int = 0
    rejected: int = 0
    stored_before: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(*map(add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))

    @property
    def left_out(self) -> int:
        """What people are told as filtered."""
        return self.filtered + self.outside

    @property
    def is_balanced(self) -> bool:
        return self.read == self.stored + self.left_out + self.rejected and self.filtered >= 0


class Reading(msgspec.Struct, frozen=True, tag="read"):
    """An artifact was read to its end: how many records and decompressed bytes that gave, and where it ended.

    `waiting_bytes` follow the last line end and wait for theirs. `is_restarted` says that the line before the
    artifact's start went on, and was read once more.
    """

    rows: int
    size_bytes: int
    mark: Mark = Mark()
    waiting_bytes: int = 0
    is_restarted: bool = False


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """An artifact could not be read to its end."""

    message: str


Closing = Reading | Failed


def is_final(codes: Any) -> Any:
    """Of an Arrow array of reason codes: which of the records cannot be tried again. Not those without a code."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(codes, value_set=pa.array([code for code in ReasonCode if code.is_final], pa.string()))


@cache
def record_schema() -> pa.Schema:
    import pyarrow as pa

    types = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64()}
    return pa.schema([(name, types[type_]) for name, type_ in _COLUMNS.items()])


def record_batch(columns: Mapping[str, Any]) -> pa.RecordBatch:
    """Texts that are missing or None are null for all records."""
    import pyarrow as pa

    nothing = pa.nulls(len(columns["raw"]), pa.string())
    found = map(columns.get, _COLUMNS)
    arrays = [nothing if array is None else array for array in found]
    return pa.RecordBatch.from_arrays(arrays, schema=record_schema())


def closing_rows(closings: Mapping[int, Closing]) -> pa.RecordBatch:
    """`closings` by the number of the artifact."""
    import pyarrow as pa

    return record_batch(
        {
            "raw": pa.array([encode_closing(closing) for closing in closings.values()], pa.string()),
            "artifact": pa.array(list(closings), pa.int32()),
            "position": pa.repeat(pa.scalar(CLOSING_POSITION, pa.int64()), len(closings)),
        }
    )


def encode_closing(closing: Closing) -> str:
    return msgspec.json.encode(closing).decode()


def decode_closing(raw: str) -> Closing:
    closing: Closing = _decoder.decode(raw)
    return closing


_decoder = msgspec.json.Decoder(Closing)
