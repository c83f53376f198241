"""A log file that tests write and read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from tailpipe.config.values import SourceConfig
from tailpipe.formats.jsonl import JsonLines
from tailpipe.sources.artifact import Artifact, Mark
from tailpipe.sources.file import FileSource, make
from tailpipe.sources.read import read_artifacts
from tailpipe.times import Window

ALWAYS = Window(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))

Record = tuple[str, int]


@dataclass(frozen=True)
class Reading:
    records: list[Record]
    ending: dict[str, Any]

    @property
    def mark(self) -> Mark:
        return Mark(*(self.ending[name] for name in ("offset", "position", "head", "tail", "open_bytes")))


def source_of(path: Path) -> FileSource:
    return make(SourceConfig("file", "logs", {"paths": [str(path)]}))


def listed(path: Path, start: Mark | None = None, waits: bool = False) -> Artifact:
    (artifact,) = source_of(path).list(ALWAYS)
    assert isinstance(artifact, Artifact)
    waits_after = (start.offset if start else 0) if waits else None
    return msgspec.structs.replace(artifact, start=start, waits_after=waits_after)


def read(path: Path, start: Mark | None = None, waits: bool = False) -> Reading:
    return read_listed(listed(path, start, waits))


# Lines need not be JSON: those that are not come out as records with a reason.
def read_listed(artifact: Artifact) -> Reading:
    source = source_of(Path(artifact.location))
    return gathered(read_artifacts(source, JsonLines(), [(0, artifact)]))


def gathered(batches: Iterable[pa.RecordBatch]) -> Reading:
    *rows, trailer = [row for batch in batches for row in batch.to_pylist()]
    assert trailer["position"] < 0
    return Reading([(row["raw"], row["position"]) for row in rows], json.loads(trailer["raw"]))
