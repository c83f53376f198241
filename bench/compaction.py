"""How fast small files become large ones, and what commits and queries gain by it."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import psutil
import pyarrow as pa

from bench.measure import best_seconds
from tailpipe.lake.address import TableAddress
from tailpipe.lake.compaction import ASKED, Compaction, DayCompacted, compact_day, plan_days
from tailpipe.lake.datafile import open_data_file
from tailpipe.lake.facts import FileFact
from tailpipe.lake.log import TYPE_KEY, TableLog
from tailpipe.lake.paths import hive_folder
from tailpipe.lake.transaction import Change
from tailpipe.query.connection import load_extension

NAME = "compaction"
FIRST_DAY = date(2026, 1, 1)
DAYS = 100
SMALL_ROWS = 100
LARGE_FILES, LARGE_ROWS = 60, 50_000
COMMITS = 20
TYPES = {
    "tp_id": (pa.string(), "VARCHAR"),
    "tp_timestamp": (pa.timestamp("us"), "TIMESTAMP"),
    "address": (pa.string(), "VARCHAR"),
    "path": (pa.string(), "VARCHAR"),
    "agent": (pa.string(), "VARCHAR"),
    "request": (pa.string(), "JSON"),
    "size": (pa.int64(), "BIGINT"),
    "tp_partition": (pa.string(), "VARCHAR"),
    "tp_index": (pa.string(), "VARCHAR"),
    "tp_date": (pa.date32(), "DATE"),
}
SCHEMA = pa.schema(pa.field(name, type_, metadata={TYPE_KEY: told}) for name, (type_, told) in TYPES.items())
AGENTS = np.array(
    ["Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36", "curl/8.14.1", "Boto3/1.38.1"]
)
ALL = "SELECT count(*), sum(size) FROM lake WHERE path LIKE '%7'"
ONE_HOUR = "SELECT sum(size) FROM lake WHERE tp_timestamp BETWEEN '2026-02-01 10:00' AND '2026-02-01 11:00'"


def report(files: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        address = TableAddress(f"{folder}/t")
        per_day = max(2, files // DAYS)
        for number in range(DAYS):
            _commit(address, *_copies(address, FIRST_DAY + timedelta(days=number), per_day))
        yield f"\n{NAME}: {DAYS * per_day:,} files of {SMALL_ROWS} rows in {DAYS} days\n"
        yield "| what | before | after |\n|---|---|---|"
        before = _times(address)
        done = _compacted(address)
        for (what, old), new in zip(before.items(), _times(address).values(), strict=True):
            yield f"| {what} | {old * 1000:.1f} ms | {new * 1000:.1f} ms |"
        yield f"\n{done}"
    with tempfile.TemporaryDirectory() as folder:
        address = TableAddress(f"{folder}/t")
        for kind in ("whole days", "hours"):
            shutil.rmtree(address.uri, ignore_errors=True)
            _commit(address, *(_file(address, FIRST_DAY, k, LARGE_ROWS, kind) for k in range(LARGE_FILES)))
            yield f"{LARGE_FILES} files of {kind}: {_compacted(address)}"


def _times(address: TableAddress) -> dict[str, float]:
    """Seconds of each: the best of some."""
    with duckdb.connect() as connection:
        load_extension(connection, "delta")
        connection.execute(f"CREATE VIEW lake AS SELECT * FROM delta_scan('{address.uri}')")
        return {
            "a commit": _commits(address),
            "a query of all rows": best_seconds(lambda: connection.execute(ALL).fetchall()),
            "a query of one hour": best_seconds(lambda: connection.execute(ONE_HOUR).fetchall()),
        }


def _commits(address: TableAddress) -> float:
    """The usual one of a collector, which keeps its log open, in the middle of some."""
    log = TableLog(address, SCHEMA)
    version = log.version("p")
    times = []
    for number in range(COMMITS):
        file = _file(address, FIRST_DAY + timedelta(days=DAYS), number, 10)
        started = time.perf_counter()
        version = log.commit(Change("p", "collect", "day", "run", (file,)), version)
        times.append(time.perf_counter() - started)
    return sorted(times)[COMMITS // 2]


def _compacted(address: TableAddress) -> str:
    log = TableLog(address, pa.schema([]))
    started, worked = time.perf_counter(), time.process_time()
    log.refresh()
    planner = partial(plan_days, ASKED)
    results = (compact_day(log, plan, planner) for plan in planner(log.live_files()))
    done = Compaction.of(each for each in results if isinstance(each, DayCompacted))
    seconds = time.perf_counter() - started
    rate = f"{done.size_bytes / seconds / 1e6:.1f} MB/s, {done.rows / seconds:,.0f} rows/s"
    memory = psutil.Process().memory_info().rss / 1e6
    became = f"{done.files:,} files of {done.size_bytes / 1e6:,.0f} MB became {done.files_after:,}"
    work = f"{seconds:.1f} s ({time.process_time() - worked:.1f} s of CPU)"
    return f"{became} in {work}: {rate}; {memory:,.0f} MB of memory"


def _copies(address: TableAddress, day: date, count: int) -> Iterator[FileFact]:
    """One file under many names: rows that are the same cost what others cost."""
    fact = _file(address, day, 0, SMALL_ROWS)
    yield fact
    for _ in range(count - 1):
        path = f"{fact.path.rpartition('/')[0]}/{uuid.uuid4().hex}.parquet"
        shutil.copyfile(address.path(fact.path), Path(address.path(path)))
        yield FileFact("day", path, fact.size_bytes, fact.rows, fact.partition_values, fact.first, fact.last)


def _file(address: TableAddress, day: date, seed: int, rows: int, kind: str = "whole days") -> FileFact:
    values = {"tp_partition": "p", "tp_index": "default", "tp_date": day.isoformat()}
    table = _rows(day, seed, rows, kind)
    file = open_data_file(address, hive_folder("p", "default", day), values, table.schema)
    file.write(table)
    return file.close("day")


def _rows(day: date, seed: int, rows: int, kind: str) -> pa.Table:
    chance = np.random.default_rng(seed)
    second = 1_000_000
    start = 0 if kind == "whole days" else seed * 1_440 * second
    length = 86_400 * second if kind == "whole days" else 1_440 * second
    midnight = int((datetime.combine(day, datetime.min.time()) - datetime(1970, 1, 1)).total_seconds())  # noqa: DTZ001
    moments = np.sort(chance.integers(start, start + length, rows)) + midnight * second
    numbers = chance.integers(0, 10**7, rows)
    return pa.table(
        {
            "tp_id": [f"{seed:012d}{k:08d}" for k in range(rows)],
            "tp_timestamp": pa.array(moments, pa.timestamp("us")),
            "address": [f"10.0.{k % 13}.{k % 251}" for k in numbers],
            "path": [f"/api/v2/orders/{k}" for k in numbers],
            "agent": AGENTS[numbers % 3],
            "request": [f'{{"bucketName":"data-{k % 97}","key":"part-{k:07d}.parquet"}}' for k in numbers],
            "size": pa.array(numbers % 1_000_000),
        }
    )


def _commit(address: TableAddress, *files: FileFact) -> None:
    log = TableLog(address, SCHEMA)
    log.commit(Change("p", "collect", "day", "run", files), log.version("p"))
