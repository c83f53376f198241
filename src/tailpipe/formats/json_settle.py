"""One JSON record, member by member: the text an engine reads, and what of the record nobody wants."""

from __future__ import annotations

from typing import Any

import msgspec

from tailpipe.formats.json_text import compact, encoded
from tailpipe.formats.members import JSON, LIST, MAP, STRUCT, TEXT, Wanted

# One engine refuses longer names; those of structs are never as long.
MAX_NAME_BYTES = 50_000
_SHOWN_CHARACTERS = 200
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_KINDS = {STRUCT: (b"{", "object"), MAP: (b"{", "object"), LIST: (b"[", "array")}

# The text to read, and the text of what is left over; None where nothing is.
Parts = tuple[bytes, bytes | None]


class _Unfit(ValueError):
    """A value that no row can hold. `path` leads to it, `problem` says what is wrong with it."""

    def __init__(self, problem: str) -> None:
        super().__init__()
        self.problem, self.path = problem, ""

    def inside(self, name: str) -> _Unfit:
        self.path = f"{name}.{self.path}" if self.path else name
        return self

    @property
    def reason(self) -> str:
        return f"{self.path} {self.problem}"


def settle(record: bytes, wanted: Wanted) -> tuple[str, str | None, str | None]:
    """The record for the engine, what is left over of it, and a reason if it cannot be a row.

    Of two members with the same name the last one counts.
    """
    try:
        text, rest = _struct(record, wanted)
    except _Unfit as other:
        return "{}", None, other.reason
    except (msgspec.DecodeError, RecursionError):
        return "{}", None, "JSON is nested too deeply"
    return text.decode(), rest.decode() if rest else None, None


def _value(value: bytes, wanted: Wanted) -> Parts:
    if value == b"null":
        return value, None
    if wanted.kind in (TEXT, JSON):
        return _leaf(value, wanted.kind), None
    opening, name = _KINDS[wanted.kind]
    if value[:1] != opening:
        raise _Unfit(f"{value.decode()[:_SHOWN_CHARACTERS]} is not a JSON {name}")
    if wanted.kind == STRUCT:
        return _struct(value, wanted)
    return _list(value, wanted) if wanted.kind == LIST else _map(value, wanted)


def _leaf(value: bytes, kind: str) -> bytes:
    """A string with the text that the engine would give, if it kept numbers as they are."""
    if value[:1] == b'"':
        return encoded(compact(value).decode()) if kind == JSON else value
    if value in (b"true", b"false"):
        return value
    return encoded(compact(value).decode())


def _struct(value: bytes, wanted: Wanted) -> Parts:
    members = _OBJECT.decode(value)
    names = wanted.names
    chosen = _chosen(members, names)
    parts: list[bytes] = []
    rest: list[bytes] = []
    for name, raw in members.items():
        content = bytes(raw)
        column = chosen.get(name)
        if column is None:
            rest.append(encoded(name) + b":" + compact(content))
            continue
        spelled, member = names[column]
        text, left = _inside(column, content, member)
        parts.append(spelled + text)
        if member.is_apart:
            rest.append(encoded(name) + b":" + compact(content))
        elif left is not None:
            rest.append(encoded(name) + b":" + left)
    return _object(parts), _object(rest) if rest else None


def _chosen(members: dict[str, Any], names: dict[str, Any]) -> dict[str, str]:
    """Names of members, and the wanted name that each fills.

    A member that is spelled as wanted comes first, then those in another letter case, in the order of their names.
    """
    chosen = {name: name for name in members if name in names}
    others = [name for name in members if name not in names]
    if others:
        free = {name.lower(): name for name in names if name not in chosen}
        for name in sorted(others):
            column = free.pop(name.lower(), None)
            if column is not None:
                chosen[name] = column
    return chosen


def _inside(name: str, value: bytes, wanted: Wanted) -> Parts:
    try:
        return _value(value, wanted)
    except _Unfit as other:
        raise other.inside(name) from None


def _list(value: bytes, wanted: Wanted) -> Parts:
    """What is left over of items stands in a list as long as theirs, with null for items that are read whole."""
    assert wanted.item is not None
    items = [_inside(str(k), bytes(raw), wanted.item) for k, raw in enumerate(_ARRAY.decode(value))]
    is_whole = all(left is None for _, left in items)
    rest = None if is_whole else b"[" + b",".join(left or b"null" for _, left in items) + b"]"
    return b"[" + b",".join(text for text, _ in items) + b"]", rest


def _map(value: bytes, wanted: Wanted) -> Parts:
    assert wanted.item is not None
    parts, rest = [], []
    for name, raw in _OBJECT.decode(value).items():
        if len(name.encode()) > MAX_NAME_BYTES:
            raise _Unfit(f"has a name over {MAX_NAME_BYTES:,} bytes: {name[:_SHOWN_CHARACTERS]}")
        text, left = _inside(name, bytes(raw), wanted.item)
        parts.append(encoded(name) + b":" + text)
        if left is not None:
            rest.append(encoded(name) + b":" + left)
    return _object(parts), _object(rest) if rest else None


def _object(members: list[bytes]) -> bytes:
    return b"{" + b",".join(members) + b"}"
