"""How much of each partition a table holds, told by its log and manifests; no data file is read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailpipe.errors import LakeError
from tailpipe.lake.layout import LOG, table_location


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
class History:
    """What was read for a partition so far. An artifact that several commits took parts of counts once."""

    commits: int
    artifacts: int
    rejected: int
    last_commit: str


def partition_contents(data_dir: Path, table: str) -> dict[str, Contents]:
    """By name of the partition; empty while the table was never collected."""
    by_partition: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for file in _live_files(table_location(data_dir, table)):
        by_partition[file["partition.tp_partition"]].append(file)
    return {name: _contents(files) for name, files in sorted(by_partition.items())}


def partition_history(data_dir: Path, table: str, partition: str) -> History | None:
    """Reads every manifest of the partition; None while there is none."""
    from tailpipe.lake.log import manifest_paths
    from tailpipe.lake.manifest import read_manifest

    location = str(table_location(data_dir, table))
    manifests = [read_manifest(location, path) for path in manifest_paths(location, partition)]
    if not manifests:
        return None
    records = [record for manifest in manifests for record in manifest.artifacts]
    return History(
        commits=len(manifests),
        artifacts=len({(record.source, record.location) for record in records}),
        rejected=sum(record.rejected for record in records),
        last_commit=max(manifest.header.written_at for manifest in manifests).isoformat(timespec="seconds"),
    )


def _live_files(location: Path) -> list[dict[str, Any]]:
    if not (location / LOG).is_dir():
        return []
    import pyarrow as pa
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        actions = DeltaTable(str(location)).get_add_actions(flatten=True)
    except DeltaError as error:
        raise LakeError(f"{location}: the Delta log cannot be read: {error}") from error
    files: list[dict[str, Any]] = pa.table(actions).to_pylist()
    return files


def _contents(files: list[dict[str, Any]]) -> Contents:
    days = {str(file["partition.tp_date"]) for file in files}
    return Contents(
        rows=sum(file["num_records"] or 0 for file in files),
        days=len(days),
        first_day=min(days),
        last_day=max(days),
        files=len(files),
        size_bytes=sum(file["size_bytes"] for file in files),
    )
