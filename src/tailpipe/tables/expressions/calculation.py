"""Expressions over Arrow columns, evaluated by DuckDB: one query for a batch of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailpipe.tables.expressions.scope import Input
from tailpipe.tables.types import duckdb_type, parse_type, stored_type

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BATCH = "tailpipe_batch"
_ROW = "tailpipe_row"


@dataclass(frozen=True)
class Output:
    """A value to compute: the user's `text`, and the DuckDB type that it is cast to.

    With `is_text_for_json` the text is left alone: whatever is no JSON becomes a JSON string when it is stored.
    `label` is what people are told of it, where they did not write the text.
    """

    name: str
    text: str
    type: str
    inputs: tuple[Input, ...] = ()
    is_text_for_json: bool = False
    label: str = ""

    @property
    def sql(self) -> str:
        """Null where DuckDB would stop with an error."""
        value = f"({self.text}\n)"
        if self.is_text_for_json:
            return f"TRY({value})"
        value = f"CAST({value} AS {self.type})"
        stored = duckdb_type(stored_type(parse_type(self.type)))
        return f"TRY({value})" if stored == self.type else f"TRY(CAST({value} AS {stored}))"


@dataclass(frozen=True)
class Calculation:
    """Several values over the same inputs. Picklable."""

    outputs: tuple[Output, ...]

    @property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(dict.fromkeys(entry for output in self.outputs for entry in output.inputs))

    def run(self, connection: duckdb.DuckDBPyConnection, columns: Sequence[pa.Array], rows: int) -> list[Any]:
        """`columns` are the inputs in their stored types; the outputs come in theirs, one value for each row."""
        import duckdb
        import pyarrow as pa

        try:
            return self._values(connection, columns, rows)
        except (duckdb.FatalException, duckdb.InternalException):
            raise
        except (duckdb.Error, pa.ArrowException, MemoryError):
            # Some errors pass through TRY: a value beyond the memory limit, an unknown time zone.
            return self._values_apart(connection, columns, rows)

    def _values_apart(
        self, connection: duckdb.DuckDBPyConnection, columns: Sequence[pa.Array], rows: int
    ) -> list[Any]:
        """Halves, down to the row and the output that cannot be computed, which is null."""
        import pyarrow as pa

        if rows > 1:
            middle = rows // 2
            parts = [
                self.run(connection, [column.slice(start, count) for column in columns], count)
                for start, count in ((0, middle), (middle, rows - middle))
            ]
            return [pa.concat_arrays(pair) for pair in zip(*parts, strict=True)]
        if len(self.outputs) > 1:
            by_input = dict(zip(self.inputs, columns, strict=True))
            apart = [Calculation((output,)) for output in self.outputs]
            return [one.run(connection, [by_input[entry] for entry in one.inputs], 1)[0] for one in apart]
        empty = self._values(connection, [pa.nulls(0, column.type) for column in columns], 0)
        return [pa.nulls(1, empty[0].type)]

    def _values(
        self, connection: duckdb.DuckDBPyConnection, columns: Sequence[pa.Array], rows: int
    ) -> list[Any]:
        import pyarrow as pa

        names = [str(number) for number in range(len(columns))]
        numbers = pa.nulls(rows, pa.int8())
        batch = pa.RecordBatch.from_arrays([*columns, numbers], names=[*names, _ROW])
        connection.register(BATCH, pa.RecordBatchReader.from_batches(batch.schema, [batch]))
        try:
            found = connection.execute(self.sql).to_arrow_table()
        finally:
            connection.unregister(BATCH)
        return [_finite(column.combine_chunks()) for column in found.columns]

    @property
    def sql(self) -> str:
        listing = ", ".join(f'{output.sql} AS "{k}"' for k, output in enumerate(self.outputs))
        return f"SELECT {listing} FROM {row_source(self.inputs, BATCH)}"


def calculations(outputs: Sequence[Output]) -> tuple[Calculation, ...]:
    """As few as can be. Inputs whose names differ in letter case only cannot be in one query."""
    groups: list[list[Output]] = []
    for output in outputs:
        for group in groups:
            if _fit([*group, output]):
                group.append(output)
                break
        else:
            groups.append([output])
    return tuple(Calculation(tuple(group)) for group in groups)


def row_source(inputs: Sequence[Input], source: str | None = None) -> str:
    """The inputs by their names and types: of a batch, or without one a single row of nulls."""
    if source is None:
        nulls = [f"NULL::{entry.type} AS {quoted(entry.name)}" for entry in inputs]
        return f"(SELECT {', '.join([*nulls, f'NULL AS {_ROW}'])})"
    columns = [f'TRY_CAST("{k}" AS {entry.type}) AS {quoted(entry.name)}' for k, entry in enumerate(inputs)]
    return f"(SELECT {', '.join([*columns, _ROW])} FROM {source})"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _finite(values: Any) -> Any:
    """Null for times without end, which files cannot hold; DuckDB writes them as the outermost numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_timestamp(values.type):
        numbers, last = values.cast(pa.int64()), 2**63 - 1
    elif pa.types.is_date32(values.type):
        numbers, last = values.cast(pa.int32()), 2**31 - 1
    else:
        return values
    is_endless = pc.or_(pc.equal(numbers, last), pc.equal(numbers, -last))
    return (
        pc.if_else(is_endless, pa.scalar(None, values.type), values) if pc.any(is_endless).as_py() else values
    )


def _fit(outputs: Sequence[Output]) -> bool:
    inputs = {entry for output in outputs for entry in output.inputs}
    return len({entry.name.lower() for entry in inputs}) == len(inputs)
