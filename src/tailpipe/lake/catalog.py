"""What is in the lake, for those who only read: tables, columns, partitions, rejects. No Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailpipe.lake.paths import is_table, table_location

if TYPE_CHECKING:
    from tailpipe.lake.manifest import RunReport
    from tailpipe.lake.state import PartitionState


def list_tables(data_dir: Path) -> list[str]:
    """Folders that begin with a dot are none: a deleted table may wait there to be removed."""
    if not data_dir.is_dir():
        return []
    return sorted(
        entry.name
        for entry in data_dir.iterdir()
        if not entry.name.startswith(".") and _is_text(entry.name) and is_table(entry)
    )


def _is_text(name: str) -> bool:
    """Folders may have names that are no text, which SQL cannot name."""
    return name.encode(errors="replace").decode() == name


def stored_columns(data_dir: Path, table: str) -> tuple[tuple[str, str], ...] | None:
    """Names and DuckDB types as stored; None when the table was never collected."""
    location = table_location(data_dir, table)
    if not is_table(location):
        return None
    from tailpipe.lake.log import TYPE_KEY, opened

    fields = opened(str(location)).schema().fields
    return tuple((field.name, _duckdb_type(field.metadata, TYPE_KEY)) for field in fields)


def partition_names(data_dir: Path, table: str) -> list[str]:
    """Partitions that have rows, or of which the log has anything else to tell."""
    from tailpipe.lake.log import history_paths
    from tailpipe.lake.sizes import partition_contents

    told = history_paths(str(table_location(data_dir, table)))
    return sorted({*told, *partition_contents(data_dir, table)})


def partition_states(
    data_dir: Path, table: str, is_wanted: Callable[[str], bool] = lambda name: True
) -> dict[str, PartitionState]:
    """What is known of each wanted partition, by its name. The log is read once for all.

    States for readers: they know no version, so nothing can be committed on top of them.
    """
    from tailpipe.lake.log import history_paths
    from tailpipe.lake.manifest import read_manifest
    from tailpipe.lake.state import fold

    location = str(table_location(data_dir, table))
    return {
        name: fold(0, (read_manifest(location, path) for path in paths))
        for name, paths in sorted(history_paths(location).items())
        if is_wanted(name)
    }


def partition_endings(data_dir: Path, table: str) -> dict[str, RunReport]:
    """How the last run over each partition that came to its end did so. Reads no artifact."""
    from tailpipe.lake.log import history_paths
    from tailpipe.lake.manifest import read_header

    location = str(table_location(data_dir, table))
    found = {}
    for name, paths in history_paths(location).items():
        reports = (read_header(location, path).report for path in reversed(paths))
        report = next((report for report in reports if report is not None), None)
        if report is not None:
            found[name] = report
    return found


def reject_files(data_dir: Path, table: str) -> list[str]:
    """Absolute paths of the quarantine files that count: those that commits added and none took away."""
    from tailpipe.lake.quarantine import files_by_partition

    location = str(table_location(data_dir, table))
    return [f"{location}/{path}" for paths in files_by_partition(location).values() for path in paths]


def _duckdb_type(metadata: Mapping[str, Any], key: str) -> str:
    return str(metadata.get(key) or "VARCHAR")
