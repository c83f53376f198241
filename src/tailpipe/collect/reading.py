"""The reading half of a job, as executors see it. Workers import this module: it must stay light."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.formats.format import Format
from tailpipe.sources.artifact import Artifact, Source
from tailpipe.sources.read import read_artifacts

if TYPE_CHECKING:
    import pyarrow as pa

Pack = tuple[tuple[int, Artifact], ...]


@dataclass(frozen=True)
class ReadJob:
    """The function for `mapInArrow` that turns pack numbers into records. Picklable.

    `spool` is a folder that both sides see; tasks leave their counts there while they work, and end early if they find
    there that they should. `groups` are by slot: what has the same number is read together.
    """

    source: Source
    format: Format
    packs: tuple[Pack, ...]
    spool: str | None = None
    groups: tuple[int, ...] = ()

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                pack = self.packs[number]
                wanted = self._until_stopped(pack, Path(self.spool)) if self.spool else iter(pack)
                records = read_artifacts(self.source, self.format, wanted)
                yield from self._counted(records, number) if self.spool else records

    def _until_stopped(self, pack: Pack, folder: Path) -> Iterator[tuple[int, Artifact]]:
        from tailpipe.collect.spool import is_stop_requested

        group = None
        for slot, artifact in pack:
            if self.groups[slot] != group and is_stop_requested(folder):
                return
            group = self.groups[slot]
            yield slot, artifact

    def _counted(self, records: Iterator[pa.RecordBatch], pack: int) -> Iterator[pa.RecordBatch]:
        from tailpipe.collect.spool import SpoolWriter

        sizes = {slot: artifact.size_bytes for slot, artifact in self.packs[pack]}
        writer = SpoolWriter(Path(self.spool or ""), pack, sizes)
        for batch in records:
            writer.count(batch)
            yield batch
        writer.write()
