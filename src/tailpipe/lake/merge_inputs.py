"""Which files are merged, and the place that each of their rows gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailpipe.lake.columns import Numbers
from tailpipe.lake.files import Files
from tailpipe.lake.folder_limit import MAX_INDEX_VALUES
from tailpipe.lake.removal import LiveFile

# The index of each row, from the columns that it is made of.
Indexing = Callable[[pa.Table], pa.Array]

_SMALL_BYTES = 64 * 1024 * 1024
_LARGE_GROUP_BYTES = 1024 * 1024
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


@dataclass(frozen=True)
class RowGroup:
    """A row group; `start` counts its rows among those of all groups, `first` and `last` are places in the output."""

    file: int
    number: int
    start: int
    rows: int
    first: int
    last: int


@dataclass(frozen=True)
class Inputs:
    """`places` has for each row its place in the output. `indexes` are in the order of the output, with the place at
    which each begins."""

    openers: Sequence[Callable[[], Any]]
    schemas: Sequence[pa.Schema]
    groups: Sequence[RowGroup]
    places: Numbers
    indexes: Sequence[tuple[str, int]]

    @property
    def rows(self) -> int:
        return len(self.places)

    def read(self, group: RowGroup) -> tuple[pa.Table, Numbers]:
        with self.openers[group.file]() as opened, pq.ParquetFile(opened) as parquet:
            # Threads cost more than they gain in small ones.
            is_large = parquet.metadata.row_group(group.number).total_byte_size > _LARGE_GROUP_BYTES
            rows = parquet.read_row_group(group.number, use_threads=is_large)
        return rows, self.places[group.start : group.start + group.rows]


def read_inputs(files: Files, merge: Merge) -> Inputs:
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
                rows = parquet.read_row_group(k, columns=names, use_threads=False)
                moments.append(rows.column(_TIME).cast(pa.int64()).to_numpy())
                codes.append(_codes(file, rows, merge.indexing, known))
                counts.append((number, k, rows.num_rows))
    places, indexes = _places(np.concatenate(moments), np.concatenate(codes), known)
    return Inputs(openers, schemas, _groups(counts, places), places, indexes)


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


def _groups(counts: Iterable[tuple[int, int, int]], places: Numbers) -> list[RowGroup]:
    groups: list[RowGroup] = []
    start = 0
    for file, number, rows in counts:
        if rows:
            own = places[start : start + rows]
            groups.append(RowGroup(file, number, start, rows, int(own.min()), int(own.max())))
        start += rows
    return sorted(groups, key=lambda group: group.first)
