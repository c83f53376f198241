"""The lake as it was: for each table the version that a query sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tailpipe.errors import LakeError, UsageError
from tailpipe.lake.address import Lake
from tailpipe.lake.catalog import list_tables
from tailpipe.lake.timeline import AsOf, moment_text, version_at
from tailpipe.query.views import named_tables


@dataclass(frozen=True)
class Past:
    """`tell` hears of tables that were not there yet. Versions are found out when a table is asked for.

    Where `as_of` is a version, it is that of the `table`, and there is no other.
    """

    lake: Lake
    as_of: AsOf
    table: str | None = None
    tell: Callable[[str], None] = lambda warning: None
    _found: dict[str, Lake | None] = field(default_factory=dict)

    def lake_of(self, table: str) -> Lake | None:
        """In which the table is found as it was; None while it was not there yet."""
        if table not in self._found:
            version = version_at(self.lake.table(table), self.as_of)
            self._found[table] = None if version is None else self.lake.at(version)
            if version is None and isinstance(self.as_of, datetime):
                self.tell(f"warning: {table} did not exist at {moment_text(self.as_of)}, so it is empty")
        return self._found[table]

    def explained(self, error: LakeError, table: str) -> LakeError:
        """Manifests of the past may be vacuumed before its log is."""
        if not isinstance(error.__cause__, FileNotFoundError):
            return error
        return LakeError(
            f"what was known of {table} then is no longer there: its files were vacuumed or purged.",
            hint="give a later time, or query the table alone: its rows may still be there",
        )


def open_past(lake: Lake, as_of: AsOf, sql: str, tell: Callable[[str], None]) -> Past:
    table = _table_of(as_of, list_tables(lake), sql) if isinstance(as_of, int) else None
    return Past(lake, as_of, table, tell)


def _table_of(version: int, tables: Sequence[str], sql: str) -> str:
    reached = named_tables(tables, sql) or list(tables)
    if len(reached) != 1:
        if not tables:
            raise UsageError(f"--as-of {version} is a version of a table, and no table is collected.")
        raise UsageError(
            f"--as-of {version} is a version of one table, and the SQL may reach several: {', '.join(reached)}.",
            hint="name one table in the SQL, or give a time: that holds for all tables",
        )
    return reached[0]
