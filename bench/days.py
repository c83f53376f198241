"""Case many-days: what a day costs beside its rows. Small files of many days, and the same files in one day."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

from bench import table
from bench.command import Site, partition
from bench.data import nginx_line
from bench.measure import CommandFailed, Measurement

NAME = "many-days"
LAST_DAY = date(2026, 8, 31)
ROWS_PER_DAY = 1_000
LAYOUT = "access-%{YEAR:year}%{MONTHNUM:month}%{MONTHDAY:day}-%{NUMBER}.log"
HEADER = ("contender", "one day", "all days", "ms/day", "cpu ms/day")


def report(root: Path, engines: Sequence[str], count: int) -> Iterator[str]:
    """Lines to print, each as soon as it is known."""
    days = [LAST_DAY - timedelta(days=number) for number in range(count)]
    one_day = _prepared(root / f"{NAME}-{count}-one", [LAST_DAY] * count)
    all_days = _prepared(root / f"{NAME}-{count}", days)
    title = f"{NAME}: {count} days of {ROWS_PER_DAY:,} rows, against the same files in one day"
    yield table.heading(title, HEADER)
    for engine in engines:
        one, all_ = (_collected(engine, folder, days) for folder in (one_day, all_days))
        shares = [all_.seconds - one.seconds, all_.cpu_seconds - one.cpu_seconds]
        per_day = [f"{share / max(1, count - 1) * 1000:.0f}" for share in shares]
        yield table.row([engine, f"{one.seconds:.2f}", f"{all_.seconds:.2f}", *per_day])


def _collected(engine: str, logs: Path, days: Sequence[date]) -> Measurement:
    with tempfile.TemporaryDirectory(prefix="tailpipe-bench-") as scratch:
        site = Site(Path(scratch))
        site.configure(partition("nginx_access_log", logs, LAYOUT))
        measurement, said = site.collect(engine, days)
    stored, rows = said["rows"]["stored"], len(days) * ROWS_PER_DAY
    if stored != rows:
        raise CommandFailed(f"{engine} on {logs.name}: {stored:,} rows of {rows:,}")
    return measurement


def _prepared(folder: Path, days: Sequence[date]) -> Path:
    """The file of the last number is written last: a folder with it is whole."""
    if not (folder / _name(days[-1], len(days) - 1)).exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for number, day in enumerate(days):
            generator = random.Random(number)
            lines = (nginx_line(generator, day, k / ROWS_PER_DAY) for k in range(ROWS_PER_DAY))
            (folder / _name(day, number)).write_text("".join(lines))
    return folder


def _name(day: date, number: int) -> str:
    return f"access-{day:%Y%m%d}-{number}.log"
