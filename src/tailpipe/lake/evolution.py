"""How a table's schema follows what is declared: columns and members come, types become wider, spellings stay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from tailpipe.tables.type_change import changes_values, merged_type
from tailpipe.tables.types import DataType, arrow_type, duckdb_type, parse_type

TYPE_KEY = "tailpipe.type"


@dataclass(frozen=True)
class ColumnChange:
    """Stored values of the column, named as it is stored, that must become values of another type."""

    name: str
    old: DataType
    new: DataType

    def __str__(self) -> str:
        return f"{self.name} becomes {duckdb_type(self.new)}"


@dataclass(frozen=True)
class TypeConflict:
    """A declared column whose stored values are not always values of the declared type."""

    column: str
    stored: str
    declared: str

    def __str__(self) -> str:
        return f'column "{self.column}" is stored as {self.stored} and declared as {self.declared}'


@dataclass(frozen=True)
class Evolution:
    """`schema` is that of the table afterwards. It holds only where there are no conflicts."""

    schema: pa.Schema
    converted: tuple[ColumnChange, ...] = ()
    conflicts: tuple[TypeConflict, ...] = ()
    is_changed: bool = False


def evolve(
    stored: pa.Schema, declared: pa.Schema, *, is_empty: bool = False, is_forced: bool = False
) -> Evolution:
    """Columns that are not declared stay. An empty table, or one that is forced to, takes every declared type."""
    columns = {field.name.lower(): field for field in stored}
    converted: list[ColumnChange] = []
    conflicts: list[TypeConflict] = []
    for wanted in declared:
        old = columns.get(wanted.name.lower())
        if old is None or is_empty:
            columns[wanted.name.lower()] = wanted
            continue
        before, asked = _type(old), _type(wanted)
        merged = merged_type(before, asked)
        if merged is None and not is_forced:
            conflicts.append(TypeConflict(wanted.name, duckdb_type(before), duckdb_type(asked)))
            continue
        if merged is None or changes_values(before, merged):
            converted.append(ColumnChange(old.name, before, merged or asked))
        columns[wanted.name.lower()] = _field(old, merged or asked)
    schema = pa.schema(columns.values())
    is_changed = [_shape(each) for each in schema] != [_shape(each) for each in stored]
    return Evolution(schema, tuple(converted), tuple(conflicts), is_changed)


def conversions(old: pa.Schema, new: pa.Schema) -> tuple[ColumnChange, ...]:
    """What must become of values that were written for the old schema of a table, now that it has the new one."""
    found = {field.name.lower(): _type(field) for field in new}
    changes = (ColumnChange(field.name, _type(field), found[field.name.lower()]) for field in old)
    return tuple(change for change in changes if changes_values(change.old, change.new))


def as_in(stored: pa.Schema, names: Iterable[str]) -> dict[str, pa.Field]:
    """Columns by their declared names, as the table spells and types them."""
    found = {field.name.lower(): field for field in stored}
    return {name: pa.field(found[name.lower()].name, found[name.lower()].type) for name in names}


def _field(old: pa.Field, type_: DataType) -> pa.Field:
    metadata = {**(old.metadata or {}), TYPE_KEY.encode(): duckdb_type(type_).encode()}
    return pa.field(old.name, arrow_type(type_), metadata=metadata)


def _shape(field: pa.Field) -> tuple[str, pa.DataType, bytes | None]:
    return field.name, field.type, (field.metadata or {}).get(TYPE_KEY.encode())


def _type(field: pa.Field) -> DataType:
    return parse_type(field.metadata[TYPE_KEY.encode()].decode())
