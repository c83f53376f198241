"""Who is measured: the installed command on each engine, and DuckDB."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.cases import DAYS, Case
from bench.command import Site, partition
from bench.data import Data
from bench.measure import CommandFailed, measured

DUCKDB = "duckdb"
ATTEMPTS = 3
LAYOUTS = {
    "cloudtrail": "CloudTrail/%{DATA:region}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.json.gz",
    "nginx": "access.log-%{YEAR:year}%{MONTHNUM:month}%{MONTHDAY:day}",
}
TABLES = {"cloudtrail": "aws_cloudtrail_log", "nginx": "nginx_access_log"}


@dataclass(frozen=True)
class Result:
    """`timings` are the parts that `collect` reports of itself."""

    contender: str
    seconds: float
    peak_bytes: int
    rows: int
    stored_bytes: int
    timings: Mapping[str, float]
    was_paused: bool


def run(contender: str, case: Case, data: Data, memory_max_mb: int | None) -> Result:
    """One cold run, taken again where the machine stood still meanwhile.

    Raises CommandFailed when it fails or stores another number of rows than there are.
    """
    for _ in range(ATTEMPTS - 1):
        result = _run(contender, case, data, memory_max_mb)
        if not result.was_paused:
            return result
    return _run(contender, case, data, memory_max_mb)


def _run(contender: str, case: Case, data: Data, memory_max_mb: int | None) -> Result:
    with tempfile.TemporaryDirectory(prefix="tailpipe-bench-") as scratch:
        folder = Path(scratch)
        if contender == DUCKDB:
            result = _duckdb(case, data, folder)
        else:
            result = _tailpipe(contender, case, data, folder, memory_max_mb)
    if result.rows != data.rows:
        raise CommandFailed(f"{contender} on {case.name}: {result.rows:,} rows of {data.rows:,}")
    return result


def _duckdb(case: Case, data: Data, folder: Path) -> Result:
    command = [sys.executable, "-m", "bench.peer", case.kind, str(data.folder), str(folder / "out.parquet")]
    measurement = measured(command, os.environ, folder / "errors")
    said = json.loads(measurement.output)
    return Result(
        DUCKDB,
        measurement.seconds,
        measurement.peak_bytes,
        said["rows"],
        said["stored_bytes"],
        {},
        measurement.was_paused,
    )


def _tailpipe(engine: str, case: Case, data: Data, folder: Path, memory_max_mb: int | None) -> Result:
    site = Site(folder)
    site.configure(_workspace(memory_max_mb) + partition(TABLES[case.kind], data.folder, LAYOUTS[case.kind]))
    measurement, said = site.collect(engine, DAYS)
    return Result(
        engine,
        measurement.seconds,
        measurement.peak_bytes,
        said["rows"]["stored"],
        sum(partition["stored_bytes"] for partition in said["partitions"]),
        said["timings"],
        measurement.was_paused,
    )


def _workspace(memory_max_mb: int | None) -> str:
    return f'workspace "default" {{\n  memory_max_mb = {memory_max_mb}\n}}\n\n' if memory_max_mb else ""
