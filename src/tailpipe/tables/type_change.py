"""What a column's type may become while values of it are stored: the one that holds the values of both, exactly."""

from __future__ import annotations

from tailpipe.tables.type_text import WHOLE_NUMBERS, DataType, ListOf, MapOf, Member, Scalar, Struct
from tailpipe.tables.types import arrow_type

_EXACT_WHOLE_NUMBERS = {"FLOAT": 2**24, "DOUBLE": 2**53}
# What is stored as text is that text. Text as JSON is a value or, where it is none, a string.
_WIDER = {
    ("FLOAT", "DOUBLE"),
    ("DATE", "TIMESTAMP"),
    ("DATE", "TIMESTAMPTZ"),
    ("TIMESTAMP", "TIMESTAMPTZ"),
    ("UUID", "VARCHAR"),
    ("INET", "VARCHAR"),
    ("TIME", "VARCHAR"),
    ("INTERVAL", "VARCHAR"),
    ("VARCHAR", "JSON"),
}


def merged_type(stored: DataType, declared: DataType) -> DataType | None:
    """The type that a column stored as one and declared as the other gets; None where no type holds both.

    Members of structs are told apart by their names in any letter case; those of either side stay, spelled as stored.
    """
    match stored, declared:
        case Scalar(), Scalar():
            return declared if _holds(declared, stored) else None
        case ListOf(old), ListOf(new):
            element = merged_type(old, new)
            return ListOf(element) if element else None
        case MapOf(key, old), MapOf(_, new):
            value = merged_type(old, new)
            return MapOf(key, value) if value else None
        case Struct(), Struct():
            return _merged_struct(stored, declared)
    return None


def changes_values(stored: DataType, merged: DataType) -> bool:
    """Whether stored files must be written anew; members that a struct gets are null in files without them."""
    match stored, merged:
        case ListOf(old), ListOf(new):
            return changes_values(old, new)
        case MapOf(_, old), MapOf(_, new):
            return changes_values(old, new)
        case Struct(), Struct():
            types = _by_name(merged)
            return any(changes_values(each.type, types[each.name.lower()].type) for each in stored.members)
    return bool(arrow_type(stored) != arrow_type(merged))


def _merged_struct(stored: Struct, declared: Struct) -> Struct | None:
    old, new = _by_name(stored), _by_name(declared)
    members: list[Member] = []
    for key, member in old.items():
        type_ = merged_type(member.type, new[key].type) if key in new else member.type
        if type_ is None:
            return None
        members.append(Member(member.name, type_))
    return Struct((*members, *(member for key, member in new.items() if key not in old)))


def _by_name(struct: Struct) -> dict[str, Member]:
    return {member.name.lower(): member for member in struct.members}


def _holds(wide: Scalar, narrow: Scalar) -> bool:
    if wide.name == narrow.name == "DECIMAL":
        return wide.scale >= narrow.scale and wide.precision - wide.scale >= narrow.precision - narrow.scale
    if wide.name == narrow.name or (narrow.name, wide.name) in _WIDER:
        return True
    numbers = _whole_numbers(narrow)
    if numbers is None:
        return False
    least, most = numbers
    if wide.name in _EXACT_WHOLE_NUMBERS:
        return max(-least, most) <= _EXACT_WHOLE_NUMBERS[wide.name]
    if wide.name == "DECIMAL":
        return bool(max(-least, most) < 10 ** (wide.precision - wide.scale))
    room = _whole_numbers(wide)
    return room is not None and room[0] <= least and most <= room[1]


def _whole_numbers(type_: Scalar) -> tuple[int, int] | None:
    if type_.name == "DECIMAL" and type_.scale == 0:
        return 1 - 10**type_.precision, 10**type_.precision - 1
    return WHOLE_NUMBERS.get(type_.name)
