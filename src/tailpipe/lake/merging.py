"""Files become others that have the same rows, sorted by time, in bounded memory.

Times, and the index where rows get a new one, tell the place of each row. Then rows are taken in rounds: as many of the
next ones as memory may hold, from every row group that has some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.columns import Numbers
from tailpipe.lake.datafile import ROW_GROUP_MAX_BYTES, DataFile, open_data_file
from tailpipe.lake.facts import FileFact
from tailpipe.lake.files import Files
from tailpipe.lake.folder_limit import MAX_INDEX_VALUES
from tailpipe.lake.paths import PARTITION_COLUMNS, hive_folder
from tailpipe.lake.removal import LiveFile, Wrote, rewriting_of

# The index of each row, from the columns that it is made of.
Indexing = Callable[[pa.Table], pa.Array]

# Rows in memory, as Arrow has them. Beside them are small files as they are on disk, and 16 bytes for each row.
ROUND_BYTES = 256 * 1024 * 1024
# A round that has too many rows keeps so many of them.
_KEPT_OF_ROUND = 0.8
_SMALL_BYTES = 64 * 1024 * 1024
_READERS = 8
_TIME = "tp_timestamp"


@dataclass(frozen=True)
class Merge:
    """Files of one partition and day that become others, of about `file_bytes` each; rows keep their indexes unless
    `indexing` gives them others, of `columns`."""

    files: tuple[LiveFile, ...]
    file_bytes: int
    columns: tuple[str, ...] = ()
    indexing: Indexing | None = None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


def merge_files(
    address: TableAddress, merge: Merge, schema: pa.Schema, unit: str, wrote: Wrote
) -> tuple[FileFact, ...]:
    """`schema` is that of the table; files have those of its columns that one of the old ones has.

    Nothing of it is visible before a commit; `wrote` hears of each file. Raises LakeError.
    """
    folder = merge.files[0].path.rsplit("/", 1)[0]
    with rewriting_of(address, folder):
        inputs = _read_inputs(address.files, merge)
        output = _Output(address, merge, _common_schema(inputs, schema), unit, wrote, _ends(inputs, merge))
        try:
            while output.place < inputs.rows:
                output.write(_round(inputs, output.schema, output.place))
            return output.finished(inputs.rows)
        except BaseException:
            output.abandon()
            raise


@dataclass(frozen=True)
class _Group:
    """A row group; `start` counts its rows among those of all groups, `first` and `last` are places in the output."""

    file: int
    number: int
    start: int
    rows: int
    first: int
    last: int


@dataclass(frozen=True)
class _Inputs:
    """`places` has for each row its place in the output. `indexes` are in the order of the output, with the place at
    which each begins."""

    openers: Sequence[Callable[[], Any]]
    schemas: Sequence[pa.Schema]
    groups: Sequence[_Group]
    places: Numbers
    indexes: Sequence[tuple[str, int]]

    @property
    def rows(self) -> int:
        return len(self.places)

    def read(self, group: _Group) -> tuple[pa.Table, Numbers]:
        with self.openers[group.file]() as opened, pq.ParquetFile(opened) as parquet:
            return parquet.read_row_group(group.number), self.places[group.start : group.start + group.rows]


def _read_inputs(files: Files, merge: Merge) -> _Inputs:
    """Small files are read whole, which is one request each where they are far away."""
    with ThreadPoolExecutor(_READERS) as pool:
        openers = list(pool.map(lambda file: _opener(files, file), merge.files))
    moments: list[Numbers] = []
    codes: list[Numbers] = []
    counts: list[tuple[int, int, int]] = []
    known: dict[str, int] = {}
    schemas = []
    for number, (file, opener) in enumerate(zip(merge.files, openers, strict=True)):
        with opener() as opened, pq.ParquetFile(opened) as parquet:
            _check_rows(file, parquet.metadata.num_rows)
            schemas.append(parquet.schema_arrow)
            for k in range(parquet.num_row_groups):
                names = [name for name in (_TIME, *merge.columns) if name in schemas[-1].names]
                rows = parquet.read_row_group(k, columns=names)
                moments.append(rows.column(_TIME).cast(pa.int64()).to_numpy())
                codes.append(_codes(file, rows, merge.indexing, known))
                counts.append((number, k, rows.num_rows))
    places, indexes = _places(np.concatenate(moments), np.concatenate(codes), known)
    return _Inputs(openers, schemas, _groups(counts, places), places, indexes)


def _opener(files: Files, file: LiveFile) -> Callable[[], Any]:
    if file.size_bytes > _SMALL_BYTES:
        return lambda: files.open_read(file.path)
    content = files.read(file.path)
    return lambda: pa.BufferReader(content)


def _check_rows(file: LiveFile, rows: int) -> None:
    if file.rows not in (0, rows):
        raise OSError(f"{file.path} has {rows:,} rows, and the log says {file.rows:,}")


def _codes(file: LiveFile, rows: pa.Table, indexing: Indexing | None, known: dict[str, int]) -> Numbers:
    if indexing is None:
        code = known.setdefault(file.partition_values["tp_index"], len(known))
        return np.full(rows.num_rows, code, np.int32)
    values = indexing(rows).dictionary_encode()
    numbers = [known.setdefault(value, len(known)) for value in values.dictionary.to_pylist()]
    codes: Numbers = np.array(numbers, np.int32)[values.indices.to_numpy()]
    if len(known) > MAX_INDEX_VALUES:
        raise OSError(f"tp_index would have more than {MAX_INDEX_VALUES:,} values")
    return codes


def _places(
    moments: Numbers, codes: Numbers, known: dict[str, int]
) -> tuple[Numbers, Sequence[tuple[str, int]]]:
    """Rows of one index stand together, sorted by time; those of one moment in the order of the files."""
    order = np.lexsort((moments, codes)) if len(known) > 1 else np.argsort(moments, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(known)))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places, list(zip(known, starts.tolist(), strict=True))


def _groups(counts: Iterable[tuple[int, int, int]], places: Numbers) -> list[_Group]:
    groups: list[_Group] = []
    start = 0
    for file, number, rows in counts:
        if rows:
            own = places[start : start + rows]
            groups.append(_Group(file, number, start, rows, int(own.min()), int(own.max())))
        start += rows
    return sorted(groups, key=lambda group: group.first)


def _common_schema(inputs: _Inputs, schema: pa.Schema) -> pa.Schema:
    found = {name for each in inputs.schemas for name in each.names}
    unknown = found - {*schema.names}
    if unknown:
        raise OSError(f"column {min(unknown)} is not one of the table")
    fields = (each for each in schema if each.name in found and each.name not in PARTITION_COLUMNS)
    return pa.schema(pa.field(each.name, each.type) for each in fields)


def _round(inputs: _Inputs, schema: pa.Schema, start: int) -> pa.Table:
    """Rows from a place on, in their order: at least one, and no more than a round may have."""
    end = inputs.rows
    held: list[tuple[pa.Table, Numbers]] = []
    size_bytes = 0
    for group in inputs.groups:
        if group.last < start or group.first >= end:
            continue
        rows, places = inputs.read(group)
        held.append(_within(_conformed(rows, schema), places, start, end))
        size_bytes += held[-1][0].nbytes
        while size_bytes > ROUND_BYTES and end - start > 1:
            newest = max(int(places.max(initial=start)) for _, places in held)
            end = start + max(1, int((min(end, newest + 1) - start) * _KEPT_OF_ROUND))
            held = [_within(*part, start, end) for part in held]
            size_bytes = sum(rows.nbytes for rows, _ in held)
    return _sorted(held)


def _within(rows: pa.Table, places: Numbers, start: int, end: int) -> tuple[pa.Table, Numbers]:
    """A copy, unless all rows are: a slice would keep the others in memory."""
    is_within = (places >= start) & (places < end)
    return (rows, places) if is_within.all() else (rows.filter(pa.array(is_within)), places[is_within])


def _sorted(held: list[tuple[pa.Table, Numbers]]) -> pa.Table:
    """Column by column, so that there are never two copies of all rows."""
    rows = pa.concat_tables(part for part, _ in held)
    places = np.concatenate([places for _, places in held])
    held.clear()
    order = None if (places[1:] > places[:-1]).all() else pa.array(np.argsort(places))
    schema, columns = rows.schema, []
    for name in schema.names:
        whole = rows.column(name).combine_chunks()
        rows = rows.drop_columns([name])
        columns.append(whole if order is None else whole.take(order))
    return pa.Table.from_arrays(columns, schema=schema)


def _conformed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """With the columns of the schema: older files lack later ones."""
    columns = [
        _chunked(rows.column(each.name), each.type)
        if each.name in rows.column_names
        else pa.nulls(rows.num_rows, each.type)
        for each in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _chunked(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    if column.type == type_:
        return column
    return pa.chunked_array([_with_type(chunk, type_) for chunk in column.chunks], type_)


def _with_type(array: Any, type_: pa.DataType) -> Any:
    """Values stay as they are; members that later files have are null."""
    if array.type == type_:
        return array
    if pa.types.is_struct(type_):
        parts = dict(zip((part.name for part in array.type), array.flatten(), strict=True))
        members = [
            _with_type(parts[each.name], each.type) if each.name in parts else pa.nulls(len(array), each.type)
            for each in type_
        ]
        return pa.StructArray.from_arrays(members, fields=list(type_), mask=array.is_null())
    if pa.types.is_list(type_):
        values = _with_type(array.values, type_.value_type)
        return pa.ListArray.from_arrays(array.offsets, values, type=type_, mask=array.is_null())
    if pa.types.is_map(type_):
        keys, items = _with_type(array.keys, type_.key_type), _with_type(array.items, type_.item_type)
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=type_, mask=array.is_null())
    return array.cast(type_)


@dataclass(frozen=True)
class _End:
    """A file of the output: of which index, and the place after its last row."""

    index: str
    place: int


def _ends(inputs: _Inputs, merge: Merge) -> list[_End]:
    """Files of an index have about the same number of rows."""
    starts = [start for _, start in inputs.indexes]
    ends: list[_End] = []
    for (index, start), end in zip(inputs.indexes, [*starts[1:], inputs.rows], strict=True):
        share = merge.size_bytes * (end - start) / max(1, inputs.rows)
        count = max(1, round(share / merge.file_bytes))
        ends += [_End(index, start + (end - start) * k // count) for k in range(1, count + 1)]
    return ends


class _Output:
    """Files that are written one after another."""

    def __init__(
        self,
        address: TableAddress,
        merge: Merge,
        schema: pa.Schema,
        unit: str,
        wrote: Wrote,
        ends: list[_End],
    ) -> None:
        self.schema = schema
        self._address, self._merge, self._unit, self._wrote = address, merge, unit, wrote
        self._ends = iter(ends)
        self._end = _End("", 0)
        self.place = 0
        self._file: DataFile | None = None
        self._facts: list[FileFact] = []

    def write(self, rows: pa.Table) -> None:
        while rows.num_rows:
            if self._file is None:
                self._end = next(self._ends)
                self._file = self._open(self._end.index)
            part = rows.slice(0, self._end.place - self.place)
            self._write(self._file, part)
            rows = rows.slice(part.num_rows)
            self.place += part.num_rows
            if self.place == self._end.place:
                self._facts.append(self._file.close(self._unit))
                self._file = None

    def finished(self, rows: int) -> tuple[FileFact, ...]:
        """Raises LakeError where rows are missing."""
        written = sum(fact.rows for fact in self._facts)
        if written != rows or self._file is not None:
            raise LakeError(
                f"{self._address}: of {rows:,} rows of {self._unit}, {written:,} were written. Nothing was changed."
            )
        return tuple(self._facts)

    def abandon(self) -> None:
        if self._file is not None:
            self._file.abandon()

    def _open(self, index: str) -> DataFile:
        values = {**self._merge.files[0].partition_values, "tp_index": index}
        folder = hive_folder(values["tp_partition"], index, date.fromisoformat(values["tp_date"]))
        file = open_data_file(self._address, folder, values, self.schema)
        self._wrote([file.path])
        return file

    def _write(self, file: DataFile, rows: pa.Table) -> None:
        """In row groups of about the same size."""
        count = -(-rows.nbytes // ROW_GROUP_MAX_BYTES) or 1
        size = -(-rows.num_rows // count)
        for start in range(0, rows.num_rows, size):
            file.write(rows.slice(start, size))
