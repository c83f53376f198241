"""Rows move to the folders of the index that is configured now, in one commit a day.

An index is the text of a column: what a field of the log or a part of its path said is not stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.compaction import DayPlan, Limits, by_day, in_groups, plan_days
from tailpipe.lake.merge_inputs import Merge
from tailpipe.lake.removal import LiveFile, rewriting_of
from tailpipe.tables.standard import DEFAULT_INDEX

# So many times the size of a file is merged at once: more would need more memory for the places of rows.
_FILES_AT_ONCE = 4


@dataclass(frozen=True)
class Index:
    """`column` as the table spells it; None: every row has the default."""

    column: str | None = None

    def __call__(self, rows: pa.Table) -> pa.Array:
        """Files lack a column where it could only be null."""
        if self.column is None or self.column not in rows.column_names:
            return pa.repeat(DEFAULT_INDEX, rows.num_rows)
        texts = rows.column(self.column).cast(pa.string()).combine_chunks()
        is_text = pc.fill_null(pc.not_equal(texts, ""), False)
        return pc.if_else(is_text, texts, DEFAULT_INDEX)

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,)


def find_index(name: str | None, stored: pa.Schema) -> Index:
    """Raises LakeError where stored rows do not tell the index."""
    if name is None:
        return Index()
    found = next((each for each in stored if each.name.lower() == name.lower()), None)
    hint = "tailpipe collect --overwrite reads the logs again, and gives rows their index"
    if found is None:
        raise LakeError(
            f'tp_index "{name}" is not a column of the table, so stored rows do not tell it', hint
        )
    if not _has_one_text(found.type):
        raise LakeError(f'tp_index "{name}" is {found.type}, of which stored rows do not tell the text', hint)
    return Index(found.name)


def _has_one_text(type_: pa.DataType) -> bool:
    """Engines and libraries write other values in different ways."""
    kinds = (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_date)
    return any(is_kind(type_) for is_kind in kinds)


def plan_reindexing(
    address: TableAddress, index: Index, limits: Limits, files: Iterable[LiveFile]
) -> list[DayPlan]:
    """Days with rows in wrong folders, whose small files are merged along; other days as they are always merged.

    Reads the column of the index, of all files.
    """
    plans: list[DayPlan] = []
    for own in by_day(files).values():
        rows = {file.path: _rows_by_index(address, index, file) for file in own}
        moved = {file.path: sum(_others(file, rows[file.path]).values()) for file in own}
        if not any(moved.values()):
            plans += plan_days(limits, own)
            continue
        merged = [file for file in own if moved[file.path] or file.size_bytes < limits.small_bytes]
        groups = in_groups(merged, _FILES_AT_ONCE * limits.target_bytes)
        plans.append(
            DayPlan(
                own[0].partition_values["tp_partition"],
                own[0].day,
                tuple(Merge(tuple(group), limits.target_bytes, index.columns, index) for group in groups),
                sum(len({each for file in group for each in rows[file.path]}) for group in groups),
                sum(moved.values()),
            )
        )
    return plans


def _others(file: LiveFile, rows: Counter[str]) -> Counter[str]:
    own = file.partition_values["tp_index"]
    return Counter({name: count for name, count in rows.items() if name != own})


def _rows_by_index(address: TableAddress, index: Index, file: LiveFile) -> Counter[str]:
    if index.column is None:
        return Counter({DEFAULT_INDEX: file.rows})
    found: Counter[str] = Counter()
    with (
        rewriting_of(address, file.path),
        address.files.open_read(file.path) as opened,
        pq.ParquetFile(opened) as parquet,
    ):
        if index.column not in parquet.schema_arrow.names:
            return Counter({DEFAULT_INDEX: parquet.metadata.num_rows})
        for k in range(parquet.num_row_groups):
            values = pc.value_counts(index(parquet.read_row_group(k, columns=[index.column])))
            found.update(dict(zip(values.field(0).to_pylist(), values.field(1).to_pylist(), strict=True)))
    return found
