"""A table of small files with values of every kind, for tests of compaction."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from tailpipe.lake.address import TableAddress
from tailpipe.lake.datafile import open_data_file
from tailpipe.lake.facts import FileFact
from tailpipe.lake.log import TYPE_KEY, TableLog
from tailpipe.lake.paths import hive_folder
from tailpipe.lake.transaction import Change
from tailpipe.tables.types import arrow_type

DAY = date(2024, 6, 1)
TYPES = {
    "tp_id": "VARCHAR",
    "tp_timestamp": "TIMESTAMP",
    "message": "VARCHAR",
    "details": "JSON",
    "size": "BIGINT",
    "ratio": "DOUBLE",
    "price": "DECIMAL(18,3)",
    "is_new": "BOOLEAN",
    "born": "DATE",
    "seen_at": "TIMESTAMP",
    "content": "BLOB",
    "sizes": "BIGINT[]",
    "tags": "MAP(VARCHAR, VARCHAR)",
    "user": "STRUCT(name VARCHAR, at TIMESTAMP)",
    "people": "STRUCT(name VARCHAR, ages INTEGER[])[]",
    "tp_partition": "VARCHAR",
    "tp_index": "VARCHAR",
    "tp_date": "DATE",
}
SCHEMA = pa.schema(
    pa.field(name, arrow_type(type_), metadata={TYPE_KEY: type_}) for name, type_ in TYPES.items()
)
HIVE = ("tp_partition", "tp_index", "tp_date")
STORED = pa.schema(pa.field(each.name, each.type) for each in SCHEMA if each.name not in HIVE)


def row(number: int, second: int) -> dict[str, Any]:
    """Every third value of a kind is missing, or empty."""
    moment = datetime.combine(DAY, datetime.min.time()) + timedelta(seconds=second, microseconds=number % 7)
    kind = number % 3
    return {
        "tp_id": f"artifact{number // 10:04d}{number:08d}",
        "tp_timestamp": moment,
        "message": (f"line {number} é\n", "", None)[kind],
        "details": ('{"b": 1.0, "a": [ ]}', "null", None)[kind],
        "size": (number - 5, 2**62, None)[kind],
        "ratio": (number / 7, float("nan"), None)[kind],
        "price": (Decimal(number) / 8, Decimal("-0.001"), None)[kind],
        "is_new": (True, False, None)[kind],
        "born": (DAY, date(1, 1, 1), None)[kind],
        "seen_at": (moment, datetime(1, 1, 1), None)[kind],  # noqa: DTZ001
        "content": (bytes([number % 256, 0, 255]), b"", None)[kind],
        "sizes": ([number, None], [], None)[kind],
        "tags": ([("a", f"{number}"), ("b", None)], [], None)[kind],
        "user": ({"name": None, "at": moment}, {"name": None, "at": None}, None)[kind],
        "people": ([{"name": "x", "ages": [1, None]}, None], [{"name": None, "ages": []}], None)[kind],
    }


def write(
    address: TableAddress,
    rows: Sequence[dict[str, Any]],
    *,
    index: str = "default",
    partition: str = "p",
    day: date = DAY,
    schema: pa.Schema = STORED,
    row_groups: int = 1,
) -> FileFact:
    values = {"tp_partition": partition, "tp_index": index, "tp_date": day.isoformat()}
    file = open_data_file(address, hive_folder(partition, index, day), values, schema)
    size = -(-len(rows) // row_groups)
    for start in range(0, len(rows), size):
        file.write(pa.Table.from_pylist(list(rows[start : start + size]), schema=schema))
    return file.close(day.isoformat())


def commit(address: TableAddress, *files: FileFact) -> None:
    log = TableLog(address, SCHEMA)
    partition = files[0].partition_values["tp_partition"]
    log.commit(Change(partition, "collect", DAY.isoformat(), "run", files), log.version(partition))


def opened(address: TableAddress) -> TableLog:
    log = TableLog(address, pa.schema([]))
    log.refresh()
    return log


def contents(address: TableAddress) -> dict[str, list[str]]:
    """By index: a hash of every row with all its values, in any order."""
    found: dict[str, list[str]] = {}
    for path in DeltaTable(address.uri).file_uris():
        index = path.split("tp_index=")[1].split("/")[0]
        found.setdefault(index, []).extend(map(_hash, pq.ParquetFile(path).read().to_pylist()))
    return {index: sorted(hashes) for index, hashes in found.items()}


def _hash(values: dict[str, Any]) -> str:
    """A column that a file lacks is null."""
    known = [(name, repr(values.get(name))) for name in STORED.names]
    return hashlib.sha256(repr(known).encode()).hexdigest()
