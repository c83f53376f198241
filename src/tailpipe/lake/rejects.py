"""Quarantine files: records that could not become rows, with all that is needed to try them again."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailpipe.lake.address import TableAddress
from tailpipe.lake.columns import PREFIX_LENGTH, Flags, Numbers
from tailpipe.lake.facts import ArtifactSlot, RejectsFact
from tailpipe.lake.paths import rejects_path
from tailpipe.records import ReasonCode
from tailpipe.tables.standard import CODE, ENTRY, POSITION, RAW, REASON

# Of each reading of an artifact so many rejects are kept one by one, and so many bytes of their text: a small packed
# file can hold millions of lines. The others are one row that counts them.
MAX_KEPT_ROWS = 1_000_000
MAX_KEPT_BYTES = 1024 * 1024 * 1024
_MOST_REASON = 2_000
_MOST_EXAMPLE = 2_000

# `id` is the tp_id that the row would have had. `records` is 1, or how many records the row stands for: from this one
# on, they were counted and not kept.
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
        ("records", pa.int64()),
        ("code", pa.string()),
    ]
)
# How reasons read before they had a code.
_OLD_REASONS = {
    ReasonCode.TOO_LONG: r"(?:line|record) is [0-9,]+ bytes, the limit is [0-9,]+",
    ReasonCode.NO_RECORDS: r"document has no list at .*|document cannot be read: .*",
    ReasonCode.OTHER_HEADER: r"line has [0-9]+ values, the header has [0-9]+"
    r"|the header of its file names none of the fields .*",
    ReasonCode.NOT_KEPT: r"[0-9,]+ more rejects of this artifact were only counted; .*",
    ReasonCode.NOT_READ: r"[0-9,]+ bytes behind the end of .* were not read",
    ReasonCode.CONTROL_CHARACTER: r"line holds the control character 0x01",
}


def write_rejects(address: TableAddress, partition: str, rows: pa.Table, unit: str) -> RejectsFact:
    """Returns when the file is safe on its disk."""
    path = rejects_path(partition, uuid.uuid4().hex)
    try:
        with address.files.open_write(path) as file:
            pq.write_table(rows, file, compression="zstd")
        address.files.sync(path)
    except BaseException:
        address.discard([path])
        raise
    return RejectsFact(unit, path, records_in(rows))


def records_in(rows: pa.Table) -> int:
    """How many records the rejects stand for."""
    return pc.sum(rows.column("records")).as_py() or 0


def read_rejects(address: TableAddress, path: str, columns: list[str] | None = None) -> pa.Table:
    columns = columns or REJECTS_SCHEMA.names
    # One file, not a dataset: its path must not be taken for a hive path.
    with address.files.open_read(path) as opened, pq.ParquetFile(opened) as file:
        stored = set(file.schema_arrow.names)
        told = {"reason"} if "code" in columns and "code" not in stored else set()
        rows = file.read(columns=sorted({*columns} & stored | told))
    # Lakes of before there was a limit have a row for every record.
    if "records" not in stored:
        rows = rows.append_column("records", pa.repeat(pa.scalar(1, pa.int64()), file.metadata.num_rows))
    if told:
        rows = rows.append_column("code", codes_of(rows.column("reason")))
    return rows.select(columns)


def codes_of(reasons: Any) -> Any:
    """The codes of reasons that were stored without: null where a record can be tried again."""
    codes = pa.nulls(len(reasons), pa.string())
    for code, text in _OLD_REASONS.items():
        is_such = pc.fill_null(pc.match_substring_regex(reasons, f"(?s)^(?:{text})$"), False)
        codes = pc.if_else(is_such, code, codes)
    return codes


def has_prefix(ids: Any, prefixes: Iterable[str]) -> Any:
    """Which ids are of one of the artifacts; null ids of none."""
    starts = pc.utf8_slice_codeunits(ids, 0, PREFIX_LENGTH)
    return pc.is_in(starts, value_set=pa.array(sorted(prefixes), pa.string()))


@dataclass
class Quarantine:
    """What a task rejects, and what earlier reads of its artifacts rejected.

    With `keeps_all`, what was kept once is kept again, whatever its size.
    """

    address: TableAddress
    table: str
    partition: str
    slots: tuple[ArtifactSlot, ...]
    rejected_at: datetime
    buffer_max_bytes: int
    keeps_all: bool = False
    facts: list[RejectsFact] = field(default_factory=list)
    buffers: dict[str, list[pa.Table]] = field(default_factory=dict)
    buffer_bytes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sources = pa.array([slot.source for slot in self.slots], pa.string())
        self.locations = pa.array([slot.location for slot in self.slots], pa.string())
        self.units = pa.array([slot.unit for slot in self.slots], pa.string())
        self.kept_rows = np.zeros(len(self.slots), dtype=np.int64)
        self.kept_bytes = np.zeros(len(self.slots), dtype=np.int64)
        self.counted = np.zeros(len(self.slots), dtype=np.int64)
        self.first_counted: dict[int, pa.Table] = {}

    def take(self, batch: pa.RecordBatch, slots: Numbers, ids: pa.Array) -> None:
        """Rejects as the engine hands them over, the slot and the id of each."""
        is_kept = self._fits(slots, batch.column(RAW))
        if not is_kept.all():
            self._count(batch, slots, ids, ~is_kept)
            chosen = pa.array(is_kept)
            batch, slots, ids = batch.filter(chosen), slots[is_kept], ids.filter(chosen)
        if len(ids):
            self._keep(self._rows(batch, slots, ids), slots)

    def _rows(self, batch: pa.RecordBatch, slots: Numbers, ids: pa.Array) -> pa.Table:
        numbers = pa.array(slots)
        return pa.Table.from_arrays(
            [
                ids,
                pa.repeat(self.table, len(ids)),
                pa.repeat(self.partition, len(ids)),
                self.sources.take(numbers),
                self.locations.take(numbers),
                *(batch.column(name) for name in (ENTRY, POSITION, RAW)),
                _short(batch.column(REASON)),
                pa.repeat(pa.scalar(self.rejected_at, pa.timestamp("us")), len(ids)),
                pa.repeat(pa.scalar(1, pa.int64()), len(ids)),
                # What only the engine or an expression could tell is about a value.
                pc.fill_null(batch.column(CODE), ReasonCode.BAD_VALUE),
            ],
            schema=REJECTS_SCHEMA,
        )

    def _keep(self, rows: pa.Table, slots: Numbers) -> None:
        units = self.units.take(pa.array(slots))
        for unit in pc.unique(units).to_pylist():
            part = rows.filter(pc.equal(units, unit))
            self.buffers.setdefault(unit, []).append(part)
            self.buffer_bytes[unit] = self.buffer_bytes.get(unit, 0) + part.nbytes
        while sum(self.buffer_bytes.values()) > self.buffer_max_bytes:
            self._write(max(self.buffer_bytes, key=self.buffer_bytes.__getitem__))

    def _fits(self, slots: Numbers, texts: pa.Array) -> Flags:
        """Which of the rejects are kept: the first of each artifact, up to the limits."""
        is_kept = np.ones(len(slots), dtype=bool)
        sizes = pc.fill_null(pc.binary_length(texts), 0).to_numpy().astype(np.int64)
        self.kept_rows += np.bincount(slots, minlength=len(self.slots))
        self.kept_bytes += np.bincount(slots, sizes, minlength=len(self.slots)).astype(np.int64)
        if self.keeps_all:
            return is_kept
        is_over = (self.kept_rows > MAX_KEPT_ROWS) | (self.kept_bytes > MAX_KEPT_BYTES)
        for slot in np.unique(slots[is_over[slots]]).tolist():
            own = np.flatnonzero(slots == slot)
            rows = self.kept_rows[slot] - np.arange(len(own))[::-1]
            size = self.kept_bytes[slot] - sizes[own].sum() + np.cumsum(sizes[own])
            is_kept[own] = (rows <= MAX_KEPT_ROWS) & (size <= MAX_KEPT_BYTES)
        return is_kept

    def _count(self, batch: pa.RecordBatch, slots: Numbers, ids: pa.Array, is_counted: Flags) -> None:
        self.counted += np.bincount(slots[is_counted], minlength=len(self.slots))
        for slot in np.unique(slots[is_counted]).tolist():
            if slot not in self.first_counted:
                row = int(np.flatnonzero(is_counted & (slots == slot))[0])
                one = pa.array([row])
                self.first_counted[slot] = self._rows(batch.take(one), slots[row : row + 1], ids.take(one))

    def _summaries(self) -> None:
        """One row for all of an artifact's rejects that were only counted."""
        for slot, first in self.first_counted.items():
            counted = int(self.counted[slot])
            (row,) = first.to_pylist()
            reason = (
                f"{counted:,} more rejects of this artifact were only counted; the first: {row['reason']}"
            )
            row |= {"raw": (row["raw"] or "")[:_MOST_EXAMPLE], "reason": reason, "records": counted}
            row["code"] = ReasonCode.NOT_KEPT
            self._keep(pa.Table.from_pylist([row], REJECTS_SCHEMA), np.array([slot]))

    def finish(self) -> list[RejectsFact]:
        self._summaries()
        for unit in list(self.buffers):
            self._write(unit)
        return self.facts

    def _write(self, unit: str) -> None:
        rows = pa.concat_tables(self.buffers.pop(unit))
        del self.buffer_bytes[unit]
        self.facts.append(write_rejects(self.address, self.partition, rows, unit))

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
            ids = read_rejects(self.address, path, ["id"]).column("id")
            found += ids.filter(has_prefix(ids, prefixes)).chunks
        return pa.chunked_array(found, pa.string())


def _short(reasons: pa.Array) -> pa.Array:
    """Reasons quote the value that is wrong, which may be as long as the record."""
    if reasons.nbytes <= _MOST_REASON:
        return reasons
    return pc.utf8_slice_codeunits(reasons, 0, _MOST_REASON)
