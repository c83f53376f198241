"""Executors write Parquet with pyarrow: rows of a task go to one file per unit, index and day, sorted by time.

No shuffle and no rename: files get their final, unique names at once, and count only when a commit names them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailpipe.errors import LakeError
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
from tailpipe.lake.files import sync, table_filesystem
from tailpipe.lake.layout import hive_folder, rejects_path
from tailpipe.tables.standard import DEFAULT_INDEX

READ_DONE, READ_FAILED = -1, -2
MAX_OPEN_FILES = 64
MAX_FOLDERS = 5_000
_DAY_MICROSECONDS = 86_400_000_000
_EPOCH = date(1970, 1, 1)
_BASE32 = np.frombuffer(b"0123456789abcdefghijklmnopqrstuv", dtype=np.uint8)

REJECTS_SCHEMA = pa.schema(
    [
        ("table_name", pa.string()),
        ("partition", pa.string()),
        ("artifact", pa.string()),
        ("entry", pa.string()),
        ("position", pa.int64()),
        ("raw", pa.string()),
        ("reason", pa.string()),
        ("rejected_at", pa.timestamp("us")),
    ]
)


@dataclass(frozen=True)
class WriteJob:
    """All that a task needs to know to turn standardised rows into files. Picklable.

    `stored_schema` is the schema of data files: the table's columns without those of the hive path.
    """

    root: str
    table: str
    partition: str
    stored_schema: pa.Schema
    slots: tuple[ArtifactSlot, ...]
    index_column: str | None
    ingested_at: datetime
    buffer_max_bytes: int = 64 * 1024 * 1024

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The function for `mapInArrow`: consumes rows, yields facts."""
        task = _Task(self)
        for batch in batches:
            task.take(batch)
        facts = task.finish()
        if facts:
            yield pa.RecordBatch.from_pydict({"fact": pa.array(encode_facts(facts), pa.string())})


@dataclass
class _OpenFile:
    path: str
    writer: pq.ParquetWriter
    rows: int = 0
    first: int = 2**63 - 1
    last: int = -(2**63)


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
    open_files: dict[_Folder, _OpenFile] = field(default_factory=dict)
    rejects: dict[str, list[pa.Table]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.filesystem, self.base = table_filesystem(self.job.root)
        slots = self.job.slots
        self.stored = np.zeros(len(slots), dtype=np.int64)
        self.outside = np.zeros(len(slots), dtype=np.int64)
        self.rejected = np.zeros(len(slots), dtype=np.int64)
        self.units = sorted({slot.unit for slot in slots})
        number = {unit: k for k, unit in enumerate(self.units)}
        self.unit_of_slot = np.array([number[slot.unit] for slot in slots], dtype=np.int64)
        self.id_prefixes = np.frombuffer(b"".join(s.id_prefix for s in slots), dtype=np.uint8).reshape(-1, 12)
        self.windowed = any(slot.keep for slot in slots)
        self.rereads = np.array([slot.is_reread for slot in slots], dtype=bool)

    def take(self, batch: pa.RecordBatch) -> None:
        position = batch.column("position")
        if pc.min(position).as_py() is not None and pc.min(position).as_py() < 0:
            self._take_trailers(batch.filter(pc.less(position, 0)))
            batch = batch.filter(pc.greater_equal(position, 0))
        reason = batch.column("reason")
        if reason.null_count < len(reason):
            self._take_rejects(batch.filter(pc.is_valid(reason)))
            batch = batch.filter(pc.is_null(reason))
        if self.windowed and batch.num_rows:
            batch = self._within_window(batch)
        if batch.num_rows:
            self._take_rows(batch)

    def _take_trailers(self, batch: pa.RecordBatch) -> None:
        columns = (batch.column(name).to_pylist() for name in ("artifact", "position", "raw"))
        for slot, kind, text in zip(*columns, strict=True):
            report = json.loads(text)
            if kind == READ_DONE:
                self.facts.append(ReadFact(slot, report["rows"], report["bytes"]))
            else:
                self.facts.append(ErrorFact(slot, report["error"]))

    def _take_rejects(self, batch: pa.RecordBatch) -> None:
        slots = _slots(batch)
        if self.rereads[slots].any():
            batch = batch.filter(pa.array(~self.rereads[slots]))
            slots = _slots(batch)
        if not batch.num_rows:
            return
        np.add.at(self.rejected, slots, 1)
        now = pa.scalar(self.job.ingested_at.replace(tzinfo=None), pa.timestamp("us"))
        size = batch.num_rows
        rows = pa.Table.from_arrays(
            [
                pa.repeat(self.job.table, size),
                pa.repeat(self.job.partition, size),
                pa.array([slot.location for slot in self.job.slots]).take(pa.array(slots)),
                batch.column("entry"),
                batch.column("position"),
                batch.column("raw"),
                batch.column("reason"),
                pa.repeat(now, size),
            ],
            schema=REJECTS_SCHEMA,
        )
        for number in np.unique(self.unit_of_slot[slots]):
            mask = pa.array(self.unit_of_slot[slots] == number)
            self.rejects.setdefault(self.units[number], []).append(rows.filter(mask))
        for unit, tables in self.rejects.items():
            if sum(table.nbytes for table in tables) > self.job.buffer_max_bytes // 4:
                self._write_rejects(unit)

    def _within_window(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        slots, moments = _slots(batch), _microseconds(batch.column("tp_timestamp"))
        kept = np.zeros(len(slots), dtype=bool)
        for number in np.unique(slots):
            of_slot = slots == number
            windows = self.job.slots[number].keep
            inside = np.zeros(len(slots), dtype=bool) if windows else of_slot
            for window in windows:
                start, end = _to_microseconds(window.start), _to_microseconds(window.end)
                inside |= of_slot & (moments >= start) & (moments < end)
            kept |= inside
        if kept.all():
            return batch
        np.add.at(self.outside, slots[~kept], 1)
        return batch.filter(pa.array(kept))

    def _take_rows(self, batch: pa.RecordBatch) -> None:
        slots = _slots(batch)
        np.add.at(self.stored, slots, 1)
        days = _microseconds(batch.column("tp_timestamp")) // _DAY_MICROSECONDS
        indexes, index_of_row = self._indexes(batch)
        keys = np.stack([self.unit_of_slot[slots], index_of_row, days])
        folders, folder_of_row = np.unique(keys, axis=1, return_inverse=True)
        rows = self._stored_columns(batch, slots)
        for number, (unit, index, day) in enumerate(folders.T):
            folder = _Folder(self.units[unit], indexes[index], int(day))
            part = rows if folders.shape[1] == 1 else rows.filter(pa.array(folder_of_row.ravel() == number))
            self.buffers.setdefault(folder, []).append(part)
            self.buffer_bytes[folder] = self.buffer_bytes.get(folder, 0) + part.nbytes
        self._check_folder_count()
        while sum(self.buffer_bytes.values()) > self.job.buffer_max_bytes:
            self._flush(max(self.buffer_bytes, key=self.buffer_bytes.__getitem__))

    def _indexes(self, batch: pa.RecordBatch) -> tuple[list[str], np.ndarray[Any, Any]]:
        if self.job.index_column is None:
            return [DEFAULT_INDEX], np.zeros(batch.num_rows, dtype=np.int64)
        values = pc.fill_null(batch.column("tp_index").cast(pa.string()), DEFAULT_INDEX)
        encoded = values.dictionary_encode()
        indexes = [value or DEFAULT_INDEX for value in encoded.dictionary.to_pylist()]
        return indexes, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)

    def _stored_columns(self, batch: pa.RecordBatch, slots: np.ndarray[Any, Any]) -> pa.Table:
        arrays = []
        present = set(batch.schema.names)
        for column in self.job.stored_schema:
            if column.name == "tp_id":
                arrays.append(self._row_ids(batch, slots))
            elif column.name == "tp_ingest_timestamp":
                moment = pa.scalar(self.job.ingested_at.replace(tzinfo=None), column.type)
                arrays.append(pa.repeat(moment, batch.num_rows))
            else:
                own = batch.column(column.name) if column.name in present else None
                if own is not None and column.name.startswith("tp_") and pa.types.is_list(own.type):
                    own = _without_empty_lists(own)
                arrays.append(_as_stored(self._with_constants(column, own, slots), column.type))
        return pa.Table.from_arrays(arrays, schema=self.job.stored_schema)

    def _with_constants(self, column: pa.Field, own: Any, slots: np.ndarray[Any, Any]) -> Any:
        values = [slot.constants.get(column.name) for slot in self.job.slots]
        if not any(value is not None for value in values):
            return own if own is not None else pa.nulls(len(slots), column.type)
        if (slots == slots[0]).all():
            constant = pa.repeat(pa.scalar(values[slots[0]], pa.string()), len(slots))
        else:
            constant = pa.array(values, pa.string()).take(pa.array(slots))
        return constant if own is None else pc.coalesce(own, constant)

    def _row_ids(self, batch: pa.RecordBatch, slots: np.ndarray[Any, Any]) -> pa.Array:
        """20 characters: 12 say which artifact, 8 count its records, so that an id is the same on every run."""
        count = batch.num_rows
        positions = batch.column("position").to_numpy(zero_copy_only=False).astype(np.int64)
        text = np.empty((count, 20), dtype=np.uint8)
        text[:, :12] = self.id_prefixes[slots]
        for k in range(8):
            text[:, 12 + k] = _BASE32[(positions >> (5 * (7 - k))) & 31]
        entries = batch.column("entry")
        if entries.null_count < count:
            _mix_entries(text, entries)
        offsets = np.arange(0, 20 * (count + 1), 20, dtype=np.int32)
        return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text.tobytes()))

    def _check_folder_count(self) -> None:
        if len(self.buffers) > MAX_FOLDERS:
            raise LakeError(
                f'{self.job.table}.{self.job.partition}: tp_index "{self.job.index_column}" and the days of the '
                f"rows make more than {MAX_FOLDERS:,} folders",
                hint="choose a tp_index column with few values, such as an account or a host",
            )

    def _flush(self, folder: _Folder) -> None:
        rows = pa.concat_tables(self.buffers.pop(folder)).combine_chunks().sort_by("tp_timestamp")
        del self.buffer_bytes[folder]
        file = self.open_files.get(folder) or self._open(folder)
        file.writer.write_table(rows, row_group_size=max(1, rows.num_rows))
        moments = rows.column("tp_timestamp").cast(pa.int64())
        file.rows += rows.num_rows
        file.first = min(file.first, moments[0].as_py())
        file.last = max(file.last, moments[-1].as_py())

    def _open(self, folder: _Folder) -> _OpenFile:
        if len(self.open_files) >= MAX_OPEN_FILES:
            self._close(next(iter(self.open_files)))
        day = _EPOCH + timedelta(days=folder.day)
        relative = f"{hive_folder(self.job.partition, folder.index, day)}/{uuid.uuid4().hex}.parquet"
        path = f"{self.base}/{relative}"
        self.filesystem.create_dir(path.rsplit("/", 1)[0], recursive=True)
        writer = pq.ParquetWriter(
            path,
            self.job.stored_schema,
            filesystem=self.filesystem,
            compression="zstd",
            compression_level=1,
            coerce_timestamps="us",
        )
        self.open_files[folder] = _OpenFile(relative, writer)
        return self.open_files[folder]

    def _close(self, folder: _Folder) -> None:
        file = self.open_files.pop(folder)
        file.writer.close()
        path = f"{self.base}/{file.path}"
        sync(self.filesystem, path)
        self.facts.append(
            FileFact(
                unit=folder.unit,
                path=file.path,
                size_bytes=self.filesystem.get_file_info(path).size,
                rows=file.rows,
                partition_values={
                    "tp_partition": self.job.partition,
                    "tp_index": folder.index,
                    "tp_date": (_EPOCH + timedelta(days=folder.day)).isoformat(),
                },
                # The log keeps milliseconds; a range must not become smaller than the rows.
                first=_iso_milliseconds(file.first // 1000),
                last=_iso_milliseconds(-(-file.last // 1000)),
            )
        )

    def _write_rejects(self, unit: str) -> None:
        rows = pa.concat_tables(self.rejects.pop(unit))
        relative = rejects_path(self.job.partition, uuid.uuid4().hex)
        path = f"{self.base}/{relative}"
        self.filesystem.create_dir(path.rsplit("/", 1)[0], recursive=True)
        pq.write_table(rows, path, filesystem=self.filesystem, compression="zstd")
        sync(self.filesystem, path)
        self.facts.append(RejectsFact(unit, relative, rows.num_rows))

    def finish(self) -> list[Fact]:
        for folder in sorted(self.buffers):
            self._flush(folder)
        for folder in list(self.open_files):
            self._close(folder)
        for unit in list(self.rejects):
            self._write_rejects(unit)
        touched = np.flatnonzero(self.stored + self.outside + self.rejected)
        self.facts += [
            RowsFact(int(k), int(self.stored[k]), int(self.outside[k]), int(self.rejected[k])) for k in touched
        ]
        return self.facts


def _slots(batch: pa.RecordBatch) -> np.ndarray[Any, Any]:
    slots: np.ndarray[Any, Any] = batch.column("artifact").to_numpy(zero_copy_only=False)
    return slots


def _microseconds(column: pa.Array) -> np.ndarray[Any, Any]:
    values: np.ndarray[Any, Any] = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return values


def _to_microseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _iso_milliseconds(milliseconds: int) -> str:
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds)  # noqa: DTZ001
    return moment.isoformat(timespec="milliseconds")


def _as_stored(array: Any, stored_type: pa.DataType) -> Any:
    """The engines name list items and zones differently from the lake; values stay as they are."""
    if array.type == stored_type:
        return array
    if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(stored_type):
        return array.cast(pa.int64()).cast(stored_type)
    if pa.types.is_struct(stored_type):
        members = [_as_stored(array.field(k), member.type) for k, member in enumerate(stored_type)]
        return pa.StructArray.from_arrays(members, fields=list(stored_type), mask=array.is_null())
    if pa.types.is_list(stored_type):
        values = _as_stored(array.values, stored_type.value_type)
        return pa.ListArray.from_arrays(array.offsets, values, type=stored_type, mask=array.is_null())
    return array.cast(stored_type)


def _without_empty_lists(lists: pa.Array) -> pa.Array:
    is_empty = pc.equal(pc.list_value_length(lists), 0)
    return pc.if_else(is_empty, pa.scalar(None, lists.type), lists) if pc.any(is_empty).as_py() else lists


def _mix_entries(text: np.ndarray[Any, Any], entries: pa.Array) -> None:
    """Records of an archive count from 1 in each entry: the entry's name enters the id."""
    import hashlib

    encoded = entries.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    for number, name in enumerate(encoded.dictionary.to_pylist()):
        digest = np.frombuffer(hashlib.blake2b(name.encode(), digest_size=6).digest(), dtype=np.uint8)
        rows = codes == number
        text[rows, 6:12] = _BASE32[(text[rows, 6:12].astype(np.int64) * 7 + digest) & 31]


