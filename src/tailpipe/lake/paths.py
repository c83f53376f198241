"""Where things lie in the lake: one folder per table, a Delta table with manifests and rejects beside its log."""

from __future__ import annotations

import hashlib
import re
from datetime import date
from urllib.parse import quote, unquote

PARTITION_COLUMNS = ("tp_partition", "tp_index", "tp_date")
LOG = "_delta_log"
LAST_CHECKPOINT = f"{LOG}/_last_checkpoint"
MANIFESTS = "_manifests"
REJECTS = "_rejects"
_LONGEST_NAME = 200
_ENTRY = re.compile(rf"{LOG}/([0-9]{{20}})\.json")


def entry_path(version: int) -> str:
    """Of the log's entry for a version."""
    return f"{LOG}/{version:020d}.json"


def entry_version(path: str) -> int | None:
    """None for what is no entry of the log."""
    found = _ENTRY.fullmatch(path)
    return int(found[1]) if found else None


FIRST_ENTRY = entry_path(0)


def hive_folder(partition: str, index: str, day: date) -> str:
    """Relative to the table. Values are escaped as Hive does, so that any text is one folder name."""
    return f"tp_partition={_escape(partition)}/tp_index={_escape(index)}/tp_date={day.isoformat()}"


def manifest_path(partition: str, unique: str) -> str:
    return f"{MANIFESTS}/{_escape(partition)}/{unique}.parquet"


def partition_in(folder: str) -> str | None:
    """The partition to which a folder of manifests belongs; None where its name is cut."""
    name = unquote(folder)
    return name if _escape(name) == folder else None


def rejects_path(partition: str, unique: str) -> str:
    return f"{REJECTS}/{_escape(partition)}/{unique}.parquet"


def _escape(value: str) -> str:
    """The log knows the whole value; a folder's name may have 255 bytes on most file systems."""
    escaped = quote(value, safe=" -_.~+@,")
    if len(escaped) <= _LONGEST_NAME:
        return escaped
    return f"{escaped[:_LONGEST_NAME]}~{hashlib.blake2b(value.encode(), digest_size=8).hexdigest()}"
