"""Which field of a log fills which column: names in any letter case, and fields that become columns of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from tailpipe.tables.fields import source_path
from tailpipe.tables.table import Column, Table

# Engines take longer with every column of a record, most of all with the columns that no record fills.
MAX_MAPPED_COLUMNS = 500
MAX_NAME_BYTES = 255
NOTHING_STORED: Mapping[str, str] = {}
_NO_COLUMN = re.compile(r"[\x00-\x1f\x7f]|^[*]$|^tp_", re.IGNORECASE)


def with_fields(
    table: Table, fields: tuple[str, ...], stored: Mapping[str, str] = NOTHING_STORED, is_open: bool = False
) -> Table:
    """The table read from records with these fields. Columns are spelled as those `stored` already, by type.

    Dots in a column's source may be part of a field's name. Every field that `map_fields` matches becomes a varchar
    column, up to MAX_MAPPED_COLUMNS of them, save those that a column of their name reads; fields that differ only in
    letter case are one. One that a column of another name reads is left out, too, in a plugin's table, and where the
    lake has a column of another type in its place: most often it was renamed.
    `is_open` says that records may have other fields too, whose letter case the reader sees to.
    """
    spelled = {name.lower(): name for name in stored}
    present = {} if is_open else _by_lower_case(fields)
    columns = tuple(_column(column, fields, present, spelled) for column in table.columns)
    sources = {source_path(column)[0].lower(): source_path(column)[0] for column in columns}
    taken = {column.name.lower() for column in columns} | (set() if table.is_custom else sources.keys())
    names = [
        name
        for name in _mapped_names(fields, spelled, sources, table.map_fields)
        if name.lower() not in taken and stored.get(name, "VARCHAR") == "VARCHAR"
    ]
    mapped = tuple(
        Column(
            name, "varchar", source=sources.get(name.lower()) or _source(name, present), is_field_name=True
        )
        for name in names[:MAX_MAPPED_COLUMNS]
    )
    return replace(table, columns=columns + mapped)


def _column(
    column: Column, fields: tuple[str, ...], present: Mapping[str, str], spelled: Mapping[str, str]
) -> Column:
    source = column.source or column.name
    if column.transform is None:
        first, dot, rest = source.partition(".")
        if source in fields or source.lower() in present:
            column = replace(column, source=_source(source, present), is_field_name=True)
        else:
            column = replace(column, source=_source(first, present) + dot + rest)
    return replace(column, name=spelled.get(column.name.lower(), column.name))


def _source(name: str, present: Mapping[str, str]) -> str:
    """The field's own spelling, where all fields are known."""
    if name in present.values():
        return name
    return present.get(name.lower(), name)


def _by_lower_case(fields: Iterable[str]) -> dict[str, str]:
    """Of fields that differ only in letter case, the first by name."""
    return {field.lower(): field for field in sorted(fields, reverse=True)}


def _mapped_names(
    fields: tuple[str, ...], spelled: Mapping[str, str], sources: Mapping[str, str], patterns: Iterable[str]
) -> Iterator[str]:
    """Stored ones first, so that a column goes on being filled; then in the order of the fields."""
    patterns = tuple(patterns)
    chosen = _by_lower_case(
        field
        for field in fields
        if any(fnmatchcase(field, pattern) for pattern in patterns) and can_be_column(field)
    )
    ordered = dict.fromkeys(field.lower() for field in fields if field.lower() in chosen)
    for lower in sorted(ordered, key=lambda lower: lower not in spelled):
        yield spelled.get(lower) or sources.get(lower) or chosen[lower]


def can_be_column(field: str) -> bool:
    """Other fields are kept in tp_extra: no name, names that engines refuse, and those of common columns."""
    return bool(field) and not _NO_COLUMN.search(field) and len(field.encode()) <= MAX_NAME_BYTES
