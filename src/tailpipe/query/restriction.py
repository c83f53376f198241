"""What `--from`, `--to`, `--partition` and `--index` let through."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from tailpipe.partition_names import PartitionPattern
from tailpipe.query.connection import quote_name, quote_text

_ALWAYS, _FOREVER = "TIMESTAMP '-infinity'", "TIMESTAMP 'infinity'"


@dataclass(frozen=True)
class Restriction:
    """Rows with `start <= tp_timestamp < end`, in any of the partitions and any of the indexes.

    Empty tuples and None restrict nothing. `indexes` holds values of tp_index, which may hold `*`, `?` and `[…]`. A
    table that no pattern names shows no rows.
    """

    start: datetime | None = None
    end: datetime | None = None
    partitions: tuple[PartitionPattern, ...] = ()
    indexes: tuple[str, ...] = ()

    def condition(self, table: str) -> str | None:
        """SQL over the columns of a stored table; None when all rows pass.

        tp_date repeats what tp_timestamp says, because files are told apart by it.
        """
        clauses = [*self._time_clauses()]
        if self.partitions:
            names = [each.partition for each in self.partitions if fnmatchcase(table, each.table)]
            clauses.append(_matches_any("tp_partition", names))
        if self.indexes:
            clauses.append(_matches_any("tp_index", self.indexes))
        return " AND ".join(clauses) or None

    def partition_condition(self) -> str | None:
        """The same for what has a table and a partition, but no index and no time: rejects, runs, artifacts."""
        if not self.partitions:
            return None
        clauses = (
            f"({_matches('table_name', each.table)} AND {_matches('partition', each.partition)})"
            for each in self.partitions
        )
        return f"({' OR '.join(clauses)})"

    def chooses(self, table: str, partition: str) -> bool:
        """Whether rows of the partition may pass."""
        return not self.partitions or any(each.matches((table, partition)) for each in self.partitions)

    def _time_clauses(self) -> Iterable[str]:
        """Both ends of tp_timestamp: beside a single one, DuckDB 1.5 opens every file, whatever tp_date says."""
        if self.start is None and self.end is None:
            return
        yield f"tp_timestamp >= {_timestamp(self.start) if self.start else _ALWAYS}"
        yield f"tp_timestamp < {_timestamp(self.end)}" if self.end else f"tp_timestamp <= {_FOREVER}"
        if self.start is not None:
            yield f"tp_date >= DATE '{self.start.astimezone(UTC):%Y-%m-%d}'"
        if self.end is not None:
            yield f"tp_date <= DATE '{self.end.astimezone(UTC) - timedelta.resolution:%Y-%m-%d}'"


def _timestamp(moment: datetime) -> str:
    return f"TIMESTAMP '{moment.astimezone(UTC).replace(tzinfo=None).isoformat(sep=' ')}'"


def _matches_any(column: str, patterns: Iterable[str]) -> str:
    return f"({' OR '.join(_matches(column, pattern) for pattern in patterns) or 'false'})"


def _matches(column: str, pattern: str) -> str:
    operator = "GLOB" if set(pattern) & set("*?[") else "="
    return f"{quote_name(column)} {operator} {quote_text(pattern)}"
