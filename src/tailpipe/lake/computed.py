"""The write end's first step: columns of users' expressions, rejects for those that gave nothing, the filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.lake.columns import Numbers
from tailpipe.lake.facts import ArtifactSlot
from tailpipe.tables.computing import KEPT, Computing, sent_field
from tailpipe.tables.expressions.calculation import Calculation, Output
from tailpipe.tables.expressions.database import open_database
from tailpipe.tables.expressions.scope import Input
from tailpipe.tables.standard import ARTIFACT, POSITION, REASON, TP_TIMESTAMP, engine_name

# Gives a column of a batch as it is stored: by name and DuckDB type.
ColumnReader = Callable[[pa.RecordBatch, str, str], pa.Array]

_SHOWN_CHARACTERS = 200
_FIRST_MICROSECONDS = -62_135_510_400_000_000
_END_MICROSECONDS = 253_402_214_400_000_000
OUT_OF_RANGE = "tp_timestamp is outside the years 1 to 9999"


@dataclass
class Computer:
    """Evaluates a job's expressions batch by batch. Good for one task."""

    computing: Computing
    slots: Sequence[ArtifactSlot]
    now: datetime
    read_column: ColumnReader
    captures: dict[str, pa.Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.connection = open_database(self.now, self.computing.needs_inet)
        self.sent = {name: sent_field(number) for number, name in enumerate(self.computing.fields)}

    def close(self) -> None:
        self.connection.close()

    def compute(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Notes and rows that have a reason already pass untouched, and are never filtered."""
        for calculation in self.computing.columns:
            batch = self._with_values(batch, calculation)
        for output in self.computing.column_outputs:
            if output.name in self.computing.required:
                batch = self._with_rejects(batch, output)
        for calculation in self.computing.rows:
            batch = self._with_values(batch, calculation)
        return self._kept(batch)

    def _with_values(self, batch: pa.RecordBatch, calculation: Calculation) -> pa.RecordBatch:
        columns = [self._input(entry, batch) for entry in calculation.inputs]
        values = calculation.run(self.connection, columns, batch.num_rows)
        names = [engine_name(output.name) for output in calculation.outputs]
        return _replaced(batch, dict(zip(names, values, strict=True)))

    def _input(self, entry: Input, batch: pa.RecordBatch) -> Any:
        if entry.is_column:
            return self.read_column(batch, entry.name, entry.type)
        own = batch.column(self.sent[entry.name]) if entry.is_field else None
        if entry.capture is None:
            return own
        captured = self._captured(entry.capture).take(batch.column(ARTIFACT))
        return captured if own is None else pc.coalesce(own, captured)

    def _captured(self, name: str) -> pa.Array:
        if name not in self.captures:
            self.captures[name] = pa.array([slot.captures.get(name) for slot in self.slots], pa.string())
        return self.captures[name]

    def _with_rejects(self, batch: pa.RecordBatch, output: Output) -> pa.RecordBatch:
        values = batch.column(engine_name(output.name))
        is_open = _is_row(batch)
        is_missing = pc.and_(is_open, values.is_null())
        reasons = batch.column(REASON)
        if pc.any(is_missing).as_py():
            reasons = pc.replace_with_mask(
                reasons, is_missing, self._sentences(batch.filter(is_missing), output)
            )
        if output.name == TP_TIMESTAMP:
            reasons = pc.if_else(pc.and_(is_open, _out_of_range(values)), OUT_OF_RANGE, reasons)
        return batch if reasons is batch.column(REASON) else _replaced(batch, {REASON: reasons})

    def _sentences(self, batch: pa.RecordBatch, output: Output) -> pa.Array:
        inputs = [self._input(entry, batch).cast(pa.string()).to_pylist() for entry in output.inputs]
        names = [entry.name for entry in output.inputs]
        rows = zip(*inputs, strict=True) if inputs else [()] * batch.num_rows
        return pa.array([_sentence(output, dict(zip(names, row, strict=True))) for row in rows], pa.string())

    def _kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if KEPT not in batch.schema.names:
            return batch
        is_kept = pc.or_(pc.fill_null(batch.column(KEPT), False), pc.invert(_is_row(batch)))
        return batch if pc.all(is_kept).as_py() else batch.filter(is_kept)


def _is_row(batch: pa.RecordBatch) -> Any:
    """What is neither a closing row of the reader nor rejected."""
    return pc.and_(pc.greater_equal(batch.column(POSITION), 0), batch.column(REASON).is_null())


def _out_of_range(values: pa.Array) -> Any:
    moments: Numbers = values.cast(pa.int64()).fill_null(0).to_numpy()
    return pa.array((moments < _FIRST_MICROSECONDS) | (moments >= _END_MICROSECONDS))


def _sentence(output: Output, values: Mapping[str, str | None]) -> str:
    """Which expression gave nothing, and of what: `tp_timestamp: strptime(day, '%Y') gave no value for day = "x"`."""
    given = [f'{name} = "{text[:_SHOWN_CHARACTERS]}"' for name, text in values.items() if text is not None]
    missing = [f"{name} is missing" for name, text in values.items() if text is None]
    expression = output.label or " ".join(output.text.split())
    inputs = ", ".join([*given, *missing])
    return f"{output.name}: {expression} gave no value{' for ' if inputs else ''}{inputs}"


def _replaced(batch: pa.RecordBatch, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    present = dict(zip(batch.schema.names, batch.columns, strict=True)) | dict(columns)
    return pa.RecordBatch.from_arrays(list(present.values()), names=list(present))
