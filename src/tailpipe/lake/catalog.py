"""What is in the lake, for those who only read: tables, columns, partitions, rejects. No Spark."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tailpipe.lake.address import Lake, TableAddress
from tailpipe.partition_names import Key

if TYPE_CHECKING:
    from tailpipe.lake.state import PartitionState


def list_tables(lake: Lake) -> list[str]:
    """Folders that begin with a dot are none: a deleted table may wait there to be removed."""
    if not os.path.isdir(lake.uri):
        return []
    return sorted(
        name
        for name in os.listdir(lake.uri)
        if not name.startswith(".") and _is_text(name) and lake.table(name).is_table()
    )


def _is_text(name: str) -> bool:
    """Folders may have names that are no text, which SQL cannot name."""
    return name.encode(errors="replace").decode() == name


def stored_partitions(lake: Lake) -> list[Key]:
    """Every partition that has a folder in the lake."""
    return [
        (name, unquote(folder.name.partition("=")[2]))
        for name in list_tables(lake)
        for folder in Path(lake.table(name).uri).glob("tp_partition=*")
    ]


def stored_columns(address: TableAddress) -> dict[str, str]:
    """Columns that the table has now with their DuckDB types; none while it was never collected."""
    delta = address.opened() if address.is_table() else None
    if delta is None:
        return {}
    from tailpipe.lake.evolution import TYPE_KEY

    return {field.name: str(field.metadata.get(TYPE_KEY) or "VARCHAR") for field in delta.schema().fields}


def partition_names(lake: Lake, table: str) -> list[str]:
    """Partitions that have rows, or of which the log has anything else to tell."""
    from tailpipe.lake.history import partition_versions
    from tailpipe.lake.sizes import partition_contents

    return sorted({*partition_versions(lake.table(table)), *partition_contents(lake, table)})


def partition_states(
    lake: Lake, table: str, is_wanted: Callable[[str], bool] = lambda name: True
) -> dict[str, PartitionState]:
    """What is known of each wanted partition, by its name. Of manifests no artifact is read before it is asked for."""
    from tailpipe.lake.history import partition_versions, state_at

    address = lake.table(table)
    versions = partition_versions(address)
    return {name: state_at(address, name, version) for name, version in versions.items() if is_wanted(name)}


def reject_files(lake: Lake, table: str) -> list[str]:
    """Absolute paths of the quarantine files that count: those that commits added and none took away."""
    address = lake.table(table)
    states = partition_states(lake, table).values()
    return [address.path(path) for state in states for path in state.reject_files]
