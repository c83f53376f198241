"""Quarantine files: records that could not become rows, with all that is needed to try them again."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailpipe.lake.columns import PREFIX_LENGTH
from tailpipe.lake.facts import RejectsFact
from tailpipe.lake.files import sync
from tailpipe.lake.layout import rejects_path

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
    pq.write_table(rows, path, filesystem=filesystem, compression="zstd")
    sync(filesystem, path)
    return RejectsFact(unit, relative, rows.num_rows)


def read_rejects(filesystem: Any, base: str, path: str, columns: list[str] | None = None) -> pa.Table:
    # One file, not a dataset: its path must not be taken for a hive path.
    with pq.ParquetFile(f"{base}/{path}", filesystem=filesystem) as file:
        return file.read(columns=columns)


def has_prefix(ids: Any, prefixes: Iterable[str]) -> Any:
    """Which ids are of one of the artifacts; null ids of none."""
    starts = pc.utf8_slice_codeunits(ids, 0, PREFIX_LENGTH)
    return pc.is_in(starts, value_set=pa.array(sorted(prefixes), pa.string()))
