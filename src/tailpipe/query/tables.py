"""Which tables there are to query: those that are configured, and those that lie in the lake."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from tailpipe.lake.catalog import list_tables, reject_files, stored_columns
from tailpipe.lake.paths import table_location
from tailpipe.partition_names import Key
from tailpipe.query.bookkeeping import ARTIFACT_COLUMNS, COLLECTION_COLUMNS, artifacts, collections
from tailpipe.query.views import Book, Lake, TableView
from tailpipe.tables.standard import TP_COLUMNS, TP_NAMES
from tailpipe.tables.table import Table
from tailpipe.tables.types import duckdb_type


def find_lake(data_dir: Path, tables: Mapping[str, Table], collected_tables: Iterable[str]) -> Lake:
    """`collected_tables` are shown even while they are empty; other tables only when the lake has them."""
    stored = frozenset(list_tables(data_dir))

    def find_table(name: str) -> TableView:
        location = str(table_location(data_dir, name).absolute()) if name in stored else None
        table = tables.get(name)
        columns = _declared(table) if table else stored_columns(data_dir, name) or _declared(None)
        return TableView(name, location, columns)

    def find_reject_files() -> Sequence[str]:
        return [path for name in sorted(stored) for path in reject_files(data_dir, name)]

    books = {
        "collections": Book(COLLECTION_COLUMNS, partial(collections, data_dir)),
        "artifacts": Book(ARTIFACT_COLUMNS, partial(artifacts, data_dir)),
    }
    names, warnings = _told_apart(stored.union(collected_tables), tables)
    return Lake(names, find_table, find_reject_files, books, warnings)


def _told_apart(names: Iterable[str], configured: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names that SQL can tell apart, those of configured tables before others; and a warning about each other one."""
    chosen: dict[str, str] = {}
    warnings: list[str] = []
    for name in sorted(names, key=lambda name: (name not in configured, name)):
        first = chosen.setdefault(_as_sql_sees(name), name)
        if first != name:
            warnings.append(
                f'warning: table "{name}" is left out: SQL does not tell it from "{first}"\n'
                f'hint: tailpipe table delete "{name}" removes it, a new name for its folder keeps it'
            )
    return tuple(sorted(chosen.values())), tuple(warnings)


def _as_sql_sees(name: str) -> str:
    """DuckDB knows upper and lower case of ASCII alone."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def stored_partitions(data_dir: Path) -> list[Key]:
    """Every partition that has a folder in the lake."""
    return [
        (name, unquote(folder.name.partition("=")[2]))
        for name in list_tables(data_dir)
        for folder in table_location(data_dir, name).glob("tp_partition=*")
    ]


def _declared(table: Table | None) -> tuple[tuple[str, str], ...]:
    own = tuple(column for column in table.columns if column.name not in TP_NAMES) if table else ()
    return tuple((column.name, duckdb_type(column.type)) for column in (*own, *TP_COLUMNS))
