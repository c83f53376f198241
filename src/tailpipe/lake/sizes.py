"""How much of each partition a table holds, told by its log and manifests; no data file is read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from tailpipe.arrow import pa
from tailpipe.errors import LakeError
from tailpipe.lake.address import Lake, TableAddress

if TYPE_CHECKING:
    from tailpipe.lake.state import PartitionState


@dataclass(frozen=True)
class Contents:
    """What is visible of a partition; the days are those of its rows, `first_day` and `last_day` included."""

    rows: int
    days: int
    first_day: str
    last_day: str
    files: int
    size_bytes: int


@dataclass(frozen=True)
class _DayFiles:
    partition: str
    day: date
    rows: int
    files: int
    size_bytes: int


def partition_contents(lake: Lake, table: str) -> dict[str, Contents]:
    """By name of the partition; empty while the table was never collected."""
    by_partition: dict[str, list[_DayFiles]] = defaultdict(list)
    for files in _files_by_day(lake.table(table)):
        by_partition[files.partition].append(files)
    return {name: _contents(parts) for name, parts in sorted(by_partition.items())}


def rows_per_day(lake: Lake, table: str) -> dict[str, dict[date, int]]:
    """Visible rows, by name of the partition and day; days without rows are left out."""
    rows: dict[str, dict[date, int]] = defaultdict(dict)
    for files in _files_by_day(lake.table(table)):
        rows[files.partition][files.day] = files.rows
    return dict(rows)


def quarantined(lake: Lake, table: str, state: PartitionState) -> int:
    """Records that are in quarantine now; of its files, only how many each row stands for is read."""
    from tailpipe.lake.rejects import read_rejects, records_in

    address = lake.table(table)
    try:
        return sum(records_in(read_rejects(address, path, ["records"])) for path in state.reject_files)
    except OSError as error:
        raise LakeError(
            f"{address}: the quarantine cannot be read: {error}",
            hint="check that the folder is whole and readable",
        ) from error


def _files_by_day(address: TableAddress) -> list[_DayFiles]:
    if not address.is_table():
        return []
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        actions = pa.table(DeltaTable(address.uri).get_add_actions(flatten=True))
    except DeltaError as error:
        raise LakeError(f"{address}: the Delta log cannot be read: {error}") from error
    if not actions.num_rows:
        return []
    keys = ["partition.tp_partition", "partition.tp_date"]
    sums = actions.group_by(keys).aggregate(
        [("num_records", "sum"), ("path", "count"), ("size_bytes", "sum")]
    )
    columns = (
        sums.column(name).to_pylist() for name in (*keys, "num_records_sum", "path_count", "size_bytes_sum")
    )
    return [_day_files(*row) for row in zip(*columns, strict=True)]


def _day_files(partition: str, day: Any, rows: int | None, files: int, size_bytes: int) -> _DayFiles:
    return _DayFiles(partition, date.fromisoformat(str(day)), rows or 0, files, size_bytes)


def _contents(parts: list[_DayFiles]) -> Contents:
    days = [part.day for part in parts]
    return Contents(
        rows=sum(part.rows for part in parts),
        days=len(days),
        first_day=min(days).isoformat(),
        last_day=max(days).isoformat(),
        files=sum(part.files for part in parts),
        size_bytes=sum(part.size_bytes for part in parts),
    )
