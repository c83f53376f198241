"""Which tables there are to query: those that are configured, and those that lie in the lake."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from tailpipe.errors import LakeError
from tailpipe.lake.address import Lake
from tailpipe.lake.catalog import list_tables, reject_files, stored_columns
from tailpipe.query.bookkeeping import ARTIFACT_COLUMNS, RUN_COLUMNS, artifacts, runs
from tailpipe.query.bucket import open_bucket
from tailpipe.query.views import Book, Queryable, TableView
from tailpipe.tables.standard import TP_COLUMNS, TP_NAMES
from tailpipe.tables.table import Table
from tailpipe.tables.types import duckdb_type

if TYPE_CHECKING:
    from tailpipe.query.past import Past


def find_queryable(
    lake: Lake,
    tables: Mapping[str, Table],
    collected_tables: Iterable[str],
    tell: Callable[[str], None] = lambda warning: None,
    past: Past | None = None,
) -> Queryable:
    """`collected_tables` are shown even while they are empty; other tables only when the lake has them.

    `tell` hears of tables that are damaged when what is known of all tables is read. In the past, a table has the
    columns that it had then.
    """
    stored = frozenset(list_tables(lake))
    if past and past.table:
        stored, collected_tables = frozenset([past.table]), ()
    seen = past.lake_of if past else lambda name: lake

    def of_each(read: Callable[[Lake, str], Iterable[Any]]) -> Iterator[Any]:
        """A damaged table must not hide what the others have. Raises LakeError where all are."""
        errors: dict[str, LakeError] = {}
        for name in sorted(stored):
            try:
                found = seen(name)
                yield from tuple(read(found, name)) if found else ()
            except LakeError as error:
                errors[name] = past.explained(error, name) if past else error
        if errors and len(errors) == len(stored):
            raise next(iter(errors.values()))
        for name, damage in errors.items():
            tell(f'warning: what is known of table "{name}" is left out: {damage.message}')

    def find_table(name: str) -> TableView:
        found = seen(name) if name in stored else None
        address = (found or lake).table(name)
        table = tables.get(name) if found is None or past is None else None
        columns = _declared(table) if table else tuple(stored_columns(address).items()) or _declared(None)
        return TableView(name, address.uri if found else None, columns, address.version)

    books = {
        "runs": Book(RUN_COLUMNS, partial(runs, of_each)),
        "artifacts": Book(ARTIFACT_COLUMNS, partial(artifacts, of_each)),
    }
    names, warnings = _told_apart(stored.union(collected_tables), tables)
    return Queryable(
        names,
        find_table,
        find_reject_files=lambda: [*of_each(reject_files)],
        open_lake=lambda connection: open_bucket(connection, lake),
        books=books,
        warnings=warnings,
    )


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


def _declared(table: Table | None) -> tuple[tuple[str, str], ...]:
    own = tuple(column for column in table.columns if column.name not in TP_NAMES) if table else ()
    return tuple((column.name, duckdb_type(column.type)) for column in (*own, *TP_COLUMNS))
