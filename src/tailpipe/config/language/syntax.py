"""The syntax tree. Every node knows its place; nothing here evaluates anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tailpipe.errors import Position


@dataclass(frozen=True, slots=True)
class Expression:
    position: Position


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    value: Any


@dataclass(frozen=True, slots=True)
class Broken(Expression):
    """Stands where the text could not be read; the reason has been reported."""


@dataclass(frozen=True, slots=True)
class Template(Expression):
    """Text with interpolations; a plain `"${x}"` has one part and keeps the value's type."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class ListOf(Expression):
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class ObjectOf(Expression):
    """A bare key is a literal."""

    items: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class Name(Expression):
    name: str


@dataclass(frozen=True, slots=True)
class Member(Expression):
    target: Expression
    name: str
    name_position: Position


@dataclass(frozen=True, slots=True)
class Index(Expression):
    target: Expression
    key: Expression


@dataclass(frozen=True, slots=True)
class Splat(Expression):
    """`each` is evaluated for every item, which it knows under the name SPLAT_ITEM."""

    target: Expression
    each: Expression


@dataclass(frozen=True, slots=True)
class Call(Expression):
    function: str
    arguments: tuple[Expression, ...]
    spreads_last: bool = False


@dataclass(frozen=True, slots=True)
class Unary(Expression):
    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Expression):
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Conditional(Expression):
    condition: Expression
    if_true: Expression
    if_false: Expression


@dataclass(frozen=True, slots=True)
class For(Expression):
    """A list when `key` is None, else an object; `groups` collects equal keys (`...`)."""

    names: tuple[str, ...]
    over: Expression
    key: Expression | None
    value: Expression
    condition: Expression | None = None
    groups: bool = False


SPLAT_ITEM = "[*]"


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    value: Expression
    position: Position


@dataclass(frozen=True, slots=True)
class Label:
    text: str
    position: Position


@dataclass(frozen=True, slots=True)
class Block:
    """`is_whole` is false when something from its first to its last line could not be read."""

    type: str
    labels: tuple[Label, ...]
    attributes: tuple[Attribute, ...]
    blocks: tuple[Block, ...]
    position: Position
    last_line: int = 0
    is_whole: bool = True

    def attribute(self, name: str) -> Attribute | None:
        return next((attribute for attribute in self.attributes if attribute.name == name), None)

    def without(self, names: Collection[str]) -> Block:
        """The block without the attributes of these names."""
        return replace(self, attributes=tuple(each for each in self.attributes if each.name not in names))

    def blocks_of(self, type: str) -> Iterator[Block]:
        return (block for block in self.blocks if block.type == type)


@dataclass(frozen=True, slots=True)
class Body:
    """What a file holds. `is_whole` is false when unreadable text may hide blocks.

    `lost_text` is what was not understood and may be blocks; None where not even that is known.
    """

    attributes: tuple[Attribute, ...]
    blocks: tuple[Block, ...]
    is_whole: bool = True
    lost_text: bytes | None = b""
