"""Where things lie in the lake: one folder per table, a Delta table with manifests and rejects beside its log."""

from __future__ import annotations

import hashlib
import os
from datetime import date
from pathlib import Path
from urllib.parse import quote

PARTITION_COLUMNS = ("tp_partition", "tp_index", "tp_date")
LOG = "_delta_log"
MANIFESTS = "_manifests"
REJECTS = "_rejects"
_LONGEST_NAME = 200


def table_location(data_dir: Path, table: str) -> Path:
    return data_dir / table


def is_table(location: Path) -> bool:
    """A run that died while it made the table may leave a log without entries, which is no table yet."""
    return os.path.exists(first_entry(location))


def first_entry(location: Path) -> Path:
    return location / LOG / f"{0:020d}.json"


def hive_folder(partition: str, index: str, day: date) -> str:
    """Relative to the table. Values are escaped as Hive does, so that any text is one folder name."""
    return f"tp_partition={_escape(partition)}/tp_index={_escape(index)}/tp_date={day.isoformat()}"


def manifest_path(partition: str, unique: str) -> str:
    return f"{MANIFESTS}/{_escape(partition)}/{unique}.parquet"


def rejects_path(partition: str, unique: str) -> str:
    return f"{REJECTS}/{_escape(partition)}/{unique}.parquet"


def _escape(value: str) -> str:
    """The log knows the whole value; a folder's name may have 255 bytes on most file systems."""
    escaped = quote(value, safe=" -_.~+@,")
    if len(escaped) <= _LONGEST_NAME:
        return escaped
    return f"{escaped[:_LONGEST_NAME]}~{hashlib.blake2b(value.encode(), digest_size=8).hexdigest()}"
