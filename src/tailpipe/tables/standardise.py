"""Records become rows of a table: parse, read columns, fill tp_ columns, reject bad rows.

Each step takes rows and gives rows, uses native functions only and runs nothing. Rows whose position is negative
are the reader's closing rows; they pass through untouched. What users' expressions compute is added by the writer;
fields that they read go along as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailpipe.formats.format import TEXT, Format
from tailpipe.records import ReasonCode
from tailpipe.tables.computing import INDEX, NOTHING, Computing, sent_field
from tailpipe.tables.fields import RECORD, record_shape, source_path, text_sql
from tailpipe.tables.sql import literal, quoted
from tailpipe.tables.standard import (
    CODE,
    EXTRA,
    ORIGINAL,
    PLACE,
    POSITION,
    RAW,
    REASON,
    TP_COLUMNS,
    TP_TIMESTAMP,
    WRITER_COLUMNS,
    engine_name,
)
from tailpipe.tables.table import Column, Table
from tailpipe.tables.types import spark_type
from tailpipe.tables.values import ColumnValue, column_value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_REJECTED_BECAUSE = "tp_rejected_because"

# A day at each end of what dates can say is left out, so that rounding and zones never lead beyond.
_OUT_OF_RANGE = (
    "CASE WHEN tp_timestamp < TIMESTAMP '0001-01-02 00:00:00' OR tp_timestamp >= TIMESTAMP '9999-12-31 00:00:00' "
    "THEN 'tp_timestamp is outside the years 1 to 9999' END"
)


@dataclass(frozen=True)
class Recipe:
    """How records of one format become rows of one table.

    `fields` are the record's fields, or None where any may occur. `computing` are users' expressions, for the writer.
    `index_column` fills tp_index.
    """

    table: Table
    format: Format
    fields: tuple[str, ...] | None = None
    computing: Computing = NOTHING
    index_column: str | None = None

    @property
    def computed(self) -> frozenset[str]:
        """Columns that the writer computes."""
        return frozenset(output.name for output in self.computing.column_outputs)

    @property
    def is_index_computed(self) -> bool:
        return any(output.name == INDEX for each in self.computing.rows for output in each.outputs)


def standardise(records: DataFrame, recipe: Recipe) -> DataFrame:
    """`records` as `tailpipe.records` says; rows out have the columns that can hold a value, place, reason and raw."""
    present = [column for column in _columns(recipe) if _is_present(column, recipe)]
    parsed = _parse(records, recipe, present)
    columned = _read_columns(parsed, recipe, present)
    return _finish(_fill_standard(columned, recipe), recipe)


def filled_columns(recipe: Recipe) -> tuple[str, ...]:
    """tp_timestamp and columns that rows of this recipe can hold a value in, without those that the writer fills."""
    own = [column.name for column in recipe.table.columns]
    present = [
        column.name
        for column in recipe.table.columns
        if column.name in recipe.computed or _is_present(column, recipe)
    ]
    standard = [name for name in recipe.table.standard if name not in own and name not in WRITER_COLUMNS]
    may_have_more = recipe.fields is None or recipe.format.framing == TEXT
    extra = [EXTRA] if may_have_more or _unread_fields(recipe) else []
    return tuple(dict.fromkeys([*present, *standard, *extra, "tp_timestamp"]))


def reading_format(recipe: Recipe) -> Format:
    """The format for readers, told what columns read."""
    return recipe.format.with_members(record_shape(_columns(recipe), recipe.computing.fields).wanted())


def _unread_fields(recipe: Recipe) -> tuple[str, ...]:
    """Fields of a format that names all it has, and that no column reads."""
    read = {source_path(column)[0] for column in recipe.table.columns if not column.transform}
    return tuple(field for field in recipe.fields or () if field not in read)


def _columns(recipe: Recipe) -> tuple[Column, ...]:
    return (*recipe.table.columns, *recipe.table.helpers)


def _is_present(column: Column, recipe: Recipe) -> bool:
    if column.transform:
        return False
    return recipe.fields is None or source_path(column)[0] in recipe.fields


def _parse(records: DataFrame, recipe: Recipe, present: Sequence[Column]) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    shape = record_shape(present, recipe.computing.fields)
    nested = shape.spark()
    if not isinstance(nested, T.StructType):
        nested = T.StructType([])
    fields = recipe.format.fields(
        F.col("raw"), list(dict.fromkeys([*shape.members, *_unread_fields(recipe)])), nested
    )
    beside = (*PLACE, REASON, CODE, RAW, ORIGINAL, EXTRA)
    return records.select(
        fields.alias(RECORD), *(F.col(name.removeprefix("tp_")).alias(name) for name in beside)
    )


def _read_columns(parsed: DataFrame, recipe: Recipe, present: Sequence[Column]) -> DataFrame:
    shape = record_shape(present, recipe.computing.fields)
    values = {column.name: column_value(column, shape, recipe.table.null_if) for column in present}
    bad_values = [reason for value in values.values() for reason in value.reasons]
    reasons = [REASON, f"CASE WHEN {RECORD} IS NULL THEN {literal(recipe.format.mismatch_reason)} END"]
    if bad_values:
        reasons.append(f"nullif(concat_ws('; ', {', '.join(bad_values)}), '')")
    is_unreadable = f"{REASON} IS NOT NULL OR {RECORD} IS NULL"
    return parsed.selectExpr(
        *(_aliased(_sql(column, values), column.name) for column in _columns(recipe)),
        *PLACE,
        f"CASE WHEN {POSITION} >= 0 THEN coalesce({', '.join(reasons)}) END AS {REASON}",
        f"coalesce({CODE}, CASE WHEN {is_unreadable} THEN '{ReasonCode.UNREADABLE}' END) AS {CODE}",
        RAW,
        ORIGINAL,
        f"{_extra_sql(recipe)} AS {EXTRA}",
        *(_aliased(text_sql(shape, name), sent_field(k)) for k, name in enumerate(recipe.computing.fields)),
    )


def _extra_sql(recipe: Recipe) -> str:
    """What the reader set aside of the record, and the fields that no column reads."""
    unread = _unread_fields(recipe)
    if not unread:
        return EXTRA
    parts = (f"{literal(name)}, {RECORD}.{quoted(name)}" for name in unread)
    fields = f"nullif(to_json(named_struct({', '.join(parts)})), '{{}}')"
    both = f"concat(left({EXTRA}, length({EXTRA}) - 1), ',', substring({fields}, 2))"
    return f"CASE WHEN {EXTRA} IS NULL THEN {fields} ELSE coalesce({both}, {EXTRA}) END"


def _sql(column: Column, values: dict[str, ColumnValue]) -> str:
    if column.name in values:
        return values[column.name].sql
    return f"CAST(NULL AS {spark_type(column.type)})"


def _fill_standard(rows: DataFrame, recipe: Recipe) -> DataFrame:
    own = [column.name for column in recipe.table.columns]
    standard = {
        name: sql
        for name, sql in recipe.table.standard.items()
        if name not in own and name not in WRITER_COLUMNS
    }
    missing = {
        column.name: f"CAST(NULL AS {spark_type(column.type)})"
        for column in TP_COLUMNS
        if column.name not in (*own, *standard, *WRITER_COLUMNS, EXTRA)
    }
    index = (
        [_aliased(f"CAST({_column(recipe.index_column)} AS string)", "tp_index")]
        if recipe.index_column and not recipe.is_index_computed
        else []
    )
    return rows.selectExpr(
        *(_column(name) for name in own),
        *(_aliased(sql, name) for name, sql in (standard | missing).items()),
        *index,
        *PLACE,
        REASON,
        CODE,
        RAW,
        ORIGINAL,
        EXTRA,
        *_sent_fields(recipe),
    )


def _finish(rows: DataFrame, recipe: Recipe) -> DataFrame:
    """The closing select states the schema; a row that lacks a required value is rejected here."""
    checks = _required_checks(recipe)
    reason = f"CASE WHEN {POSITION} >= 0 THEN coalesce({', '.join([REASON, *checks])}) END"
    checked = rows.selectExpr("*", f"{reason} AS {_REJECTED_BECAUSE}").drop(REASON)
    is_no_row = f"{POSITION} < 0 OR {_REJECTED_BECAUSE} IS NOT NULL"
    # The writer can still reject a row whose required columns it computes.
    raw = f"coalesce({ORIGINAL}, {RAW})"
    kept = raw if recipe.computing.required else f"CASE WHEN {is_no_row} THEN {raw} END"
    return checked.selectExpr(
        *(_column(name) for name in _sent_columns(recipe)),
        *(["tp_index"] if recipe.index_column and not recipe.is_index_computed else []),
        *PLACE,
        f"{_REJECTED_BECAUSE} AS {REASON}",
        CODE,
        f"{kept} AS {RAW}",
        *_sent_fields(recipe),
    )


def _sent_columns(recipe: Recipe) -> list[str]:
    """Without those that the writer computes, unless it starts from what the record says."""
    read = {
        entry.name
        for calculation in recipe.computing.columns
        for entry in calculation.inputs
        if entry.is_column
    }
    return [name for name in filled_columns(recipe) if name not in recipe.computed or name in read]


def _sent_fields(recipe: Recipe) -> list[str]:
    return [sent_field(number) for number in range(len(recipe.computing.fields))]


def _required_checks(recipe: Recipe) -> list[str]:
    """Sentences about values that a row cannot do without, each null where the value is there."""
    required = [
        column.name
        for column in recipe.table.columns
        if column.required and column.name != TP_TIMESTAMP and column.name not in recipe.computed
    ]
    checks = [
        f"CASE WHEN {_column(name)} IS NULL THEN {literal(name + ' is missing')} END" for name in required
    ]
    if TP_TIMESTAMP in recipe.computed:
        return checks
    shown = [
        f"concat({literal(name)}, ' \"', CAST({_column(name)} AS string), '\" is not a date')"
        for name in recipe.table.timestamp_from
    ]
    sentence = f"coalesce({', '.join([*shown, literal('tp_timestamp is missing')])})"
    return [*checks, f"CASE WHEN tp_timestamp IS NULL THEN {sentence} END", _OUT_OF_RANGE]


def _aliased(sql: str, name: str) -> str:
    return f"{sql} AS {_column(name)}"


def _column(name: str) -> str:
    return quoted(engine_name(name))
