"""Known artifacts as columns: the form in which manifests store them, and in which a state keeps them.

Texts that many artifacts share are dictionaries, moments are timestamps, and an identity is null where it is the
location. Windows stay text: there are few different ones, and each is read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec

from tailpipe.arrow import pa, pc
from tailpipe.lake.manifest import KnownArtifact, kept_text, read_kept, read_window, window_text
from tailpipe.records import Mark, RowCounts

_SHARED = pa.dictionary(pa.int32(), pa.string())
_MOMENT = pa.timestamp("us", "UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TYPES = {int: pa.int64(), str: pa.string()}
# Columns of values inside a value, and the members that they hold.
_MARK = {name: name for name in Mark.__struct_fields__}
_COUNTS = {"rows": "read", **{name: name for name in ("stored", "filtered", "outside", "rejected")}}
SCHEMA = pa.schema(
    [
        ("source", _SHARED),
        ("identity", pa.string()),
        ("location", pa.string()),
        ("version", pa.string()),
        ("size_bytes", pa.int64()),
        ("span", _SHARED),
        ("kept", _SHARED),
        *((field.name, _TYPES[field.type]) for field in msgspec.structs.fields(Mark)),
        ("waiting_bytes", pa.int64()),
        ("constants", _SHARED),
        *((name, pa.int64()) for name in _COUNTS),
        ("first", _MOMENT),
        ("last", _MOMENT),
        ("collected_at", _MOMENT),
        ("run", _SHARED),
        ("oldest", _MOMENT),
        ("newest", _MOMENT),
        ("is_gone", pa.bool_()),
    ]
)
SHARED = [field.name for field in SCHEMA if field.type == _SHARED]
# What manifests of before tell with the help of other columns.
_TOLD_BY = {"identity": ("location",), "oldest": ("first", "outside"), "newest": ("last", "outside")}
_ZERO = {pa.int64(): 0, pa.bool_(): False, pa.string(): ""}


def as_columns(known: Sequence[KnownArtifact]) -> pa.Table:
    return pa.Table.from_arrays([_column(name, known) for name in SCHEMA.names], schema=SCHEMA)


def as_values(rows: pa.Table) -> list[KnownArtifact]:
    """One value for each row of a table. Columns that it does not have are as they are by default, or empty."""
    columns = {field.name: _values(rows, field) for field in SCHEMA}
    columns["identity"] = [
        location if identity is None else identity
        for identity, location in zip(columns["identity"], columns["location"], strict=True)
    ]
    columns["mark"] = list(map(Mark, *(columns[name] for name in _MARK)))
    columns["rows"] = list(map(RowCounts, *(columns[name] for name in _COUNTS)))
    return list(map(KnownArtifact, *(columns[name] for name in KnownArtifact.__struct_fields__)))


def stored_names(names: Iterable[str], schema: pa.Schema) -> list[str]:
    """Columns of a file that tell these."""
    wanted = list(names)
    if not _is_of_now(schema):
        wanted += [other for name in wanted for other in _TOLD_BY.get(name, ())]
    return [name for name in dict.fromkeys(wanted) if name in schema.names]


def typed(rows: pa.Table, names: Iterable[str], schema: pa.Schema) -> pa.Table:
    """The columns, read from a file with this schema, in the form that they have now."""
    found = {name: rows.column(name) for name in rows.column_names}
    if not _is_of_now(schema):
        found = _told(found, rows.num_rows)
    fields = [SCHEMA.field(name) for name in names]
    columns = [
        found[field.name].cast(field.type) if field.name in found else _missing(field, rows.num_rows)
        for field in fields
    ]
    return pa.table(columns, schema=pa.schema(fields))


def _is_of_now(schema: pa.Schema) -> bool:
    """Manifests of before have moments as text, or do not tell the times of all rows."""
    return "oldest" in schema.names and schema.field("oldest").type == _MOMENT


def _told(found: dict[str, Any], count: int) -> dict[str, Any]:
    """Where all rows are stored, theirs are the times of all, and told once."""
    if "identity" in found:
        is_same = pc.equal(found["identity"], found["location"])
        found["identity"] = pc.if_else(is_same, pa.scalar(None, pa.string()), found["identity"])
    for name, same in (("oldest", "first"), ("newest", "last")):
        if same in found and "outside" in found:
            is_all = pc.equal(found["outside"], 0)
            stored = pc.if_else(is_all, found[same], pa.scalar(None, found[same].type))
            found[name] = pc.coalesce(found[name], stored) if name in found else stored
    return found


def _missing(field: pa.Field, count: int) -> Any:
    """As a value has it by default where the manifest is of before there was such a column."""
    return pa.repeat(pa.scalar(_ZERO.get(field.type), field.type), count)


def _column(name: str, known: Sequence[KnownArtifact]) -> pa.Array:
    values = list(map(_GETTERS[name], known))
    if name == "identity":
        values = [None if each.identity == each.location else each.identity for each in known]
    elif name == "span":
        values = [window_text(span) if span else None for span in values]
    elif name == "kept":
        values = list(map(kept_text, values))
    elif name == "constants":
        values = [msgspec.json.encode(constants).decode() if constants else None for constants in values]
    return pa.array(values, SCHEMA.field(name).type)


def _values(rows: pa.Table, field: pa.Field) -> list[Any]:
    read = _READERS.get(field.name, lambda value: value)
    if field.name not in rows.column_names:
        return [read(_ZERO.get(field.type))] * rows.num_rows
    column = rows.column(field.name)
    if field.type == _MOMENT:
        return moments(column)
    return list(map(read, column.to_pylist()))


def moments(column: Any) -> list[datetime | None]:
    numbers = column.cast(pa.int64()).to_pylist()
    return [None if number is None else moment(number) for number in numbers]


def moment(microseconds: int) -> datetime:
    """By the microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta.resolution


@lru_cache(maxsize=10_000)
def _constants(text: str | None) -> Mapping[str, str]:
    values: dict[str, str] = msgspec.json.decode(text) if text else {}
    return values


_GETTERS = {
    **{name: attrgetter(name) for name in SCHEMA.names},
    **{name: attrgetter(f"mark.{member}") for name, member in _MARK.items()},
    **{name: attrgetter(f"rows.{member}") for name, member in _COUNTS.items()},
}
_READERS: dict[str, Any] = {
    "span": lambda text: read_window(text) if text else None,
    "kept": read_kept,
    "constants": _constants,
    "run": lambda text: text or "",
}
