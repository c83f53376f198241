"""Manifests as Parquet files: the header in the metadata, one row for each artifact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol, Self

import msgspec
import pyarrow.parquet as pq

from tailpipe.arrow import np, pa
from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.manifest import Failure, Header, KnownArtifact
from tailpipe.lake.manifest_columns import SCHEMA, SHARED, as_columns, stored_names, typed

_HEADER_KEY = b"tailpipe.header"
# Artifacts that are read and written at once: to look at one of them is to read so many.
_GROUP_ROWS = 1 << 15


class Rows(Protocol):
    """Known artifacts as columns, whether they are in memory or not."""

    @property
    def num_rows(self) -> int: ...

    def select(self, names: Sequence[str]) -> pa.Table: ...

    def take(self, indices: Any) -> pa.Table:
        """Rows with all columns."""


@dataclass(frozen=True)
class Manifest:
    header: Header
    rows: Rows

    @classmethod
    def of(cls, header: Header, known: Iterable[KnownArtifact] = ()) -> Self:
        return cls(header, as_columns(tuple(known)))


@dataclass(frozen=True)
class StoredRows:
    """Rows of a manifest in a file: what is asked for is read then."""

    address: TableAddress
    path: str
    metadata: Any

    @property
    def num_rows(self) -> int:
        return int(self.metadata.num_rows)

    def select(self, names: Sequence[str]) -> pa.Table:
        return self._read(names, range(self.metadata.num_row_groups))

    def take(self, indices: Any) -> pa.Table:
        """Reads the groups of rows in which they lie."""
        sizes = [self.metadata.row_group(number).num_rows for number in range(self.metadata.num_row_groups)]
        starts = np.cumsum([0, *sizes])
        groups, which = np.unique(np.searchsorted(starts, indices, side="right") - 1, return_inverse=True)
        starts_read = np.cumsum([0, *(sizes[group] for group in groups)])[:-1]
        rows = self._read(SCHEMA.names, groups.tolist())
        return rows.take(pa.array(indices - starts[groups][which] + starts_read[which]))

    def _read(self, names: Sequence[str], groups: Sequence[int]) -> pa.Table:
        # One small file: opening it directly takes a third of the time that a dataset of one does.
        with (
            _readable(self.address, self.path),
            self.address.files.whole(self.path)() as opened,
            pq.ParquetFile(opened, metadata=self.metadata, read_dictionary=SHARED) as file,
        ):
            schema = file.schema_arrow
            columns = stored_names(names, schema)
            # Few rows at a time: texts of a whole column would be moved while they grow.
            batches = file.iter_batches(_GROUP_ROWS, groups, columns, use_threads=False)
            rows = pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in columns]))
            return typed(rows, names, schema)


def write_manifest(address: TableAddress, path: str, manifest: Manifest) -> None:
    """Returns when the file is safe on its disk. Raises FileExistsError where there is one."""
    try:
        with address.files.open_new(path) as file:
            _write(file, manifest)
        address.files.sync(path)
    except FileExistsError:
        raise
    except BaseException:
        address.discard([path])
        raise


def _write(file: Any, manifest: Manifest) -> None:
    schema = SCHEMA.with_metadata({_HEADER_KEY: msgspec.json.encode(manifest.header)})
    count = manifest.rows.num_rows
    with pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=SHARED) as writer:
        for start in range(0, count, _GROUP_ROWS):
            rows = manifest.rows.take(np.arange(start, min(start + _GROUP_ROWS, count)))
            writer.write_table(rows.replace_schema_metadata(schema.metadata), _GROUP_ROWS)


def read_manifest(address: TableAddress, path: str) -> Manifest:
    """Its artifacts are read when they are asked for."""
    with _readable(address, path), address.files.whole(path)() as file:
        metadata = pq.read_metadata(file)
    return Manifest(_header(metadata, path), StoredRows(address, path, metadata))


@contextmanager
def _readable(address: TableAddress, path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise LakeError(
            f"{address}/{path}: the log names this manifest, and it cannot be read: {error}",
            hint="check that the folder is whole and readable; other programs must not write into it",
        ) from error


def _header(metadata: Any, path: str) -> Header:
    try:
        header = _decode_header(metadata.metadata[_HEADER_KEY])
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise LakeError(
            f"{path}: this is no manifest that can be read: {error}",
            hint="it comes from another version of Tailpipe, or another program wrote into the lake",
        ) from error
    return msgspec.structs.replace(header, failures=tuple(map(_with_fields, header.failures)))


_decode_header = msgspec.json.Decoder(Header).decode


def _with_fields(failure: Failure) -> Failure:
    """Manifests of before have the day or the location in the label alone."""
    if failure.day or failure.location:
        return failure
    try:
        return msgspec.structs.replace(failure, day=date.fromisoformat(failure.label))
    except ValueError:
        return msgspec.structs.replace(failure, location=failure.label)
