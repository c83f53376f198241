"""How fast a partition's state opens that has a long history, or lies beside one that has, or beside many others."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

import pyarrow as pa

from bench.measure import best_seconds
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.catalog import partition_states
from tailpipe.lake.log import TableLog
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.lake.paths import PARTITION_COLUMNS
from tailpipe.lake.transaction import Change
from tailpipe.times import Window

NAME = "histories"
PARTITIONS = 200
SCHEMA = pa.schema(
    [*((name, pa.string()) for name in PARTITION_COLUMNS), ("tp_timestamp", pa.timestamp("us"))]
)
START = datetime(2024, 1, 1, tzinfo=UTC)


def report(commits: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(folder)
        address = lake.table("t")
        for number in range(PARTITIONS):
            _commit(address, f"p{number}", 1)
        seconds = _commit(address, "busy", commits)
        yield f"\n{NAME}: {commits:,} commits of one partition, one of each of {PARTITIONS} others\n"
        yield "| what | time |\n|---|---|"
        yield f"| a commit | {seconds * 1000:.1f} ms |"
        for name in ("busy", "p0"):
            yield f"| opening the state of {name} | {best_seconds(partial(_known, address, name)):.3f} s |"
        yield f"| opening all states | {best_seconds(lambda: partition_states(lake, 't')):.3f} s |"


def _known(address: TableAddress, partition: str) -> int:
    return sum(1 for _ in TableLog(address, SCHEMA).state(partition).artifacts.known())


def _commit(address: TableAddress, partition: str, count: int) -> float:
    log = TableLog(address, SCHEMA)
    version = log.version(partition)
    started = time.perf_counter()
    for number in range(count):
        day = START + timedelta(days=number)
        window = Window(day, day + timedelta(days=1))
        known = KnownArtifact("file", f"{number}.log", f"{number}.log", "1", 10, window, (window,))
        version = log.commit(
            Change(partition, "collect", f"{day:%Y-%m-%d}", "run", artifacts=(known,)), version
        )
    return (time.perf_counter() - started) / count
