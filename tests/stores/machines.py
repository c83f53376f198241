"""Machines with homes of their own that share one lake, and what their users see of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from installed import APP_TABLE, Home, line
from lakes import StoredLake

LAYOUT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}(-%{WORD:part})?.jsonl"
DAYS = ("2024-06-01", "2024-06-02", "2024-06-03")
ROWS = 5
FROM = ("--from", "2024-01-01")
COLLECT = ("collect", *FROM, "--output", "json", "--progress=false")


def partitions(*names: str, options: str = "") -> str:
    """Each has a folder of logs of its name."""
    blocks = (
        f'partition "app_log" "{name}" {{\n{options}\n'
        f'  source "file" {{\n    paths = ["LOGS/{name}"]\n    file_layout = `{LAYOUT}`\n  }}\n}}\n'
        for name in names
    )
    return APP_TABLE + "".join(blocks)


def machine(folder: Path, lake: StoredLake, *names: str, logs: Path | None = None, options: str = "") -> Home:
    """A home that collects these partitions into the lake, from logs of its own or a folder that others have too."""
    folder.mkdir()
    home = Home(folder, elsewhere=lake)
    home.configure(partitions(*names, options=options).replace("LOGS", str(logs or home.logs)))
    return home


def write_logs(
    home: Home, *names: str, days: tuple[str, ...] = DAYS, part: str = "", rows: int = ROWS
) -> None:
    """Each file has a record that is rejected at its end."""
    for name in names:
        for day in days:
            told = "".join(line(f"{day}T{hour:02d}:00:00Z", f"{name}{part}", hour) for hour in range(rows))
            ending = f"-{part}" if part else ""
            home.write(f"{name}/{day}{ending}.jsonl", told + "not a record\n")


def rows_by_day(home: Home) -> dict[str, int]:
    sql = "select tp_partition || ' ' || tp_date as day, count(*)::int as rows from app_log group by 1 order by 1"
    return {row["day"]: row["rows"] for row in home.query(sql)}


def expected(*names: str, days: tuple[str, ...] = DAYS, rows: int = ROWS) -> dict[str, int]:
    return {f"{name} {day}": rows for name in sorted(names) for day in days}


def told(home: Home, *arguments: str, code: int = 0) -> Any:
    """What a command answers in JSON."""
    done = home.run(*arguments, "--output", "json")
    assert done.returncode == code, done.stderr + done.stdout
    return json.loads(done.stdout)


def total(home: Home, sql: str) -> int:
    ((count,),) = (row.values() for row in home.query(f"select count(*)::int as n from {sql}"))
    return int(count)
