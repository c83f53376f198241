"""How much of each partition a table holds, told by its log; no data file is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from tailpipe.arrow import pa
from tailpipe.lake.address import Lake, TableAddress

_PARTITION, _DAY = "partition.tp_partition", "partition.tp_date"


@dataclass(frozen=True)
class Contents:
    """What is visible of a partition; the days are those of its rows, `first_day` and `last_day` included."""

    rows: int
    days: int
    first_day: str
    last_day: str
    files: int
    size_bytes: int


def partition_contents(lake: Lake, table: str) -> dict[str, Contents]:
    """By name of the partition; empty while the table was never collected."""
    of_days = [(_DAY, "count_distinct"), (_DAY, "min"), (_DAY, "max")]
    sums = [("num_records", "sum"), *of_days, ("path", "count"), ("size_bytes", "sum")]
    found = {}
    for name, rows, days, first, last, *sizes in _file_groups(lake.table(table), [_PARTITION], sums):
        found[name] = Contents(rows or 0, days, str(first), str(last), *sizes)
    return found


def rows_per_day(lake: Lake, table: str) -> dict[str, dict[date, int]]:
    """Visible rows, by name of the partition and day; days without rows are left out."""
    found: dict[str, dict[date, int]] = {}
    groups = _file_groups(lake.table(table), [_PARTITION, _DAY], [("num_records", "sum")])
    for name, day, rows in groups:
        found.setdefault(name, {})[date.fromisoformat(str(day))] = rows or 0
    return found


def _file_groups(
    address: TableAddress, keys: Sequence[str], sums: Sequence[tuple[str, str]]
) -> list[tuple[Any, ...]]:
    """What the log says of data files: keys and sums, in the order of the keys."""
    delta = address.opened() if address.is_table() else None
    if delta is None:
        return []
    from deltalake.exceptions import DeltaError

    try:
        actions = pa.table(delta.get_add_actions(flatten=True))
    except DeltaError as error:
        raise address.unreadable(error) from error
    if not actions.num_rows:
        return []
    groups = actions.group_by(keys).aggregate(list(sums))
    names = [*keys, *(f"{name}_{function}" for name, function in sums)]
    return sorted(zip(*(groups.column(name).to_pylist() for name in names), strict=True))
