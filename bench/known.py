"""Cases known-artifacts and million-artifacts: a collection that finds nothing new among many small files, against a
bare walk over them.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from bench import table
from bench.command import Site, partition
from bench.measure import CommandFailed, Measurement, measured
from bench.remembered import remember

FIRST_DAY = date(2025, 9, 1)
LAYOUTS = {"dated": "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.log", "undated": None}
HEADER = ("contender", "seconds", "cpu s", "cpu x walk", "known", "commits", "peak MB")
WALK = """
import os, sys
print(sum(os.stat(os.path.join(folder, name)).st_size > 0
          for folder, _, names in os.walk(sys.argv[1]) for name in names))
"""


@dataclass(frozen=True)
class Known:
    """So many files of so many days, with one line each."""

    name: str
    files: int
    day_count: int

    @property
    def days(self) -> list[date]:
        return [FIRST_DAY + timedelta(days=number) for number in range(self.day_count)]

    def report(self, root: Path) -> Iterator[str]:
        """Lines to print, each as soon as it is known."""
        logs = self._prepared(root / f"{self.name}-{self.files}")
        title = f"{self.name}: {self.files:,} files of {self.day_count} days, nothing new, no engine"
        yield table.heading(title, HEADER)
        with tempfile.TemporaryDirectory(prefix="tailpipe-bench-") as scratch:
            walk = measured([sys.executable, "-c", WALK, str(logs)], os.environ, Path(scratch) / "errors")
            yield table.row(["os.walk", f"{walk.seconds:.2f}", f"{walk.cpu_seconds:.2f}", "", "", "", ""])
            for name, layout in LAYOUTS.items():
                site = Site(Path(scratch) / name)
                site.folder.mkdir()
                commits = self._remember(site, logs, layout)
                run = self.run(site)
                ratio, peak = run.cpu_seconds / walk.cpu_seconds, run.peak_bytes / 1e6
                facts = (f"{ratio:.1f}", f"{self.files:,}", f"{commits:,}", f"{peak:,.0f}")
                yield table.row([name, f"{run.seconds:.2f}", f"{run.cpu_seconds:.2f}", *facts])

    def remember(self, site: Site, root: Path) -> None:
        """Makes files with dates in their paths, and a lake that knows them."""
        self._remember(site, self._prepared(root / f"{self.name}-{self.files}"), LAYOUTS["dated"])

    def _remember(self, site: Site, logs: Path, layout: str | None) -> int:
        site.configure(partition("nginx_access_log", logs, layout))
        return remember(site, self.days)

    def run(self, site: Site) -> Measurement:
        """Raises CommandFailed where a file is not known again, or an engine was started."""
        measurement, said = site.collect("spark", self.days)
        (told,) = said["partitions"]
        known = sum(source["known"] for source in told["sources"])
        start_seconds = said["timings"]["engine_start_seconds"]
        if known != self.files or told["artifacts"] or start_seconds:
            raise CommandFailed(
                f"{self.name}, {site.folder.name}: {known:,} of {self.files:,} files are known, "
                f"{told['artifacts']:,} were read, the engine took {start_seconds} s to start"
            )
        return measurement

    def _prepared(self, folder: Path) -> Path:
        """A folder for each day; the last file is written last, so that a tree with it is whole."""
        if not self._path(folder, self.files - 1).exists():
            shutil.rmtree(folder, ignore_errors=True)
            for day in self.days:
                (folder / f"{day:%Y/%m/%d}").mkdir(parents=True)
            for number in range(self.files):
                self._path(folder, number).write_text(_line(number, self._day(number)))
        return folder

    def _path(self, folder: Path, number: int) -> Path:
        return folder / f"{self._day(number):%Y/%m/%d}" / f"host-{number:06d}.log"

    def _day(self, number: int) -> date:
        return FIRST_DAY + timedelta(days=number * self.day_count // self.files)


def _line(number: int, day: date) -> str:
    moment = f"{day:%d/%b/%Y}:{number % 24:02d}:{number // 24 % 60:02d}:00 +0000"
    return (
        f'203.0.113.{number % 250} - - [{moment}] "GET /{number} HTTP/1.1" 200 {number} "-" "curl/8.14.1"\n'
    )
