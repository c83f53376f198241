"""Quarantine files: records that could not become rows, with all that is needed to try them again."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailpipe.lake.columns import PREFIX_LENGTH, Numbers
from tailpipe.lake.facts import ArtifactSlot, RejectsFact
from tailpipe.lake.files import discard, sync
from tailpipe.lake.layout import rejects_path
from tailpipe.tables.standard import ENTRY, POSITION, RAW, REASON

# `id` is the tp_id that the row would have had.
REJECTS_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("table_name", pa.string()),
        ("partition", pa.string()),
        ("source", pa.string()),
        ("artifact", pa.string()),
        ("entry", pa.string()),
        ("position", pa.int64()),
        ("raw", pa.string()),
        ("reason", pa.string()),
        ("rejected_at", pa.timestamp("us")),
    ]
)


def write_rejects(filesystem: Any, base: str, partition: str, rows: pa.Table, unit: str) -> RejectsFact:
    """Returns when the file is safe on its disk."""
    relative = rejects_path(partition, uuid.uuid4().hex)
    path = f"{base}/{relative}"
    filesystem.create_dir(path.rsplit("/", 1)[0], recursive=True)
    try:
        pq.write_table(rows, path, filesystem=filesystem, compression="zstd")
        sync(filesystem, path)
    except BaseException:
        discard(filesystem, [path])
        raise
    return RejectsFact(unit, relative, rows.num_rows)


def read_rejects(filesystem: Any, base: str, path: str, columns: list[str] | None = None) -> pa.Table:
    # One file, not a dataset: its path must not be taken for a hive path.
    with pq.ParquetFile(f"{base}/{path}", filesystem=filesystem) as file:
        return file.read(columns=columns)


def has_prefix(ids: Any, prefixes: Iterable[str]) -> Any:
    """Which ids are of one of the artifacts; null ids of none."""
    starts = pc.utf8_slice_codeunits(ids, 0, PREFIX_LENGTH)
    return pc.is_in(starts, value_set=pa.array(sorted(prefixes), pa.string()))


@dataclass
class Quarantine:
    """What a task rejects, and what earlier reads of its artifacts rejected."""

    filesystem: Any
    base: str
    table: str
    partition: str
    slots: tuple[ArtifactSlot, ...]
    rejected_at: datetime
    buffer_max_bytes: int
    facts: list[RejectsFact] = field(default_factory=list)
    buffers: dict[str, list[pa.Table]] = field(default_factory=dict)
    buffer_bytes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sources = pa.array([slot.source for slot in self.slots], pa.string())
        self.locations = pa.array([slot.location for slot in self.slots], pa.string())
        self.units = pa.array([slot.unit for slot in self.slots], pa.string())

    def take(self, batch: pa.RecordBatch, slots: Numbers, ids: pa.Array) -> None:
        """Rejects as the engine hands them over, the slot and the id of each."""
        numbers = pa.array(slots)
        rows = pa.Table.from_arrays(
            [
                ids,
                pa.repeat(self.table, len(ids)),
                pa.repeat(self.partition, len(ids)),
                self.sources.take(numbers),
                self.locations.take(numbers),
                *(batch.column(name) for name in (ENTRY, POSITION, RAW, REASON)),
                pa.repeat(pa.scalar(self.rejected_at, pa.timestamp("us")), len(ids)),
            ],
            schema=REJECTS_SCHEMA,
        )
        units = self.units.take(numbers)
        for unit in pc.unique(units).to_pylist():
            part = rows.filter(pc.equal(units, unit))
            self.buffers.setdefault(unit, []).append(part)
            self.buffer_bytes[unit] = self.buffer_bytes.get(unit, 0) + part.nbytes
        while sum(self.buffer_bytes.values()) > self.buffer_max_bytes:
            self._write(max(self.buffer_bytes, key=self.buffer_bytes.__getitem__))

    def finish(self) -> list[RejectsFact]:
        for unit in list(self.buffers):
            self._write(unit)
        return self.facts

    def _write(self, unit: str) -> None:
        rows = pa.concat_tables(self.buffers.pop(unit))
        del self.buffer_bytes[unit]
        self.facts.append(write_rejects(self.filesystem, self.base, self.partition, rows, unit))

    def holds(self, ids: pa.Array) -> Numbers:
        """Which records an earlier read rejected: they become rows only once they are retried."""
        found: Numbers = pc.is_in(ids, value_set=self._earlier_ids).to_numpy(zero_copy_only=False)
        return found

    @cached_property
    def _earlier_ids(self) -> pa.ChunkedArray:
        """Of this task's artifacts alone, whatever else lies in their files."""
        asked = [slot for slot in self.slots if slot.is_reread]
        prefixes = {slot.id_prefix.decode() for slot in asked}
        found = []
        for path in sorted({path for slot in asked for path in slot.reject_files}):
            ids = read_rejects(self.filesystem, self.base, path, ["id"]).column("id")
            found += ids.filter(has_prefix(ids, prefixes)).chunks
        return pa.chunked_array(found, pa.string())
