"""Partitions, days and snapshots that the tests of the rules share."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from deltalake import DeltaTable

from installed import APP_TABLE, Home, line

LAYOUT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}(-%{WORD:part})?.jsonl"


def dated(*folders: str, name: str = "one", options: str = "") -> str:
    """A partition with a source for each folder, whose files have their day in their names."""
    sources = "".join(
        f'source "file" {{\n paths = ["{folder}"]\n file_layout = `{LAYOUT}`\n}}\n' for folder in folders
    )
    return f'partition "app_log" "{name}" {{\n{options}\n{sources}}}\n'


DATED = APP_TABLE + dated("LOGS")
TWO_SOURCES = APP_TABLE + dated("LOGS/web", "LOGS/db")
JUNE = ("2024-06-01", "2024-06-02", "2024-06-03")
TABLE = "app_log"


def day_lines(day: str, count: int, level: str = "info") -> str:
    return "".join(line(f"{day}T{number % 24:02d}:00:00Z", level, number) for number in range(count))


def days_ago(count: int) -> str:
    return (datetime.now(UTC) - timedelta(days=count)).date().isoformat()


def collect(home: Home, *arguments: str, code: int = 0) -> dict[str, Any]:
    """The summary of a run without `--from`, unless it is among the arguments."""
    done = home.run("collect", "--output", "json", *arguments)
    assert done.returncode == code, done.stderr + done.stdout
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def planned_units(home: Home, *arguments: str) -> dict[str, list[str]]:
    """Units by partition, as a dry run tells them."""
    plan = collect(home, "--dry-run", *arguments)
    return {part["partition"]: [unit["unit"] for unit in part["units"]] for part in plan["partitions"]}


def coverage(home: Home) -> dict[str, str]:
    """What the command says of each day."""
    report = json.loads(home.run("coverage", "--output", "json").stdout)
    return {day["date"]: day["state"] for part in report["partitions"] for day in part["days"]}


def rows(home: Home, *columns: str, version: int | None = None) -> list[tuple[Any, ...]]:
    """What a snapshot of the table holds; the newest unless told."""
    delta = home.lake.delta(TABLE, version)
    if delta is None:
        return []
    table = delta.to_pyarrow_table(columns=list(columns))
    return sorted(zip(*(table.column(name).to_pylist() for name in columns), strict=True))


def days(home: Home, version: int | None = None) -> Counter[str]:
    """Rows per day."""
    return Counter(day.isoformat() for (day,) in rows(home, "tp_date", version=version))


def levels(home: Home) -> Counter[str]:
    return Counter(level for (level,) in rows(home, "level"))


def files(home: Home, day: str) -> set[str]:
    """Data files of a day that are visible now."""
    return {uri for uri in _delta(home).file_uris() if f"tp_date={day}/" in uri}


def last_version(home: Home) -> int:
    return _delta(home).version()


def _delta(home: Home) -> DeltaTable:
    delta = home.lake.delta(TABLE)
    assert delta
    return delta


def actions(home: Home, version: int) -> Counter[str]:
    """What one commit did to the files of days: `add 2024-06-01`, `remove 2024-06-01`."""
    entries = home.lake.entry(TABLE, version)
    return Counter(
        f"{kind} {entry[kind]['partitionValues']['tp_date']}"
        for entry in entries
        for kind in ("add", "remove")
        if kind in entry
    )


def finished_units(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Days in the order in which the run told that they are stored."""
    return re.findall(r"^app_log\.one (\S+): [\d,]+ rows? stored", done.stderr, re.M)
