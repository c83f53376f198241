"""What is wrong with a table that a plugin offers. Only its own definition is looked at, so that loading stays fast."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tailpipe.errors import ConfigError
from tailpipe.tables.standard import TP_NAMES, WRITER_COLUMNS
from tailpipe.tables.table import Column, Table
from tailpipe.tables.types import parse_type

_TP_TIMESTAMP = "tp_timestamp"
_NAME = re.compile(r"\w([\w -]*[\w-])?")
_LONGEST_NAME_BYTES = 200


def table_faults(table: Table, presets: Collection[tuple[str, str]]) -> list[str]:
    """Sentences, none of which names the plugin or the table. `presets` are the formats there are."""
    try:
        return list(_faults(table, presets))
    except Exception as error:  # a definition may hold anything
        return [f"its definition cannot be read: {type(error).__name__}: {error}"]


def _faults(table: Table, presets: Collection[tuple[str, str]]) -> Iterator[str]:
    if not _NAME.fullmatch(table.name) or len(table.name.encode()) > _LONGEST_NAME_BYTES:
        yield f"its name is not one of letters, digits, `_`, `-` and spaces with at most {_LONGEST_NAME_BYTES} bytes"
    names = [column.name for column in (*table.columns, *table.helpers)]
    for column in (*table.columns, *table.helpers):
        yield from (f'column "{column.name}": {fault}' for fault in _column_faults(column))
        if sum(name.lower() == column.name.lower() for name in names) > 1:
            yield f'column "{column.name}" is there twice; SQL does not see letter case'
    if _TP_TIMESTAMP not in table.standard and _TP_TIMESTAMP not in names:
        yield f"nothing fills {_TP_TIMESTAMP}: `standard` has to, or a column of that name"
    for name in table.standard:
        if name not in TP_NAMES or name in WRITER_COLUMNS:
            yield f'`standard` fills "{name}", which is not a common column that a table may fill'
    if table.default_format is not None and tuple(table.default_format) not in presets:
        yield f"its default format {'.'.join(map(str, table.default_format))} does not exist"


def _column_faults(column: Column) -> Iterator[str]:
    if column.name in WRITER_COLUMNS:
        yield "it is filled by collection itself"
    elif column.name.startswith("tp_") and column.name not in TP_NAMES:
        yield "it is not a common column; names with tp_ are kept for those"
    for type_ in (column.type, column.read_type):
        try:
            if type_ is not None:
                parse_type(type_)
        except ConfigError as error:
            yield error.problems[0].message
