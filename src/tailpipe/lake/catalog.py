"""What is in the lake, for those who only read: tables, columns, partitions, rejects. No Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from tailpipe.errors import LakeError
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.delta_errors import delta_message
from tailpipe.lake.paths import PARTITION_COLUMNS
from tailpipe.lake.store_errors import store_hint
from tailpipe.partition_names import Key

if TYPE_CHECKING:
    from tailpipe.lake.state import PartitionState

Found = TypeVar("Found")

_PARTITION = f"{PARTITION_COLUMNS[0]}="
_MOST_REQUESTS = 32


def list_tables(lake: Lake) -> list[str]:
    """Folders that begin with a dot are none: a deleted table may wait there to be removed."""
    try:
        names = [name for name in lake.files.children("") if not name.startswith(".") and _is_text(name)]
        return [name for name, is_table in zip(names, _each(_is_table(lake), names), strict=True) if is_table]
    except OSError as error:
        raise LakeError(
            f"{lake}: the tables cannot be listed: {delta_message(error)}", store_hint(error)
        ) from error


def _is_table(lake: Lake) -> Callable[[str], bool]:
    return lambda name: lake.table(name).is_table()


def _each(call: Callable[[str], Found], names: Sequence[str]) -> list[Found]:
    """Results in the order of the names. Each may be a request to a store, so they are sent side by side."""
    if len(names) < 2:
        return list(map(call, names))
    with ThreadPoolExecutor(min(len(names), _MOST_REQUESTS)) as pool:
        return list(pool.map(call, names))


def _is_text(name: str) -> bool:
    """Folders may have names that are no text, which SQL cannot name."""
    return name.encode(errors="replace").decode() == name


def stored_partitions(lake: Lake) -> list[Key]:
    """Every partition that has a folder in the lake."""
    names = list_tables(lake)
    found = _each(lambda name: lake.table(name).paths_in(""), names)
    return [
        (name, unquote(folder.removeprefix(_PARTITION)))
        for name, folders in zip(names, found, strict=True)
        for folder in folders
        if folder.startswith(_PARTITION)
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
