"""Case known-artifacts: a collection that finds nothing new among many small files, against a bare walk over them."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from bench import table
from bench.command import Site, partition
from bench.measure import CommandFailed, Measurement, measured
from bench.remembered import remember

NAME = "known-artifacts"
FIRST_DAY = date(2025, 9, 1)
DAYS = [FIRST_DAY + timedelta(days=number) for number in range(365)]
LAYOUTS = {"dated": "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.log", "undated": None}
HEADER = ("contender", "seconds", "cpu s", "cpu x walk", "known", "commits", "peak MB")
WALK = """
import os, sys
print(sum(os.stat(os.path.join(folder, name)).st_size > 0
          for folder, _, names in os.walk(sys.argv[1]) for name in names))
"""


def report(root: Path, files: int) -> Iterator[str]:
    """Lines to print, each as soon as it is known."""
    logs = _prepared(root / f"{NAME}-{files}", files)
    yield table.heading(f"{NAME}: {files:,} files of {len(DAYS)} days, nothing new, no engine", HEADER)
    with tempfile.TemporaryDirectory(prefix="tailpipe-bench-") as scratch:
        walk = measured([sys.executable, "-c", WALK, str(logs)], os.environ, Path(scratch) / "errors")
        yield table.row(["os.walk", f"{walk.seconds:.2f}", f"{walk.cpu_seconds:.2f}", "", "", "", ""])
        for name, layout in LAYOUTS.items():
            site = Site(Path(scratch) / name)
            site.folder.mkdir()
            site.configure(partition("nginx_access_log", logs, layout))
            commits = remember(site, DAYS)
            run = _run(site, files)
            ratio, peak = run.cpu_seconds / walk.cpu_seconds, run.peak_bytes / 1e6
            facts = (f"{ratio:.1f}", f"{files:,}", f"{commits:,}", f"{peak:,.0f}")
            yield table.row([name, f"{run.seconds:.2f}", f"{run.cpu_seconds:.2f}", *facts])


def _run(site: Site, files: int) -> Measurement:
    """Raises CommandFailed where a file is not known again, or an engine was started."""
    measurement, said = site.collect("spark", DAYS)
    (told,) = said["partitions"]
    known = sum(source["known"] for source in told["sources"])
    start_seconds = said["timings"]["engine_start_seconds"]
    if known != files or told["artifacts"] or start_seconds:
        raise CommandFailed(
            f"{NAME}, {site.folder.name}: {known:,} of {files:,} files are known, {told['artifacts']:,} were read, "
            f"the engine took {start_seconds} s to start"
        )
    return measurement


def _prepared(folder: Path, files: int) -> Path:
    """A folder for each day; the last file is written last, so that a tree with it is whole."""
    if not _path(folder, files - 1, files).exists():
        shutil.rmtree(folder, ignore_errors=True)
        for day in DAYS:
            (folder / f"{day:%Y/%m/%d}").mkdir(parents=True)
        for number in range(files):
            _path(folder, number, files).write_text(_line(number, files))
    return folder


def _path(folder: Path, number: int, files: int) -> Path:
    return folder / f"{_day(number, files):%Y/%m/%d}" / f"host-{number:06d}.log"


def _line(number: int, files: int) -> str:
    moment = f"{_day(number, files):%d/%b/%Y}:{number % 24:02d}:{number // 24 % 60:02d}:00 +0000"
    return (
        f'203.0.113.{number % 250} - - [{moment}] "GET /{number} HTTP/1.1" 200 {number} "-" "curl/8.14.1"\n'
    )


def _day(number: int, files: int) -> date:
    return DAYS[number * len(DAYS) // files]
