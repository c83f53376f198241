"""What executors report back: the driver commits from these facts alone, and never sees a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from tailpipe.times import Window

FACTS_SCHEMA = "fact string"


@dataclass(frozen=True)
class ArtifactSlot:
    """An artifact as the executors of one job know it; rows carry its number in the job.

    `keep` are the windows of which rows are wanted; empty keeps all. `constants` fill columns for all its rows.
    `is_reread` says that its rejects are in quarantine already.
    """

    unit: str
    location: str
    id_prefix: bytes
    constants: Mapping[str, str | None] = field(default_factory=dict)
    keep: tuple[Window, ...] = ()
    is_reread: bool = False


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
    """Rows of one artifact that one task stored, dropped as outside the window, or rejected."""

    slot: int
    stored: int
    outside: int
    rejected: int


class ReadFact(msgspec.Struct, frozen=True, tag="read"):
    """One artifact was read to its end: how many records and decompressed bytes it held."""

    slot: int
    rows: int
    size_bytes: int


class ErrorFact(msgspec.Struct, frozen=True, tag="error"):
    slot: int
    message: str


Fact = FileFact | RejectsFact | RowsFact | ReadFact | ErrorFact

_decoder = msgspec.json.Decoder(Fact)


def encode_facts(facts: Iterable[Fact]) -> list[str]:
    return [msgspec.json.encode(fact).decode() for fact in facts]


def decode_facts(texts: Iterable[str]) -> list[Fact]:
    return [_decoder.decode(text) for text in texts]
