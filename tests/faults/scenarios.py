"""What a command may be in the middle of when it dies: logs and a lake as they are before it, and the command."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from installed import APP_TABLE, Home, line
from lake_history import Table
from tailpipe.lake.address import Lake

FROM = ("--from", "2024-01-01")
COLLECT = ("collect", *FROM, "--output", "json", "--progress=false")
DAYS = ("2024-06-01", "2024-06-02", "2024-06-03")

DATED = (
    APP_TABLE
    + """
partition "app_log" "one" {
  source "file" {
    paths       = ["LOGS/web"]
    file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{INT:part}.jsonl`
  }
  source "file" {
    paths       = ["LOGS/db"]
    file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{INT:part}.jsonl`
  }
}
"""
)

UNDATED = APP_TABLE + 'partition "app_log" "one" { source "file" { paths = ["LOGS"] } }\n'
# Nobody has written to the file for long: its last line is taken without its end.
QUIET = datetime(2024, 7, 1, tzinfo=UTC).timestamp()
MANY_DAYS = tuple((date(2024, 1, 1) + timedelta(days=number)).isoformat() for number in range(130))

Run = Callable[..., object]


@dataclass(frozen=True)
class Scenario:
    """`prepare` writes logs and configuration, and brings the lake to where the command begins.

    `next_command` is what has nothing to do any more once the command is through; `idle` says so of its summary.
    It dies at commits only, at all steps, or at some of them that differ from scenario to scenario.
    """

    name: str
    prepare: Callable[[Home, Run], None]
    command: tuple[str, ...] = COLLECT
    next_command: tuple[str, ...] = COLLECT
    idle: Callable[[Any], bool] = lambda summary: bool(summary["rows"]["in"] == 0)
    only_commits: bool = False
    all_steps: bool = False


def day_lines(day: str, origin: str, *, rows: int = 40, **fields: str) -> str:
    return "".join(
        json.dumps(
            {
                "at": f"{day}T{number % 24:02d}:{number % 60:02d}:00Z",
                "level": f"{origin}-{number % 3}",
                "size": number,
                **fields,
            }
        )
        + "\n"
        for number in range(rows)
    )


def write_days(home: Home, days: tuple[str, ...], part: int = 1, **fields: str) -> None:
    """Each day has a file in both sources, and both have records that are refused."""
    for day in days:
        web, db = day_lines(day, f"web-{part}", **fields), day_lines(day, f"db-{part}", **fields)
        home.write(f"web/{day}-{part}.jsonl", web + f"broken line of {day}, part {part}\n")
        home.write(f"db/{day}-{part}.jsonl", db + line(f"{day}T00:00:00Z", "db", "no number"))


def first_collection(home: Home, run: Run) -> None:
    home.configure(DATED)
    write_days(home, DAYS)


def new_files(home: Home, run: Run) -> None:
    """A day that is known got more files, a day is new, and so is a column."""
    home.configure(DATED)
    write_days(home, DAYS[:2])
    run(*COLLECT)
    write_days(home, (*DAYS[1:], "2024-06-04"), part=2, host="h1")


def growing_files(home: Home, run: Run) -> None:
    """A file grew behind half a line, whose reject goes; another was moved away and began anew."""
    home.configure(UNDATED)
    half, rest = line("2024-06-01T05:00:00Z", "halved")[:20], line("2024-06-01T05:00:00Z", "halved")[20:]
    growing = home.write("app.log", day_lines(DAYS[0], "app") + "broken before\n" + half)
    os.utime(growing, (QUIET, QUIET))
    moved = home.write("other.log", day_lines(DAYS[1], "other"))
    run(*COLLECT)
    with growing.open("a") as file:
        file.write(rest + day_lines(DAYS[1], "app") + "broken after\n" + day_lines(DAYS[2], "app") + half)
    os.utime(growing, (QUIET + 1, QUIET + 1))
    moved.rename(moved.with_name("other.log.1"))
    home.write("other.log", day_lines(DAYS[2], "other"))


def changed_files(home: Home, run: Run) -> None:
    first_collection(home, run)
    run(*COLLECT)
    home.write(f"web/{DAYS[1]}-1.jsonl", day_lines(DAYS[1], "changed", rows=70) + "another broken line\n")
    home.write(f"db/{DAYS[2]}-1.jsonl", day_lines(DAYS[2], "changed", rows=10))


def wider_window(home: Home, run: Run) -> None:
    home.configure(UNDATED)
    home.write("app.log", "broken\n".join(day_lines(day, "app") for day in DAYS))
    home.write("other.log", "".join(day_lines(day, "other") for day in DAYS))
    run("collect", "--from", f"{DAYS[2]}T10:00:00Z", "--progress=false")


def changed_filter(home: Home, run: Run) -> None:
    first_collection(home, run)
    run(*COLLECT)
    home.configure(DATED.replace('"one" {', '"one" {\n  filter = "size % 4 <> 0"'))


def fixed_configuration(home: Home, run: Run) -> None:
    """What was refused is no longer; every source and day has some of it."""
    home.configure(DATED)
    for day in DAYS:
        for origin in ("web", "db"):
            refused = line(f"{day}T23:00:00Z", origin, "no number") * 2
            home.write(f"{origin}/{day}-1.jsonl", day_lines(day, origin) + refused)
    run(*COLLECT)
    home.configure(DATED.replace('type = "int"', '\n    type = "int"\n    null_if = ["no number"]\n'))


def collected(home: Home, run: Run) -> None:
    first_collection(home, run)
    run(*COLLECT)


def long_history(home: Home, run: Run) -> None:
    """So many commits that in the next run the log gets a checkpoint, and the state a snapshot."""
    home.configure(DATED)
    home.write("db/none.jsonl", "")
    for day in MANY_DAYS:
        home.write(f"web/{day}-1.jsonl", day_lines(day, "web", rows=2))
    run(*COLLECT, "--to", MANY_DAYS[64])
    run(*COLLECT, "--to", MANY_DAYS[94])


def small_files(home: Home, run: Run) -> None:
    """Each day has three files from each source."""
    home.configure(DATED)
    for part in (1, 2, 3):
        write_days(home, DAYS, part)
        run(*COLLECT)


def another_index(home: Home, run: Run) -> None:
    small_files(home, run)
    home.configure(DATED.replace('"one" {', '"one" {\n  tp_index = "level"'))


def another_state(home: Home, run: Run) -> None:
    """As version RESTORED was, and then: days deleted, files changed and new."""
    first_collection(home, run)
    run(*COLLECT)
    run(*DELETE_PART)
    home.write(f"web/{DAYS[0]}-1.jsonl", day_lines(DAYS[0], "changed", rows=70) + "another broken line\n")
    write_days(home, ("2024-06-04",), part=2)
    run(*COLLECT)


def too_old(home: Home, run: Run) -> None:
    """Days of June 2024 expire, days of August do not: weeks lie between them and the edge."""
    home.configure(DATED)
    write_days(home, (*DAYS, "2024-08-01"))
    run(*COLLECT)
    age = datetime.now(UTC).date() - date(2024, 7, 1)
    home.configure(DATED.replace('"one" {', f'"one" {{\n  expire_after = "{age.days}d"'))


def few_old_files(home: Home, run: Run) -> None:
    old_files(home, run, MANY_DAYS[:4])


def old_files(home: Home, run: Run, days: tuple[str, ...] = MANY_DAYS[:35]) -> None:
    """Files of every kind that nobody needs any more, and some of a time so near that they may be needed.

    A first vacuum leaves a snapshot, so that the next finds manifests that it stands for.
    """
    home.configure(DATED)
    for day in days:
        home.write(f"web/{day}-1.jsonl", day_lines(day, "web", rows=2) + "broken\n")
        home.write(f"db/{day}-1.jsonl", day_lines(day, "db", rows=2))
    run(*COLLECT)
    for day in days[:2]:
        home.write(f"web/{day}-1.jsonl", day_lines(day, "changed", rows=3))
    run(*COLLECT)
    table = Table(Lake(str(home.data)))
    table.pass_time(timedelta(days=3))
    run("vacuum", "--older-than", "30d", "--force")
    table.pass_time(timedelta(days=3))
    stray = next((home.data / "app_log").glob("tp_partition=one/*/*/*.parquet"))
    shutil.copy2(stray, stray.with_name(f"{uuid.uuid4().hex}.parquet"))
    home.write(f"web/{days[2]}-1.jsonl", day_lines(days[2], "changed", rows=3))
    run(*COLLECT)


OVERWRITE = (*COLLECT, "--overwrite", "--from", f"{DAYS[1]}", "--to", f"{DAYS[2]}")
DELETE = ("partition", "delete", "app_log.one", "--force", "--output", "json")
DELETE_PART = (*DELETE, "--from", f"{DAYS[1]}T05:00:00Z", "--to", f"{DAYS[2]}T10:00:00Z")
RETRY = ("rejects", "retry", "--output", "json", "--progress=false")
DROP = ("rejects", "drop", "app_log.one", "--force", "--output", "json")
# Of a first collection of three days: the table, the days, and the report of the run.
RESTORED = 4
COMPACT = ("compact", "--output", "json", "--progress=false")
REINDEX = (*COMPACT, "--reindex")
RESTORE = ("restore", "app_log", "--as-of", str(RESTORED), "--force", "--output", "json")
EXPIRE = ("lifecycle", "run", "--output", "json")
VACUUM = ("vacuum", "--older-than", "0", "--force", "--output", "json")


def nothing_to_merge(summary: Any) -> bool:
    return all(part["days"] == [] and part["failed"] == [] for part in summary["partitions"])


def nothing_to_restore(summary: Any) -> bool:
    """What is known may be written again."""
    return all(part["files_added"] == part["files_removed"] == 0 for part in summary["partitions"])


def nothing_to_expire(summary: Any) -> bool:
    return all(part["days"] == 0 for part in summary["partitions"])


UPKEEP = (
    Scenario("compact", small_files, COMPACT, COMPACT, nothing_to_merge, all_steps=True),
    Scenario("reindex", another_index, REINDEX, REINDEX, nothing_to_merge, all_steps=True),
    Scenario("restore", another_state, RESTORE, RESTORE, nothing_to_restore, all_steps=True),
    Scenario("expire", too_old, EXPIRE, EXPIRE, nothing_to_expire, all_steps=True),
    Scenario(
        "vacuum", old_files, VACUUM, VACUUM, lambda summary: bool(summary["files"] == 0), all_steps=True
    ),
)
SCENARIOS = (
    Scenario("first collection", first_collection),
    Scenario("new files", new_files),
    Scenario("growing files", growing_files),
    Scenario("changed files", changed_files),
    Scenario("wider window", wider_window),
    Scenario("overwrite", changed_filter, OVERWRITE),
    Scenario("delete", collected, DELETE_PART, DELETE_PART, lambda summary: bool(summary["rows"] == 0)),
    Scenario("rejects retry", fixed_configuration, RETRY, RETRY),
    Scenario("rejects drop", collected, DROP, DROP, lambda summary: bool(summary["rejects"] == 0)),
    Scenario("long history", long_history, only_commits=True),
    Scenario("query", collected, ("query", "select count(*) from app_log", "--output", "json")),
    *UPKEEP,
)
