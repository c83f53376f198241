"""Rows leave a table: files are rewritten without them, and the log drops the old file as it adds the new one.

Nothing here changes what is visible. One row group at a time is in memory.
"""

from __future__ import annotations

import json
import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.datafile import open_data_file
from tailpipe.lake.facts import FileFact, RejectsFact
from tailpipe.lake.paths import PARTITION_COLUMNS
from tailpipe.lake.rejects import has_prefix, read_rejects, records_in, write_rejects
from tailpipe.times import Window

# For each row of a table a boolean: whether it goes. Null means that it stays.
Gone = Callable[[pa.Table], Any]
# Hears of files as soon as they are written: whoever commits takes them back if nothing comes of it.
Wrote = Callable[[Iterable[str]], None]


@dataclass(frozen=True)
class LiveFile:
    """A data file that the log names. `path` is relative to the table, as the file is called there.

    `first` and `last` are naive UTC and may be wider than the rows by less than a millisecond.
    """

    path: str
    size_bytes: int
    rows: int
    partition_values: Mapping[str, str]
    first: datetime | None
    last: datetime | None

    @property
    def day(self) -> date:
        return date.fromisoformat(self.partition_values["tp_date"])

    @property
    def range(self) -> tuple[datetime, datetime]:
        """No row is before the first or after the last of these."""
        start, end = datetime.combine(self.day, time.min), datetime.combine(self.day, time.max)
        return max(start, self.first or start), min(end, self.last or end)


@dataclass(frozen=True)
class Removal:
    """`removed` are the files that held the rows, `added` what is left of them, `rows` how many rows go."""

    removed: tuple[LiveFile, ...]
    added: tuple[FileFact, ...]
    rows: int


@dataclass(frozen=True)
class RejectRemoval:
    """The same for files of quarantine."""

    removed: tuple[str, ...]
    added: tuple[RejectsFact, ...]
    rows: int


def live_files(delta: Any, partition: str | None = None, days: Iterable[str] | None = None) -> list[LiveFile]:
    """The data files of a partition or of all, and of some days or of all, told by the log alone."""
    actions = pa.table(delta.get_add_actions(flatten=True))
    if not actions.num_rows:
        return []
    if partition is not None:
        actions = actions.filter(pc.equal(actions["partition.tp_partition"], partition))
    if days is not None:
        wanted = pa.array(sorted(days), pa.string())
        actions = actions.filter(pc.is_in(actions["partition.tp_date"].cast(pa.string()), value_set=wanted))
    values = [actions[f"partition.{name}"].cast(pa.string()).to_pylist() for name in PARTITION_COLUMNS]
    columns = (
        actions["path"].to_pylist(),
        actions["size_bytes"].to_pylist(),
        pc.fill_null(actions["num_records"], 0).to_pylist(),
        [dict(zip(PARTITION_COLUMNS, texts, strict=True)) for texts in zip(*values, strict=True)],
        _moments(actions, "min.tp_timestamp"),
        _moments(actions, "max.tp_timestamp"),
    )
    # The log knows paths as URLs, the file system as they are.
    return [LiveFile(unquote(path), *more) for path, *more in zip(*columns, strict=True)]


def are_live(delta: Any, files: Sequence[LiveFile]) -> bool:
    """Whether all of the files are visible at the table's version."""
    if not files:
        return True
    paths = pa.table(delta.get_add_actions(flatten=True))["path"].to_pylist()
    return {file.path for file in files} <= set(map(unquote, paths))


def add_action(fact: FileFact, *, is_data: bool = True) -> Any:
    """For the transaction that puts the file into the table. Not data: its rows were there before, in other files."""
    from deltalake.transaction import AddAction

    statistics = {
        "numRecords": fact.rows,
        "minValues": {"tp_timestamp": fact.first},
        "maxValues": {"tp_timestamp": fact.last},
        "nullCount": {"tp_timestamp": 0},
    }
    now = int(clock.time() * 1000)
    return AddAction(fact.path, fact.size_bytes, fact.partition_values, now, is_data, json.dumps(statistics))


def remove_action(file: LiveFile) -> Any:
    """For the transaction that takes the file out of the table.

    Always one that changes data, also where its rows stay in other files: writers that use the Delta library would not
    see a conflict with a commit that removes files without changing data, and commit what they made of these files.
    """
    from deltalake.transaction import RemoveAction

    now = int(clock.time() * 1000)
    return RemoveAction(file.path, True, now, file.size_bytes, dict(file.partition_values))


def remove_chosen(
    address: TableAddress, files: Sequence[LiveFile], chosen: Chosen, unit: str, wrote: Wrote
) -> Removal:
    """Rows that were chosen by their tp_id. Reads the ids of the files one after another, until all are found."""
    return _remove(address, files, "tp_id", chosen, unit, wrote, is_done=lambda: chosen.is_found)


def remove_window(
    address: TableAddress, files: Sequence[LiveFile], window: Window, unit: str, wrote: Wrote
) -> Removal:
    """Rows of the window. Files wholly inside or outside of it are not opened."""
    start, end = window.start.replace(tzinfo=None), window.end.replace(tzinfo=None)
    whole, others = [], []
    for file in files:
        first, last = file.range
        if start <= first and last < end:
            whole.append(file)
        elif first < end and last >= start:
            others.append(file)

    def is_gone(rows: pa.Table) -> Any:
        moments = rows.column("tp_timestamp").cast(pa.timestamp("us"))
        return pc.and_(pc.greater_equal(moments, start), pc.less(moments, end))

    rest = _remove(address, others, "tp_timestamp", is_gone, unit, wrote)
    return Removal((*whole, *rest.removed), rest.added, rest.rows + sum(file.rows for file in whole))


def remove_rejects(
    address: TableAddress, partition: str, files: Sequence[str], is_gone: Gone, unit: str, wrote: Wrote
) -> RejectRemoval:
    """Rejects of which `is_gone(rows)` is true; it is asked once per file. Files are relative to the table."""
    removed: list[str] = []
    added: list[RejectsFact] = []
    gone = 0
    for path in files:
        with rewriting_of(address, path):
            rows = read_rejects(address, path)
            kept = rows.filter(_stays(is_gone(rows)))
            if kept.num_rows == rows.num_rows:
                continue
            removed.append(path)
            gone += records_in(rows) - records_in(kept)
            if kept.num_rows:
                added.append(write_rejects(address, partition, kept, unit))
                wrote([added[-1].path])
    return RejectRemoval(tuple(removed), tuple(added), gone)


def by_prefix(prefixes: frozenset[str]) -> Gone:
    """Rejects of the artifacts whose ids begin so."""
    return lambda rows: has_prefix(rows.column("id"), prefixes)


@dataclass
class Chosen:
    """All rows or rejects of the artifacts with these prefixes, and single ones by ids. `found` are those seen."""

    prefixes: frozenset[str]
    ids: frozenset[str] = frozenset()
    found: set[str] = field(default_factory=set)

    def __call__(self, rows: pa.Table) -> Any:
        column = rows.column("tp_id" if "tp_id" in rows.column_names else "id")
        is_single = pc.is_in(column, value_set=pa.array(sorted(self.ids), pa.string()))
        self.found.update(column.filter(is_single).to_pylist())
        return pc.or_(is_single, has_prefix(column, self.prefixes))

    @property
    def is_found(self) -> bool:
        """Whether nothing of it can be elsewhere: an id is there once, of an artifact nobody knows how many."""
        return not self.prefixes and self.found == self.ids


def _remove(
    address: TableAddress,
    files: Sequence[LiveFile],
    column: str,
    is_gone: Gone,
    unit: str,
    wrote: Wrote,
    is_done: Callable[[], bool] = lambda: False,
) -> Removal:
    """`is_gone` sees the one column. Files after the one with which it is done are not opened."""
    removed: list[LiveFile] = []
    added: list[FileFact] = []
    gone = 0
    for file in files:
        if is_done():
            break
        with (
            rewriting_of(address, file.path),
            address.files.open_read(file.path) as opened,
            pq.ParquetFile(opened) as parquet,
        ):
            groups = range(parquet.num_row_groups)
            stays = [_stays(is_gone(parquet.read_row_group(k, columns=[column]))) for k in groups]
            kept = sum(pc.sum(mask).as_py() or 0 for mask in stays)
            if kept == parquet.metadata.num_rows:
                continue
            removed.append(file)
            gone += parquet.metadata.num_rows - kept
            if kept:
                added.append(_rewrite(parquet, stays, address, file, unit))
                wrote([added[-1].path])
    return Removal(tuple(removed), tuple(added), gone)


def _rewrite(
    parquet: pq.ParquetFile, stays: Sequence[Any], address: TableAddress, file: LiveFile, unit: str
) -> FileFact:
    folder = file.path.rsplit("/", 1)[0]
    new = open_data_file(address, folder, file.partition_values, parquet.schema_arrow)
    try:
        for k, mask in enumerate(stays):
            if pc.any(mask).as_py():
                new.write(parquet.read_row_group(k).filter(mask))
        return new.close(unit)
    except BaseException:
        new.abandon()
        raise


def _stays(is_gone: Any) -> Any:
    return pc.invert(pc.fill_null(is_gone, False))


def _moments(actions: pa.Table, name: str) -> list[datetime | None]:
    if name not in actions.column_names:
        return [None] * actions.num_rows
    moments: list[datetime | None] = actions[name].cast(pa.timestamp("us")).to_pylist()
    return moments


@contextmanager
def rewriting_of(address: TableAddress, path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise LakeError(
            f"{address}: {path} cannot be rewritten: {error}. Nothing was changed.",
            hint="check that the file is whole and can be read, and that the disk has room",
        ) from error
