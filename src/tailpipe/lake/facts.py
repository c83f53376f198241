"""What executors report back: the driver commits from these facts alone, and never sees a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from tailpipe.records import Reading
from tailpipe.times import Window

FACTS_SCHEMA = "fact string"


@dataclass(frozen=True)
class ArtifactSlot:
    """An artifact as the executors of one job know it; rows carry its number in the job.

    `keep` are the windows of which rows are wanted; empty keeps all. `constants` fill columns for all its rows,
    `captures` are what its path says, for expressions.
    `is_reread` says that its rejects are in quarantine already, in `reject_files`: records that lie there are neither
    rejected nor stored again.
    """

    unit: str
    source: str
    location: str
    id_prefix: bytes
    constants: Mapping[str, str | None] = field(default_factory=dict)
    captures: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[Window, ...] = ()
    is_reread: bool = False
    reject_files: tuple[str, ...] = ()


class FileFact(msgspec.Struct, frozen=True, tag="file"):
    """A data file; `partition_values` and the time range are what the Delta log wants to know of it."""

    unit: str
    path: str
    size_bytes: int
    rows: int
    partition_values: dict[str, str]
    first: str
    last: str


class RejectsFact(msgspec.Struct, frozen=True, tag="rejects"):
    unit: str
    path: str
    rows: int


class RowsFact(msgspec.Struct, frozen=True, tag="rows"):
    """Rows of one artifact that one task stored, dropped as outside the window, or rejected.

    `first` and `last` are times of stored rows in microseconds since 1970; None where nothing was stored. `oldest` and
    `newest` are those of all rows, also outside the window.
    """

    slot: int
    stored: int
    outside: int
    rejected: int
    first: int | None = None
    last: int | None = None
    oldest: int | None = None
    newest: int | None = None


class ReadFact(msgspec.Struct, frozen=True, tag="read"):
    slot: int
    reading: Reading


class ErrorFact(msgspec.Struct, frozen=True, tag="error"):
    slot: int
    message: str


Fact = FileFact | RejectsFact | RowsFact | ReadFact | ErrorFact

_decoder = msgspec.json.Decoder(Fact)


def encode_facts(facts: Iterable[Fact]) -> list[str]:
    return [msgspec.json.encode(fact).decode() for fact in facts]


def decode_facts(texts: Iterable[str]) -> list[Fact]:
    return [_decoder.decode(text) for text in texts]
