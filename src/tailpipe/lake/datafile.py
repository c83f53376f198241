"""A data file while it is written: how rows are encoded, and what the log wants to know of them."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailpipe.lake.address import TableAddress
from tailpipe.lake.columns import encodings
from tailpipe.lake.facts import FileFact

# Of rows as Arrow has them in memory.
ROW_GROUP_MAX_BYTES = 64 * 1024 * 1024


@dataclass
class DataFile:
    address: TableAddress
    path: str
    partition_values: Mapping[str, str]
    sink: Any
    writer: pq.ParquetWriter
    rows: int = 0
    first: int = 2**63 - 1
    last: int = -(2**63)

    def write(self, rows: pa.Table) -> None:
        """As one row group, so whoever calls bounds its size and sorts it by time."""
        self.writer.write_table(rows, row_group_size=rows.num_rows)
        times = pc.min_max(rows.column("tp_timestamp").cast(pa.int64())).as_py()
        self.rows += rows.num_rows
        self.first = min(self.first, times["min"])
        self.last = max(self.last, times["max"])

    def close(self, unit: str) -> FileFact:
        """Returns when the file is safe on its disk."""
        self.writer.close()
        size_bytes = self.sink.tell()
        self.sink.close()
        self.address.files.sync(self.path)
        return FileFact(
            unit=unit,
            path=self.path,
            size_bytes=size_bytes,
            rows=self.rows,
            partition_values=dict(self.partition_values),
            # The log keeps milliseconds; a range must not become smaller than the rows.
            first=_iso_milliseconds(self.first // 1000),
            last=_iso_milliseconds(-(-self.last // 1000)),
        )

    def abandon(self) -> None:
        with contextlib.suppress(OSError, pa.ArrowException):
            self.writer.close()
            self.sink.close()
        # Else it would try once more when it is forgotten, and complain to the terminal.
        self.writer.is_open = False
        self.address.discard([self.path])


def open_data_file(
    address: TableAddress, folder: str, partition_values: Mapping[str, str], schema: pa.Schema
) -> DataFile:
    """A new file with a name of its own in the hive folder."""
    path = f"{folder}/{uuid.uuid4().hex}.parquet"
    sink = address.files.open_write(path)
    writer = pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=1,
        coerce_timestamps="us",
        **encodings(schema),
    )
    return DataFile(address, path, partition_values, sink, writer)


def _iso_milliseconds(milliseconds: int) -> str:
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds)  # noqa: DTZ001
    return moment.isoformat(timespec="milliseconds")
