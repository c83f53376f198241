"""What a command may be in the middle of when it dies: logs and a lake as they are before it, and the command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from installed import APP_TABLE, Home, line

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

Run = Callable[..., object]


@dataclass(frozen=True)
class Scenario:
    """`prepare` writes logs and configuration, and brings the lake to where the command begins."""

    name: str
    prepare: Callable[[Home, Run], None]
    command: tuple[str, ...] = COLLECT


def day_lines(day: str, origin: str, *, rows: int = 40) -> str:
    return "".join(
        line(f"{day}T{number % 24:02d}:{number % 60:02d}:00Z", f"{origin}-{number % 3}", number)
        for number in range(rows)
    )


def write_days(home: Home, days: tuple[str, ...], part: int = 1) -> None:
    """Each day has a file in both sources; one of them has records that are refused."""
    for day in days:
        home.write(
            f"web/{day}-{part}.jsonl", day_lines(day, f"web-{part}") + f"broken line of {day}, part {part}\n"
        )
        home.write(
            f"db/{day}-{part}.jsonl",
            day_lines(day, f"db-{part}") + line(f"{day}T00:00:00Z", "db", "no number"),
        )


def first_collection(home: Home, run: Run) -> None:
    home.configure(DATED)
    write_days(home, DAYS)


def new_files(home: Home, run: Run) -> None:
    """A day that is known got more files, and a day is new."""
    home.configure(DATED)
    write_days(home, DAYS[:2])
    run(*COLLECT)
    write_days(home, (*DAYS[1:], "2024-06-04"), part=2)


SCENARIOS = (
    Scenario("first collection", first_collection),
    Scenario("new files", new_files),
)
