"""Which members of a JSON record are read, as a tree that readers on executors can follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

# A value that is kept as text, whatever it is: a string without its quotes, anything else as JSON.
TEXT = "text"
# A value that is kept as JSON: a string keeps its quotes.
JSON = "json"
STRUCT = "struct"
LIST = "list"
MAP = "map"


@dataclass(frozen=True)
class Wanted:
    """One value. `members` are those of a struct; `item` is every item of a list and every value of a map.

    With `is_apart` it is read, but by no column: it is set aside too.
    """

    kind: str = TEXT
    members: tuple[tuple[str, Wanted], ...] = ()
    item: Wanted | None = None
    is_apart: bool = False

    @cached_property
    def names(self) -> dict[str, tuple[bytes, Wanted]]:
        """Members by name, each with its name as JSON writes it before a value."""
        return {name: (msgspec.json.encode(name) + b":", member) for name, member in self.members}


def renamed(record: Wanted, names: Mapping[str, str]) -> Wanted:
    """The record with the names that its source uses; of two members with one name the first counts."""
    members = {names.get(name, name): wanted for name, wanted in reversed(record.members)}
    return replace(record, members=tuple(reversed(members.items())))
