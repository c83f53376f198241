"""A connection, and small Delta tables as collection leaves them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tailpipe.query.connection import open_connection

EVENTS_SCHEMA = pa.schema(
    [
        ("event_name", pa.string()),
        ("request", pa.string()),
        ("identity", pa.struct([("type", pa.string()), ("session", pa.string())])),
        ("address", pa.string()),
        ("event_id", pa.string()),
        ("extra", pa.string()),
        ("tp_timestamp", pa.timestamp("us")),
        ("tp_partition", pa.string()),
        ("tp_index", pa.string()),
        ("tp_date", pa.date32()),
    ]
)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_connection() as connection:
        yield connection


@pytest.fixture(scope="session")
def events_location(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two partitions and two indexes, an event at noon of each of five days."""
    location: Path = tmp_path_factory.mktemp("lake") / "events"
    rows = [
        _event(day, partition, index)
        for day in range(1, 6)
        for partition, index in (("prod", "111"), ("prod", "222"), ("dev", "111"))
    ]
    table = pa.Table.from_pylist(rows, schema=EVENTS_SCHEMA)
    write_deltalake(str(location), table, partition_by=["tp_partition", "tp_index", "tp_date"])
    return str(location)


def _event(day: int, partition: str, index: str) -> dict[str, object]:
    return {
        "event_name": "Get" if day % 2 else None,
        "request": f'{{"day": {day}}}' if day % 2 else None,
        "identity": {"type": "user", "session": '{"mfa": true}'} if day % 2 else None,
        "address": "10.0.0.1",
        "event_id": f"f1f2a9e4-0000-4000-8000-00000000000{day}",
        "extra": "kept",
        "tp_timestamp": datetime(2024, 1, day, 12),  # noqa: DTZ001
        "tp_partition": partition,
        "tp_index": index,
        "tp_date": date(2024, 1, day),
    }
