"""Case bucket: the same collection and query with the lake in a folder and in a bucket of a server on this machine, and
requests of a collection that finds nothing new.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import table
from bench.cases import DAYS, Case
from bench.command import Site, partition
from bench.contenders import LAYOUTS, TABLES
from bench.data import Data, prepared
from bench.known import Known
from bench.measure import CommandFailed, measured
from object_store import ObjectStore, open_object_store

NAME = "bucket"
TURNS = 3
COLLECT_HEADER = ("collect to", "seconds", "cpu s", "x folder", "requests")
QUERY_HEADER = ("query", "seconds", "x bare", "requests")
IDLE_HEADER = ("idle run", "seconds", "cpu s", "requests", "peak MB")
SQL = "select status, count(*), sum(body_bytes_sent) from {} group by status order by status"
BARE = """
import os, sys, duckdb
from tailpipe.query.connection import load_extension
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
if "://" in sys.argv[1]:
    load_extension(connection, "httpfs")
    connection.execute("CREATE SECRET (TYPE s3, KEY_ID '{}', SECRET '{}', REGION '{}', ENDPOINT '{}', "
        "USE_SSL false, URL_STYLE 'path')".format(*(os.environ[name].removeprefix("http://") for name in
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL"))))
print(connection.sql(sys.argv[2].format(f"read_parquet('{sys.argv[1]}/*/*/*/*.parquet')")).fetchall())
"""


@dataclass(frozen=True)
class Place:
    """Where a lake is: a folder, or a bucket that counts requests."""

    name: str
    site: Site
    count: Callable[[], int]


def report(root: Path, case: Case, engine: str, known_files: int) -> Iterator[str]:
    """Lines to print, each as soon as it is known."""
    data = prepared(case, root)
    with tempfile.TemporaryDirectory(prefix="tailpipe-bench-") as scratch:
        folder = Path(scratch)
        (folder / "server").mkdir()
        with open_object_store(folder / "server") as store:
            yield from _collections(folder, case, data, engine, store)
            yield from _idle_runs(folder, root, known_files, store)


def _collections(folder: Path, case: Case, data: Data, engine: str, store: ObjectStore) -> Iterator[str]:
    title = f"{NAME}: {data.rows:,} rows in {case.files} files on {engine}; the middle of {TURNS} turns"
    yield table.heading(title, COLLECT_HEADER)
    seconds: dict[str, list[tuple[float, float, int]]] = {"folder": [], "bucket": []}
    places: list[Place] = []
    for turn in range(TURNS):
        places = [_folder(folder / f"folder{turn}"), _bucket(folder / f"bucket{turn}", store)]
        for place in places:
            seconds[place.name].append(_collect(place, case, data, engine))
    middle = {name: sorted(each)[TURNS // 2] for name, each in seconds.items()}
    for name, (wall, cpu, requests) in middle.items():
        yield table.row(
            [name, f"{wall:.2f}", f"{cpu:.2f}", f"{wall / middle['folder'][0]:.2f}", f"{requests:,}"]
        )
    yield from _queries(places, case, folder)


def _collect(place: Place, case: Case, data: Data, engine: str) -> tuple[float, float, int]:
    before = place.count()
    place.site.configure(partition(TABLES[case.kind], data.folder, LAYOUTS[case.kind]))
    measurement, said = place.site.collect(engine, DAYS)
    if said["rows"]["stored"] != data.rows:
        raise CommandFailed(f"{place.name}: {said['rows']['stored']:,} rows of {data.rows:,}")
    return measurement.seconds, measurement.cpu_seconds, place.count() - before


def _queries(places: Sequence[Place], case: Case, folder: Path) -> Iterator[str]:
    """`tailpipe query` against DuckDB that reads the bare files of the same lake, each from cold."""
    yield table.heading("query: one aggregate over all rows, the middle of several", QUERY_HEADER)
    name = TABLES[case.kind]
    for place in places:
        bare = [sys.executable, "-c", BARE, f"{place.site.lake}/{name}", SQL]
        own = place.site.command("query", SQL.format(name), "--output", "json")
        seconds = {}
        for label, command in (("bare", bare), ("tailpipe", own)):
            before = place.count()
            runs = [measured(command, place.site.variables, folder / "errors") for _ in range(TURNS)]
            seconds[label] = sorted(run.seconds for run in runs)[TURNS // 2]
            requests = (place.count() - before) // TURNS
            ratio = f"{seconds[label] / seconds['bare']:.2f}"
            yield table.row([f"{label}, {place.name}", f"{seconds[label]:.3f}", ratio, f"{requests:,}"])


def _idle_runs(folder: Path, root: Path, files: int, store: ObjectStore) -> Iterator[str]:
    known = Known("bucket-known", files, 30)
    yield table.heading(f"{files:,} known files of 30 days, lake in a bucket, nothing new", IDLE_HEADER)
    place = _bucket(folder / "known", store)
    known.remember(place.site, root)
    for turn in range(TURNS):
        before = place.count()
        run = known.run(place.site)
        requests, peak = place.count() - before, run.peak_bytes / 1e6
        yield table.row(
            [
                f"turn {turn + 1}",
                f"{run.seconds:.2f}",
                f"{run.cpu_seconds:.2f}",
                f"{requests}",
                f"{peak:,.0f}",
            ]
        )


def _folder(folder: Path) -> Place:
    folder.mkdir()
    return Place("folder", Site(folder), lambda: 0)


def _bucket(folder: Path, store: ObjectStore) -> Place:
    folder.mkdir()
    site = Site(folder, store.new_uri(), store.environment)
    return Place("bucket", site, lambda: sum(store.requests().values()))
