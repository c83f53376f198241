"""`table "name" { … }` with its `column` blocks."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping

from tailpipe.config.blocks.arguments import Arguments, BlockReader, Entry, one_or_more
from tailpipe.config.blocks.format import FormatReader
from tailpipe.config.blocks.limits import EXPIRE_AFTER, read_expire_after
from tailpipe.config.language.kinds import kind, with_article
from tailpipe.config.language.syntax import Block
from tailpipe.config.schema import ANY, BOOL, STRINGS, Argument, BlockSchema
from tailpipe.config.values import ColumnConfig, TableConfig
from tailpipe.errors import Position

TABLE = BlockSchema(
    (
        Argument("description"),
        Argument("format", ANY),
        Argument("map_fields", STRINGS),
        Argument("null_if", ANY),
        Argument("columns", ANY),
        EXPIRE_AFTER,
    )
)
COLUMN = BlockSchema(
    (
        Argument("type"),
        Argument("source"),
        Argument("transform"),
        Argument("null_if", ANY),
        Argument("required", BOOL),
        Argument("description"),
    )
)


def read_tables(
    blocks: Mapping[tuple[str, ...], Block], formats: FormatReader, built_in: Collection[str]
) -> dict[str, TableConfig]:
    tables: dict[str, TableConfig] = {}
    reader = formats.reader
    taken = {_folded(name): name for name in built_in}
    for (name,), block in blocks.items():
        with reader.report.reading("table", (name,)):
            other = taken.setdefault(_folded(name), name)
            if name in built_in:
                message = f'table "{name}" is built in already'
                reader.report.error(block.labels[0].position, message, "give this table another name")
            elif other != name:
                message = (
                    f'table "{name}" differs from table "{other}" in letter case only, which SQL does not see'
                )
                reader.report.error(block.labels[0].position, message, "give one of them another name")
            tables[name] = _table(name, block, formats, reader)
    return tables


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _table(name: str, block: Block, formats: FormatReader, reader: BlockReader) -> TableConfig:
    owner = f'table "{name}"'
    arguments = reader.arguments(block, TABLE, owner, inner_blocks=("column",))
    columns = (*_listed_columns(arguments, owner, reader), *_column_blocks(block, reader))
    _refuse_repeated(columns, reader)
    index = next((column for column in columns if _is_index(column)), None)
    return TableConfig(
        name,
        tuple(column for column in columns if column is not index),
        tuple(arguments.get("map_fields", ("*",))),
        one_or_more(arguments, "null_if", owner, reader.report),
        formats.of("format", arguments, block),
        arguments.get("description", ""),
        block.position,
        arguments.positions,
        tp_index=index.source if index else None,
        expire_after=read_expire_after(arguments, owner, reader.report),
    )


def _is_index(column: ColumnConfig) -> bool:
    """Tailpipe's way to say it; what it is is said by the partition otherwise."""
    return column.name == "tp_index" and column.source is not None and column.transform is None


def _column_blocks(block: Block, reader: BlockReader) -> tuple[ColumnConfig, ...]:
    columns: list[ColumnConfig] = []
    for inner in block.blocks_of("column"):
        if len(inner.labels) != 1:
            message = f"column takes 1 label, not {len(inner.labels)}"
            reader.report.error(inner.position, message, 'write column "name" { … }')
            continue
        name = inner.labels[0].text
        arguments = reader.arguments(inner, COLUMN, f'column "{name}"')
        columns.append(_column(name, arguments, inner.position, reader))
    return tuple(columns)


def _listed_columns(arguments: Arguments, owner: str, reader: BlockReader) -> tuple[ColumnConfig, ...]:
    """`columns = { name = "type" }`, or with an object of column arguments instead of the type."""
    value = arguments.get("columns")
    if value is None:
        return ()
    position = arguments.positions["columns"]
    if not isinstance(value, dict):
        message = f'argument "columns" of {owner} must be a map, not {with_article(kind(value))}'
        reader.report.error(position, message, 'write { name = "type" }, or `column` blocks')
        return ()
    columns: list[ColumnConfig] = []
    for name, described in value.items():
        given = described if isinstance(described, dict) else {"type": described}
        entries = [Entry(key, item, position, position) for key, item in given.items()]
        checked = reader.check(entries, COLUMN, f'column "{name}"', position)
        columns.append(_column(name, checked, position, reader))
    return tuple(columns)


def _column(name: str, arguments: Arguments, position: Position, reader: BlockReader) -> ColumnConfig:
    return ColumnConfig(
        name,
        arguments.get("type"),
        arguments.get("source"),
        arguments.get("transform"),
        one_or_more(arguments, "null_if", f'column "{name}"', reader.report),
        arguments.get("required", False),
        arguments.get("description", ""),
        position,
        arguments.positions,
    )


def _refuse_repeated(columns: Collection[ColumnConfig], reader: BlockReader) -> None:
    """SQL does not tell upper from lower case in names."""
    seen: dict[str, ColumnConfig] = {}
    for column in columns:
        first = seen.setdefault(column.name.lower(), column)
        if first is not column:
            message = f'column "{column.name}" is defined twice; first at {first.position}'
            reader.report.error(column.position, message, "remove or rename one of them")
