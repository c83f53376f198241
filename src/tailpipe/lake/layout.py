"""Where things lie in the lake: one folder per table, a Delta table with manifests and rejects beside its log."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from urllib.parse import quote

PARTITION_COLUMNS = ("tp_partition", "tp_index", "tp_date")
LOG = "_delta_log"
MANIFESTS = "_manifests"
REJECTS = "_rejects"


def table_location(data_dir: Path, table: str) -> Path:
    return data_dir / table


def hive_folder(partition: str, index: str, day: date) -> str:
    """Relative to the table. Values are escaped as Hive does, so that any text is one folder name."""
    return f"tp_partition={_escape(partition)}/tp_index={_escape(index)}/tp_date={day.isoformat()}"


def manifest_path(partition: str, unique: str) -> str:
    return f"{MANIFESTS}/{_escape(partition)}/{unique}.parquet"


def rejects_path(partition: str, unique: str) -> str:
    return f"{REJECTS}/{_escape(partition)}/{unique}.parquet"


def _escape(value: str) -> str:
    return quote(value, safe=" -_.~+@,")
