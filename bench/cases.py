"""What is measured: which logs, in how many files, and how much of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

FIRST_DAY = date(2026, 9, 1)
DAYS = tuple(FIRST_DAY + timedelta(days=number) for number in range(30))
RECORD_BYTES = 1_700
"""About what a CloudTrail record takes uncompressed."""


@dataclass(frozen=True)
class Case:
    """`files` is a multiple of the number of days; `rows` follow from the size asked for."""

    name: str
    kind: str
    files: int
    rows: int

    @property
    def files_per_day(self) -> int:
        return self.files // len(DAYS)


def all_cases(size_mb: float, lines: int) -> dict[str, Case]:
    records = int(size_mb * 1_000_000 / RECORD_BYTES)
    cases = (
        Case("cloudtrail-small-files", "cloudtrail", 1_200, records),
        Case("cloudtrail-large-files", "cloudtrail", 60, records),
        Case("nginx", "nginx", 30, lines),
    )
    return {case.name: case for case in cases}
