"""A table that a user defines in a `table` block."""

from __future__ import annotations

from tailpipe.config.values import ColumnConfig, TableConfig
from tailpipe.errors import ConfigError, Problem
from tailpipe.tables.sql import quoted
from tailpipe.tables.standard import EXTRA, TP_COLUMNS, TP_NAMES, WRITER_COLUMNS, engine_name
from tailpipe.tables.table import Column, Table
from tailpipe.tables.types import Scalar, parse_type

_TP_TYPES = {column.name: column.type for column in TP_COLUMNS}
_TP_TIMESTAMP = "tp_timestamp"
_WRITER_REASONS = {
    "tp_date": (
        "is always the UTC day of tp_timestamp, by which rows are stored and found",
        'remove it, and say the time by `column "tp_timestamp" { source = "…" }` or with a transform; '
        "a day alone is a time, too",
    ),
    "tp_index": ("is filled by collection itself", "use the partition's tp_index argument"),
}


def custom_table(config: TableConfig, built_in: Table | None = None) -> Table:
    """Raises ConfigError with everything that is wrong with the block."""
    columns, _ = _columns(config)
    problems = table_problems(config, built_in)
    standard: dict[str, str] = {}
    if not problems and not any(column.name == _TP_TIMESTAMP for column in columns):
        standard, problem = _timestamp(config, columns)
        problems += [problem] if problem else []
    if problems:
        raise ConfigError(problems)
    return Table(
        name=config.name,
        columns=tuple(columns),
        standard=standard,
        map_fields=config.map_fields,
        null_if=config.null_if,
        description=config.description,
        is_custom=True,
    )


def partial_table(config: TableConfig) -> Table:
    """The table with the columns that can be, to check what else is wrong with it."""
    return Table(config.name, tuple(_columns(config)[0]), map_fields=config.map_fields, is_custom=True)


def table_problems(config: TableConfig, built_in: Table | None = None) -> list[Problem]:
    """What is wrong with the block whatever else is; not which column is the time, which needs all the others."""
    return [*_problems(config, built_in), *_columns(config)[1]]


def _columns(config: TableConfig) -> tuple[list[Column], list[Problem]]:
    columns: list[Column] = []
    problems: list[Problem] = []
    for column in config.columns:
        try:
            columns.append(_column(column))
        except ConfigError as error:
            problems += error.problems
    return columns, problems


def _problems(config: TableConfig, built_in: Table | None) -> list[Problem]:
    problems = []
    if built_in is not None:
        problems.append(
            Problem(
                f'table "{config.name}" exists already: a plugin defines it',
                config.position,
                hint="give your table another name",
            )
        )
    for column in config.columns:
        if column.name in (*WRITER_COLUMNS, EXTRA):
            reason, hint = _WRITER_REASONS.get(
                column.name, ("is filled by collection itself", "remove the column")
            )
            problems.append(Problem(f'column "{column.name}" {reason}', column.position, hint=hint))
        elif column.name.startswith("tp_") and column.name not in TP_NAMES:
            problems.append(
                Problem(
                    f'column "{column.name}" is not a common column; names with tp_ are kept for those',
                    column.position,
                    hint="rename the column",
                )
            )
    return problems


def _column(config: ColumnConfig) -> Column:
    where = config.argument_positions.get("type") or config.position
    type_ = _TP_TYPES.get(config.name) or config.type or "varchar"
    parse_type(type_, where)
    return Column(
        name=config.name,
        type=type_,
        source=config.source,
        transform=config.transform,
        null_if=config.null_if,
        required=config.required,
        description=config.description,
        position=config.argument_positions.get("transform") or config.position,
    )


def _timestamp(config: TableConfig, columns: list[Column]) -> tuple[dict[str, str], Problem | None]:
    """A table with one timestamp column needs no tp_timestamp column to say which."""
    moments = [column.name for column in columns if _is_timestamp(column)]
    if len(moments) == 1:
        return {_TP_TIMESTAMP: quoted(engine_name(moments[0]))}, None
    found = f"it has {len(moments)} timestamp columns" if moments else "it has no timestamp column"
    return {}, Problem(
        f'table "{config.name}" does not say which column is the time of the event: {found}',
        config.position,
        hint='add `column "tp_timestamp" { source = "…" }`',
    )


def _is_timestamp(column: Column) -> bool:
    type_ = parse_type(column.type)
    return isinstance(type_, Scalar) and type_.name in ("TIMESTAMP", "TIMESTAMPTZ")
