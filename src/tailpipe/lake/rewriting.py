"""A table's schema changes in one commit, together with the files whose values it concerns.

Delta lets a column's type change in the log alone only by a table feature that few readers have. Here the files that
hold the old type are written anew, so that every reader sees one type. One row group at a time is in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.conversion import Converter, open_converter
from tailpipe.lake.datafile import open_data_file
from tailpipe.lake.evolution import ColumnChange
from tailpipe.lake.facts import FileFact
from tailpipe.lake.removal import LiveFile, Wrote, rewriting_of
from tailpipe.tables.types import arrow_type, duckdb_type

KIND = "rewrite"


@dataclass
class Lost:
    """Values of a column that are not values of its new type."""

    change: ColumnChange
    count: int = 0
    example: str | None = None

    def __str__(self) -> str:
        values = "1 value" if self.count == 1 else f"{self.count:,} values"
        shown = f', such as "{self.example}",' if self.example is not None else ""
        return f'column "{self.change.name}": {values}{shown} cannot become {duckdb_type(self.change.new)}'


@dataclass
class Rewriting:
    """Files that come in place of all others, and what was lost on the way."""

    added: list[FileFact] = field(default_factory=list)
    lost: dict[str, Lost] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(fact.rows for fact in self.added)


def rewrite_files(
    address: TableAddress,
    files: Sequence[LiveFile],
    changes: Sequence[ColumnChange],
    wrote: Wrote,
) -> Rewriting:
    """Nothing of it is visible before a commit; `wrote` hears of each file."""
    rewriting = Rewriting()
    with open_converter() as converter:
        for file in files:
            with (
                rewriting_of(address, file.path),
                address.files.open_read(file.path) as opened,
                pq.ParquetFile(opened) as parquet,
            ):
                writer = _Rewriter(converter, {change.name: change for change in changes}, rewriting)
                rewriting.added.append(writer.rewrite(parquet, address, file))
                wrote([rewriting.added[-1].path])
    return rewriting


@dataclass(frozen=True)
class _Rewriter:
    converter: Converter
    changes: Mapping[str, ColumnChange]
    rewriting: Rewriting

    def rewrite(self, parquet: pq.ParquetFile, address: TableAddress, file: LiveFile) -> FileFact:
        schema = pa.schema(
            pa.field(each.name, arrow_type(self.changes[each.name].new))
            if each.name in self.changes
            else each
            for each in parquet.schema_arrow
        )
        folder = file.path.rsplit("/", 1)[0]
        new = open_data_file(address, folder, file.partition_values, schema)
        try:
            for k in range(parquet.num_row_groups):
                new.write(self._converted(parquet.read_row_group(k), schema))
            return new.close(KIND)
        except BaseException:
            new.abandon()
            raise

    def _converted(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        columns = [
            self._column(self.changes[name], rows.column(name)) if name in self.changes else rows.column(name)
            for name in rows.column_names
        ]
        return pa.Table.from_arrays(columns, schema=schema)

    def _column(self, change: ColumnChange, values: Any) -> Any:
        converted = self.converter.convert(values, change.old, change.new)
        if converted.lost:
            lost = self.rewriting.lost.setdefault(change.name, Lost(change))
            lost.count += converted.lost
            lost.example = lost.example if lost.example is not None else converted.example
        return converted.values


def refused(address: TableAddress, rewriting: Rewriting) -> LakeError:
    told = "; ".join(map(str, rewriting.lost.values()))
    return LakeError(
        f"{address}: {told}. Nothing was changed.",
        hint="keep the type, or store null in their place: tailpipe table rewrite NAME --nulls",
    )
