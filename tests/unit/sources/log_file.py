"""A log file that tests write and read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from tailpipe.config.values import SourceConfig
from tailpipe.formats.jsonl import JsonLines
from tailpipe.records import CLOSING_POSITION, Mark, decode_closing
from tailpipe.sources.artifact import Artifact
from tailpipe.sources.file import FileSource, make
from tailpipe.sources.read import read_artifacts
from tailpipe.times import Window

ALWAYS = Window(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))

Record = tuple[str, int]


@dataclass(frozen=True)
class Taken:
    records: list[Record]
    ending: Any

    @property
    def mark(self) -> Mark:
        mark: Mark = self.ending.mark
        return mark


def source_of(path: Path) -> FileSource:
    return make(SourceConfig("file", "logs", {"paths": [str(path)]}))


def listed(path: Path, start: Mark | None = None, waits: bool = False) -> Artifact:
    (artifact,) = source_of(path).list(ALWAYS)
    assert isinstance(artifact, Artifact)
    waits_after = (start.offset if start else 0) if waits else None
    return msgspec.structs.replace(artifact, start=start, waits_after=waits_after)


def read(path: Path, start: Mark | None = None, waits: bool = False) -> Taken:
    return read_listed(listed(path, start, waits))


# Lines need not be JSON: those that are not come out as records with a reason.
def read_listed(artifact: Artifact) -> Taken:
    source = source_of(Path(artifact.location))
    return gathered(read_artifacts(source, JsonLines(), [(0, artifact)]))


def gathered(batches: Iterable[pa.RecordBatch]) -> Taken:
    *rows, closing = [row for batch in batches for row in batch.to_pylist()]
    assert closing["position"] == CLOSING_POSITION
    return Taken([(row["raw"], row["position"]) for row in rows], decode_closing(closing["raw"]))
