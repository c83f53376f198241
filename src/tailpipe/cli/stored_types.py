"""Columns whose stored values do not fit the types that are declared now: what the lake says of the configuration."""

from __future__ import annotations

from collections.abc import Mapping

from tailpipe.config.values import Config
from tailpipe.errors import LakeError, Position, Problem
from tailpipe.lake.address import Lake
from tailpipe.tables.table import Table


def stored_type_problems(lake: Lake, tables: Mapping[str, Table], config: Config) -> tuple[Problem, ...]:
    """Reads the log of each table that is collected and configured. One that cannot be read is a warning."""
    from tailpipe.lake.catalog import list_tables
    from tailpipe.lake.log import TYPE_KEY, TableLog, conflict_hint
    from tailpipe.tables.stored_schema import table_schema

    problems: list[Problem] = []
    for name in (name for name in list_tables(lake) if name in tables):
        log = TableLog(lake.table(name), table_schema(tables[name], TYPE_KEY))
        try:
            conflicts = log.conflicts()
        except LakeError as error:
            problems.append(Problem(error.message, hint=error.hint, is_warning=True))
            continue
        problems += [
            Problem(
                f'table "{name}": {conflict}', _position(config, name, conflict.column), conflict_hint(name)
            )
            for conflict in conflicts
        ]
    return tuple(problems)


def _position(config: Config, table: str, column: str) -> Position | None:
    if table not in config.tables:
        return None
    for each in config.tables[table].columns:
        if each.name == column:
            return each.argument_positions.get("type") or each.position
    return config.tables[table].position
