"""Files become others that have the same rows, sorted by time, in bounded memory.

Times, and the index where rows get a new one, tell the place of each row (`merge_inputs`). Then rows are taken in
rounds: as many of the next ones as memory may hold, from every row group that has some of them (`merge_rounds`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import pyarrow as pa

from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.datafile import ROW_GROUP_MAX_BYTES, DataFile, open_data_file
from tailpipe.lake.facts import FileFact
from tailpipe.lake.merge_inputs import Inputs, Merge, read_inputs
from tailpipe.lake.merge_rounds import next_rows
from tailpipe.lake.paths import PARTITION_COLUMNS, hive_folder
from tailpipe.lake.removal import Wrote, rewriting_of


def merge_files(
    address: TableAddress, merge: Merge, schema: pa.Schema, unit: str, wrote: Wrote
) -> tuple[FileFact, ...]:
    """`schema` is that of the table; files have those of its columns that one of the old ones has.

    Nothing of it is visible before a commit; `wrote` hears of each file. Raises LakeError.
    """
    folder = merge.files[0].path.rsplit("/", 1)[0]
    with rewriting_of(address, folder):
        inputs = read_inputs(address.files, merge)
        output = _Output(address, merge, _common_schema(inputs, schema), unit, wrote, _ends(inputs, merge))
        try:
            while output.place < inputs.rows:
                output.write(next_rows(inputs, output.schema, output.place))
            return output.finished(inputs.rows)
        except BaseException:
            output.abandon()
            raise


def _common_schema(inputs: Inputs, schema: pa.Schema) -> pa.Schema:
    found = {name for each in inputs.schemas for name in each.names}
    unknown = found - {*schema.names}
    if unknown:
        raise OSError(f"column {min(unknown)} is not one of the table")
    fields = (each for each in schema if each.name in found and each.name not in PARTITION_COLUMNS)
    return pa.schema(pa.field(each.name, each.type) for each in fields)


@dataclass(frozen=True)
class _End:
    """A file of the output: of which index, and the place after its last row."""

    index: str
    place: int


def _ends(inputs: Inputs, merge: Merge) -> list[_End]:
    """Files of an index have about the same number of rows."""
    starts = [start for _, start in inputs.indexes]
    ends: list[_End] = []
    for (index, start), end in zip(inputs.indexes, [*starts[1:], inputs.rows], strict=True):
        share = merge.size_bytes * (end - start) / max(1, inputs.rows)
        count = max(1, round(share / merge.file_bytes))
        ends += [_End(index, start + (end - start) * k // count) for k in range(1, count + 1)]
    return ends


class _Output:
    """Files that are written one after another."""

    def __init__(
        self,
        address: TableAddress,
        merge: Merge,
        schema: pa.Schema,
        unit: str,
        wrote: Wrote,
        ends: list[_End],
    ) -> None:
        self.schema = schema
        self._address, self._merge, self._unit, self._wrote = address, merge, unit, wrote
        self._ends = iter(ends)
        self._end = _End("", 0)
        self.place = 0
        self._file: DataFile | None = None
        self._facts: list[FileFact] = []

    def write(self, rows: pa.Table) -> None:
        while rows.num_rows:
            if self._file is None:
                self._end = next(self._ends)
                self._file = self._open(self._end.index)
            part = rows.slice(0, self._end.place - self.place)
            self._write(self._file, part)
            rows = rows.slice(part.num_rows)
            self.place += part.num_rows
            if self.place == self._end.place:
                self._facts.append(self._file.close(self._unit))
                self._file = None

    def finished(self, rows: int) -> tuple[FileFact, ...]:
        """Raises LakeError where rows are missing."""
        written = sum(fact.rows for fact in self._facts)
        if written != rows or self._file is not None:
            raise LakeError(
                f"{self._address}: of {rows:,} rows of {self._unit}, {written:,} were written. Nothing was changed."
            )
        return tuple(self._facts)

    def abandon(self) -> None:
        if self._file is not None:
            self._file.abandon()

    def _open(self, index: str) -> DataFile:
        values = {**self._merge.files[0].partition_values, "tp_index": index}
        folder = hive_folder(values["tp_partition"], index, date.fromisoformat(values["tp_date"]))
        file = open_data_file(self._address, folder, values, self.schema)
        self._wrote([file.path])
        return file

    def _write(self, file: DataFile, rows: pa.Table) -> None:
        """In row groups of about the same size."""
        count = -(-rows.nbytes // ROW_GROUP_MAX_BYTES) or 1
        size = -(-rows.num_rows // count)
        for start in range(0, rows.num_rows, size):
            file.write(rows.slice(start, size))
