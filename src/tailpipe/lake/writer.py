"""Executors write Parquet with pyarrow: rows of a task go to one file per unit, index and day, sorted by time.

No shuffle and no rename: files get their final, unique names at once, and count only when a commit names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.lake.address import TableAddress
from tailpipe.lake.columns import Flags, Numbers, as_stored, row_ids, valid_json, without_empty_lists
from tailpipe.lake.datafile import ROW_GROUP_MAX_BYTES, DataFile, open_data_file
from tailpipe.lake.facts import (
    ArtifactSlot,
    ErrorFact,
    Fact,
    FileFact,
    ReadFact,
    RejectsFact,
    RowsFact,
    encode_facts,
)
from tailpipe.lake.folder_limit import FolderLimit
from tailpipe.lake.paths import hive_folder
from tailpipe.lake.rejects import Quarantine
from tailpipe.records import Failed, Reading, decode_closing
from tailpipe.tables.computing import NOTHING, Computing
from tailpipe.tables.standard import (
    ARTIFACT,
    DEFAULT_INDEX,
    ENTRY,
    POSITION,
    RAW,
    REASON,
    TP_TIMESTAMP,
    engine_name,
)
from tailpipe.tables.types import arrow_type

MAX_OPEN_FILES = 64
MIN_SLICE_ROWS = 64
MAX_PICKED_KEYS = 32
_DAY_MICROSECONDS = 86_400_000_000
_BUFFERED_BATCHES = 4
_EPOCH = date(1970, 1, 1)
_FIRST_MOMENT = np.int64(-(2**63))
_LAST_MOMENT = np.int64(2**63 - 1)


@dataclass(frozen=True)
class WriteJob:
    """All that a task needs to know to turn standardised rows into files. Picklable.

    `stored_schema` is the schema of data files: the table's columns without those of the hive path. `spellings` are
    those columns that are declared under another spelling than they are stored. With `keeps_all_rejects`, no reject is
    only counted.
    """

    address: TableAddress
    table: str
    partition: str
    stored_schema: pa.Schema
    slots: tuple[ArtifactSlot, ...]
    index_column: str | None
    ingested_at: datetime
    json_columns: frozenset[str] = frozenset()
    computing: Computing = NOTHING
    spellings: Mapping[str, str] = field(default_factory=dict)
    buffer_max_bytes: int = ROW_GROUP_MAX_BYTES
    keeps_all_rejects: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The function for `mapInArrow`: consumes rows, yields facts."""
        task = _Task(self)
        try:
            for batch in self._computed(batches, task):
                task.take(batch)
            facts = task.finish()
        except BaseException:
            task.discard()
            raise
        if facts:
            yield pa.RecordBatch.from_pydict({"fact": pa.array(encode_facts(facts), pa.string())})

    def _computed(self, batches: Iterator[pa.RecordBatch], task: _Task) -> Iterator[pa.RecordBatch]:
        if self.computing == NOTHING:
            yield from batches
            return
        # DuckDB is loaded by workers that need it.
        from tailpipe.lake.computed import Computer

        with closing(Computer(self.computing, self.slots, self.ingested_at, task.column)) as computer:
            for batch in batches:
                yield computer.compute(batch)


@dataclass(frozen=True, order=True)
class _Folder:
    """Rows that may share a file."""

    unit: str
    index: str
    day: int


@dataclass
class _Task:
    job: WriteJob
    facts: list[Fact] = field(default_factory=list)
    buffers: dict[_Folder, list[pa.Table]] = field(default_factory=dict)
    buffer_bytes: dict[_Folder, int] = field(default_factory=dict)
    open_files: dict[_Folder, DataFile] = field(default_factory=dict)
    limit: FolderLimit = field(default_factory=FolderLimit)
    failed: dict[str, str] = field(default_factory=dict)
    batch_bytes: int = 0

    def __post_init__(self) -> None:
        slots = self.job.slots
        self.stored = np.zeros(len(slots), dtype=np.int64)
        self.outside = np.zeros(len(slots), dtype=np.int64)
        self.rejected = np.zeros(len(slots), dtype=np.int64)
        self.first = np.full(len(slots), _LAST_MOMENT)
        self.last = np.full(len(slots), _FIRST_MOMENT)
        self.oldest = np.full(len(slots), _LAST_MOMENT)
        self.newest = np.full(len(slots), _FIRST_MOMENT)
        self.units = sorted({slot.unit for slot in slots})
        number = {unit: k for k, unit in enumerate(self.units)}
        self.unit_of_slot = np.array([number[slot.unit] for slot in slots], dtype=np.int64)
        self.id_prefixes = np.frombuffer(b"".join(s.id_prefix for s in slots), dtype=np.uint8).reshape(-1, 12)
        names = {name for slot in slots for name in slot.constants}
        self.constants = {
            name: pa.array([slot.constants.get(name) for slot in slots], pa.string()) for name in names
        }
        self.windows = _windows(slots)
        self.rereads = np.array([slot.is_reread for slot in slots], dtype=bool)
        self.in_quarantine = np.array(
            [slot.is_reread and slot.reject_files != () for slot in slots], dtype=bool
        )
        self.quarantine = Quarantine(
            self.job.address,
            self.job.table,
            self.job.partition,
            slots,
            self.job.ingested_at.replace(tzinfo=None),
            self.job.buffer_max_bytes // 4,
            self.job.keeps_all_rejects,
        )

    def take(self, batch: pa.RecordBatch) -> None:
        """Copies no row that is kept: closing rows and rejects are picked out, the rest is cut into slices."""
        slots = batch.column(ARTIFACT).to_numpy()
        is_closing = batch.column(POSITION).to_numpy() < 0
        reasons = batch.column(REASON)
        is_kept = ~is_closing
        if is_closing.any():
            self._take_closing(batch.filter(pa.array(is_closing)))
        if reasons.null_count < len(reasons):
            is_kept &= reasons.is_null().to_numpy(zero_copy_only=False)
            self._take_rejects(batch.filter(reasons.is_valid()))
        moments = _microseconds(batch.column("tp_timestamp"))
        is_wanted = is_kept.copy()
        if self.windows:
            is_wanted &= self._within_window(slots, moments)
        is_asked = is_wanted & self.in_quarantine[slots]
        if is_asked.any():
            is_wanted &= ~self._in_quarantine(batch, is_asked)
        is_outside = is_kept & ~is_wanted
        if is_outside.any():
            self._take_outside(slots[is_outside], moments[is_outside])
        if is_wanted.any():
            self._take_rows(batch, slots, moments, is_wanted)

    def _take_outside(self, slots: Numbers, moments: Numbers) -> None:
        self.outside += self._per_slot(slots)
        np.minimum.at(self.oldest, slots, moments)
        np.maximum.at(self.newest, slots, moments)

    def _take_closing(self, batch: pa.RecordBatch) -> None:
        columns = (batch.column(name).to_pylist() for name in (ARTIFACT, RAW))
        for slot, text in zip(*columns, strict=True):
            match decode_closing(text):
                case Reading() as reading:
                    self.facts.append(ReadFact(slot, reading))
                case Failed(message):
                    self.facts.append(ErrorFact(slot, message))

    def _take_rejects(self, batch: pa.RecordBatch) -> None:
        is_new = ~self.rereads[_slots(batch)]
        if not is_new.all():
            batch = batch.filter(pa.array(is_new))
        if batch.num_rows:
            self.rejected += self._per_slot(_slots(batch))
            self.quarantine.take(batch, _slots(batch), self._ids(batch))

    def _within_window(self, slots: Numbers, moments: Numbers) -> Flags:
        is_inside = np.zeros(len(slots), dtype=bool)
        for starts, ends in self.windows:
            is_inside |= (moments >= starts[slots]) & (moments < ends[slots])
        return is_inside

    def _in_quarantine(self, batch: pa.RecordBatch, is_asked: Flags) -> Flags:
        is_found = np.zeros(len(is_asked), dtype=bool)
        is_found[is_asked] = self.quarantine.holds(self._ids(batch.filter(pa.array(is_asked))))
        return is_found

    def _ids(self, batch: pa.RecordBatch) -> pa.Array:
        return row_ids(self.id_prefixes[_slots(batch)], batch.column(POSITION), batch.column(ENTRY))

    def _take_rows(self, batch: pa.RecordBatch, slots: Numbers, moments: Numbers, is_kept: Flags) -> None:
        self.stored += self._per_slot(slots[is_kept])
        np.minimum.at(self.first, slots[is_kept], moments[is_kept])
        np.maximum.at(self.last, slots[is_kept], moments[is_kept])
        days = moments // _DAY_MICROSECONDS
        indexes, index_of_row = self._indexes(batch)
        first_day = int(days[is_kept].min())
        span = int(days[is_kept].max()) - first_day + 1
        # Unit, index and day as one number, so that a run of equal numbers is a slice for one folder.
        keys = (self.unit_of_slot[slots] * len(indexes) + index_of_row) * span + (days - first_day)
        keys[~is_kept] = -1
        rows = self._stored_columns(batch)
        self.batch_bytes = rows.nbytes + (self.batch_bytes if self.buffers else 0)
        for key, part in _parts(rows, keys):
            unit_and_index, day = divmod(key, span)
            unit, index = divmod(unit_and_index, len(indexes))
            folder = _Folder(self.units[unit], indexes[index], first_day + day)
            if folder.unit in self.failed:
                continue
            if not self.limit.admits(*astuple(folder)):
                self._fail(folder.unit)
                continue
            self.buffers.setdefault(folder, []).append(part)
            self.buffer_bytes[folder] = self.buffer_bytes.get(folder, 0) + part.nbytes
        self._make_room()

    def _make_room(self) -> None:
        """The largest go first. A slice keeps its whole batch in memory, so that now and then all of them go."""
        if self.batch_bytes > _BUFFERED_BATCHES * self.job.buffer_max_bytes:
            self._flush_all()
        size_bytes = sum(self.buffer_bytes.values())
        while size_bytes > self.job.buffer_max_bytes:
            largest = max(self.buffer_bytes, key=self.buffer_bytes.__getitem__)
            size_bytes -= self.buffer_bytes[largest]
            self._flush(largest)

    def _per_slot(self, slots: Numbers) -> Numbers:
        counts: Numbers = np.bincount(slots, minlength=len(self.job.slots))
        return counts

    def _indexes(self, batch: pa.RecordBatch) -> tuple[list[str], Numbers]:
        if self.job.index_column is None:
            return [DEFAULT_INDEX], np.zeros(batch.num_rows, dtype=np.int64)
        values = pc.fill_null(batch.column("tp_index").cast(pa.string()), DEFAULT_INDEX)
        encoded = values.dictionary_encode()
        indexes = [value or DEFAULT_INDEX for value in encoded.dictionary.to_pylist()]
        return indexes, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)

    def _stored_columns(self, batch: pa.RecordBatch) -> pa.Table:
        schema, spellings = self.job.stored_schema, self.job.spellings
        declared = [column.with_name(spellings.get(column.name, column.name)) for column in schema]
        return pa.Table.from_arrays([self._column(batch, column) for column in declared], schema=schema)

    def column(self, batch: pa.RecordBatch, name: str, type_: str) -> Any:
        """A column as it is stored, also one of the hive path. `type_` is DuckDB's."""
        if name == "tp_date":
            return self._column(batch, pa.field(TP_TIMESTAMP, pa.timestamp("us"))).cast(pa.date32())
        if name == "tp_partition":
            return pa.repeat(self.job.partition, batch.num_rows)
        return self._column(batch, pa.field(name, arrow_type(type_)))

    def _column(self, batch: pa.RecordBatch, column: pa.Field) -> Any:
        if column.name == "tp_id":
            return self._ids(batch)
        if column.name == "tp_ingest_timestamp":
            moment = pa.scalar(self.job.ingested_at.replace(tzinfo=None), column.type)
            return pa.repeat(moment, batch.num_rows)
        sent = engine_name(column.name)
        own = batch.column(sent) if sent in batch.schema.names else None
        if own is not None and column.name.startswith("tp_") and pa.types.is_list(own.type):
            own = without_empty_lists(own)
        if own is not None and column.name in self.job.json_columns:
            own = valid_json(own)
        return as_stored(self._with_constants(column, own, _slots(batch)), column.type)

    def _with_constants(self, column: pa.Field, own: Any, slots: Numbers) -> Any:
        values = self.constants.get(column.name)
        if values is None:
            return own if own is not None else pa.nulls(len(slots), column.type)
        constant = values.take(pa.array(slots))
        return constant if own is None else pc.coalesce(own, constant)

    def _fail(self, unit: str) -> None:
        """The unit fails with a sentence and leaves no file; the others of the job go on."""
        self.failed[unit] = self.limit.message(unit, self.job.index_column)
        for folder in [folder for folder in self.buffers if folder.unit == unit]:
            del self.buffers[folder], self.buffer_bytes[folder]
        for folder in [folder for folder in self.open_files if folder.unit == unit]:
            self.open_files.pop(folder).abandon()
        kept: list[Fact] = []
        gone: list[str] = []
        for fact in self.facts:
            if isinstance(fact, FileFact) and fact.unit == unit:
                gone.append(fact.path)
            else:
                kept.append(fact)
        self.facts = kept
        self.job.address.discard(gone)

    def _flush_all(self) -> None:
        for folder in sorted(self.buffers):
            self._flush(folder)
        self.batch_bytes = 0

    def _flush(self, folder: _Folder) -> None:
        rows = pa.concat_tables(self.buffers.pop(folder))
        del self.buffer_bytes[folder]
        moments = rows.column("tp_timestamp").cast(pa.int64()).to_numpy()
        if (moments[1:] < moments[:-1]).any():
            order = np.argsort(moments, kind="stable")
            rows = rows.take(pa.array(order))
        (self.open_files.get(folder) or self._open(folder)).write(rows)

    def _open(self, folder: _Folder) -> DataFile:
        if len(self.open_files) >= MAX_OPEN_FILES:
            self._close(next(iter(self.open_files)))
        day = _EPOCH + timedelta(days=folder.day)
        values = {
            "tp_partition": self.job.partition,
            "tp_index": folder.index,
            "tp_date": day.isoformat(),
        }
        hive = hive_folder(self.job.partition, folder.index, day)
        file = open_data_file(self.job.address, hive, values, self.job.stored_schema)
        self.open_files[folder] = file
        return file

    def _close(self, folder: _Folder) -> None:
        self.facts.append(self.open_files[folder].close(folder.unit))
        del self.open_files[folder]

    def finish(self) -> list[Fact]:
        self._flush_all()
        for folder in list(self.open_files):
            self._close(folder)
        self.facts += self.quarantine.finish()
        touched = np.flatnonzero(self.stored + self.outside + self.rejected)
        self.facts += [self._rows_fact(k) for k in touched.tolist()]
        self.facts += [
            ErrorFact(k, self.failed[self.job.slots[k].unit])
            for k in np.flatnonzero(self.stored).tolist()
            if self.job.slots[k].unit in self.failed
        ]
        return self.facts

    def discard(self) -> None:
        """Frees the room of what no commit will name: the disk may be full of it."""
        for file in self.open_files.values():
            file.abandon()
        written = [
            fact.path
            for fact in (*self.facts, *self.quarantine.facts)
            if isinstance(fact, FileFact | RejectsFact)
        ]
        self.job.address.discard(written)

    def _rows_fact(self, slot: int) -> RowsFact:
        counts = (int(self.stored[slot]), int(self.outside[slot]), int(self.rejected[slot]))
        if not self.stored[slot] + self.outside[slot]:
            return RowsFact(slot, *counts)
        oldest, newest = (
            int(min(self.oldest[slot], self.first[slot])),
            int(max(self.newest[slot], self.last[slot])),
        )
        if not self.stored[slot]:
            return RowsFact(slot, *counts, oldest=oldest, newest=newest)
        return RowsFact(slot, *counts, int(self.first[slot]), int(self.last[slot]), oldest, newest)


def _slots(batch: pa.RecordBatch) -> Numbers:
    slots: Numbers = batch.column(ARTIFACT).to_numpy()
    return slots


def _microseconds(column: pa.Array) -> Numbers:
    """Zero where there is no time; such rows are rejected."""
    values: Numbers = column.cast(pa.int64()).fill_null(0).to_numpy()
    return values


def _parts(rows: pa.Table, keys: Numbers) -> Iterator[tuple[int, pa.Table]]:
    """Rows by key, without those of key -1: as slices where equal keys are neighbours, else picked out.

    Picking looks at all rows for each key: where there are many keys, rows are sorted by them first.
    """
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1])
    if len(starts) * MIN_SLICE_ROWS <= len(keys) + MIN_SLICE_ROWS:
        yield from _neighbours(rows, keys)
        return
    found = np.unique(keys[keys >= 0])
    if len(found) > MAX_PICKED_KEYS:
        order = np.argsort(keys, kind="stable")
        yield from _neighbours(rows.take(pa.array(order)), keys[order])
        return
    for key in found.tolist():
        yield key, rows.filter(pa.array(keys == key))


def _neighbours(rows: pa.Table, keys: Numbers) -> Iterator[tuple[int, pa.Table]]:
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1])
    ends = np.append(starts[1:], len(keys))
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if keys[start] >= 0:
            yield int(keys[start]), rows.slice(start, end - start)


def _windows(slots: Sequence[ArtifactSlot]) -> list[tuple[Numbers, Numbers]]:
    """Starts and ends by slot: the first window of each, the second, and so on. None if all rows are kept."""
    count = max((len(slot.keep) for slot in slots), default=0)
    starts = np.full((count, len(slots)), _FIRST_MOMENT)
    ends = np.full((count, len(slots)), _FIRST_MOMENT)
    for number, slot in enumerate(slots):
        if count and not slot.keep:
            ends[0, number] = _LAST_MOMENT
        for k, window in enumerate(slot.keep):
            starts[k, number] = _to_microseconds(window.start)
            ends[k, number] = _to_microseconds(window.end)
    return list(zip(starts, ends, strict=True))


def _to_microseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
