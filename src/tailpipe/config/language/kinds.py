"""The kinds of values the language has, what they are called, and when two of them are equal.

Numbers are int or float; bool is never a number. Lists and sets are Python lists, maps and objects are dicts.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeGuard

from tailpipe.errors import Position

# Types that hold items, and the kind of their values.
CONTAINERS = {"list": "list", "set": "list", "tuple": "list", "map": "map", "object": "map"}


@dataclass(frozen=True)
class BlockReference:
    """`connection.aws.prod` as a value: which block is meant. The block exists."""

    kind: str
    labels: tuple[str, ...]
    position: Position

    def __str__(self) -> str:
        return ".".join((self.kind, *self.labels))


def is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_small_enough(value: int | float) -> bool:
    """Within what a float can hold: Python refuses to write out much larger integers."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, BlockReference):
        return f"a reference to a {value.kind}"
    names = ((str, "string"), (int | float, "number"), (list, "list"), (dict, "map"))
    return next((name for type_, name in names if isinstance(value, type_)), type(value).__name__)


def fits(value: Any, type_: str) -> bool:
    """`type_` is a kind, `any`, or says what a container holds: `list(string)`. Sets and tuples are lists here."""
    name, _, items = type_.removesuffix(")").partition("(")
    if name == "any":
        return True
    if kind(value) != CONTAINERS.get(name, name):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return not items or all(fits(item, items) for item in inner)


def with_article(name: str) -> str:
    if name == "null" or name.startswith("a "):
        return name
    return f"an {name}" if name[0] in "aeio" else f"a {name}"


def same(left: Any, right: Any) -> bool:
    """Values of different kinds are never equal: `1 == "1"` and `1 == true` are false."""
    if kind(left) != kind(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, BlockReference):
        return (left.kind, left.labels) == (right.kind, right.labels)
    return bool(left == right)


def identity(value: Any) -> Hashable:
    """Equal for values that are the same, and for no others."""
    if isinstance(value, list):
        return "list", tuple(identity(item) for item in value)
    if isinstance(value, dict):
        return "map", frozenset((key, identity(item)) for key, item in value.items())
    if isinstance(value, BlockReference):
        return kind(value), value.labels
    return kind(value), value


def number_text(value: int | float) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def as_text(value: Any) -> str | None:
    """The text of a scalar, as interpolation shows it; None for what has no text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if is_number(value) else None
