"""Which blocks the files declare: kinds and labels checked, later directories before earlier ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tailpipe.config.language.syntax import (
    Attribute,
    Block,
    Body,
    Broken,
    Expression,
    ListOf,
    Literal,
    Name,
    ObjectOf,
)
from tailpipe.config.report import Report
from tailpipe.errors import Position
from tailpipe.suggest import near_or_all

_OLDER_SPELLINGS = {"collection": "partition"}
# The least and the most labels a block takes, and how it is written.
_LABELS = {
    "connection": (2, 2, 'connection "type" "name" { … }'),
    "source": (2, 2, 'source "type" "name" { … }'),
    "format": (1, 2, 'format "type" "name" { … }'),
    "table": (1, 1, 'table "name" { … }'),
    "partition": (1, 2, 'partition "table" "name" { … }'),
    "workspace": (1, 1, 'workspace "name" { … }'),
    "plugin": (1, 1, 'plugin "name" { … }'),
    "variable": (1, 1, 'variable "name" { … }'),
    "locals": (0, 0, "locals { … }"),
}
_WITH_FORMATS = ("table", "source", "partition")
# Tables and partitions are folders, whose names may have 255 bytes on most file systems.
_LONGEST_NAME_BYTES = 200
_NAME = re.compile(r"\w([\w -]*[\w-])?")

Key = TypeVar("Key", str, tuple[str, str], tuple[str, ...])


@dataclass(frozen=True)
class Declared:
    """A block and the directory it comes from, counted in the order they are given."""

    block: Block
    layer: int

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(label.text for label in self.block.labels)


@dataclass
class Declarations:
    """`is_whole` is false when unreadable text may hide blocks: then missing ones are not reported.

    `lost_texts` are the parts of files that were not understood; None stands for a file that could not be read.
    """

    blocks: dict[str, list[Declared]] = field(default_factory=lambda: {kind: [] for kind in _LABELS})
    locals: dict[str, Attribute] = field(default_factory=dict)
    is_whole: bool = True
    lost_texts: list[bytes | None] = field(default_factory=list)

    def unique(self, kind: str, report: Report) -> dict[tuple[str, ...], Block]:
        return unique(kind, [(declared.labels, declared) for declared in self.blocks[kind]], report)


def declare(files: Iterable[tuple[int, Body]], report: Report) -> Declarations:
    declarations = Declarations()
    for layer, body in files:
        declarations.is_whole = declarations.is_whole and body.is_whole
        declarations.lost_texts += [] if body.lost_text == b"" else [body.lost_text]
        for attribute in body.attributes:
            message = f'argument "{attribute.name}" stands outside any block'
            report.error(attribute.position, message, "put it into a block, or into `locals { … }`")
        for block in body.blocks:
            spelled = replace(block, type=_OLDER_SPELLINGS.get(block.type, block.type))
            _declare_block(_with_bare_names(spelled), layer, declarations, report)
    _merge_locals(declarations, report)
    return declarations


def _declare_block(block: Block, layer: int, declarations: Declarations, report: Report) -> None:
    if block.type not in _LABELS:
        hint = near_or_all(block.type, _LABELS, "blocks")
        report.error(block.position, f'there is no block type "{block.type}"', hint)
        return
    least, most, written = _LABELS[block.type]
    labels = tuple(label.text for label in block.labels)
    count = len(labels)
    if not least <= count <= most:
        expected = _count(most) if least == most else f"{least} or {_count(most)}"
        message = f"{block.type} takes {expected}, not {count}"
        with report.reading(block.type, labels):
            report.error(block.position, message, f"write {written}")
        return
    with report.reading(block.type, labels):
        if block.type != "plugin":
            check_labels(block, report)
        if not block.is_whole:
            report.fail()
    declarations.blocks[block.type].append(Declared(block, layer))


def _with_bare_names(block: Block) -> Block:
    """`fields = [ timestamp, src_ip ]` means the names themselves, in a format and in one that is written in place."""

    def meant(attribute: Attribute) -> Attribute:
        if block.type == "format" and attribute.name == "fields":
            return replace(attribute, value=_with_literals(attribute.value))
        if block.type in _WITH_FORMATS and attribute.name in ("format", "source_format"):
            return replace(attribute, value=_with_literal_fields(attribute.value))
        return attribute

    attributes, blocks = map(meant, block.attributes), map(_with_bare_names, block.blocks)
    return replace(block, attributes=tuple(attributes), blocks=tuple(blocks))


def _with_literals(fields: Expression) -> Expression:
    if not isinstance(fields, ListOf):
        return fields
    items = (Literal(item.position, item.name) if isinstance(item, Name) else item for item in fields.items)
    return ListOf(fields.position, tuple(items))


def _with_literal_fields(format_: Expression) -> Expression:
    if not isinstance(format_, ObjectOf):
        return format_
    items = (
        (key, _with_literals(value)) if isinstance(key, Literal) and key.value == "fields" else (key, value)
        for key, value in format_.items
    )
    return ObjectOf(format_.position, tuple(items))


def _count(number: int) -> str:
    return {0: "no label", 1: "1 label"}.get(number, f"{number} labels")


def check_labels(block: Block, report: Report) -> None:
    for label in block.labels:
        if not _NAME.fullmatch(label.text):
            hint = "a name holds letters, digits, `_`, `-` and spaces"
            report.error(label.position, f'"{label.text}" cannot be the name of a {block.type}', hint)
        elif len(label.text.encode(errors="replace")) > _LONGEST_NAME_BYTES:
            message = f"the name of a {block.type} has more than {_LONGEST_NAME_BYTES} bytes"
            report.error(label.position, message, "it becomes the name of a folder: give it a shorter one")


def identified(
    kind: str,
    declared: Iterable[Declared],
    key_of: Callable[[Block], tuple[str, str] | None],
    report: Report,
) -> dict[tuple[str, str], Block]:
    """Blocks by the keys that they have though their labels may say less; those without a key are left out."""
    keys: list[tuple[tuple[str, str], Declared]] = []
    for each in declared:
        with report.reading(kind, each.labels):
            key = key_of(each.block)
        if key:
            keys.append((key, each))
    return unique(kind, keys, report)


def unique(kind: str, declared: Sequence[tuple[Key, Declared]], report: Report) -> dict[Key, Block]:
    """The last directory wins; twice in one directory is an error that names both places and spoils both."""
    winners: dict[Key, Declared] = {}
    for key, each in declared:
        earlier = winners.get(key)
        if earlier is not None and earlier.layer == each.layer:
            labels = (key,) if isinstance(key, str) else key
            with report.reading(kind, labels):
                name = ".".join(labels)
                report.error(each.block.position, *_twice(f'{kind} "{name}"', earlier.block.position))
        else:
            winners[key] = each
    return {key: each.block for key, each in winners.items()}


def _twice(thing: str, first: Position) -> tuple[str, str]:
    return f"{thing} is defined twice; first at {first}", "remove or rename one of them"


def _merge_locals(declarations: Declarations, report: Report) -> None:
    layers: dict[str, int] = {}
    for declared in declarations.blocks["locals"]:
        for block in declared.block.blocks:
            report.error(
                block.position, f'locals has no block "{block.type}"', f"write {block.type} = {{ … }}"
            )
        for attribute in declared.block.attributes:
            if layers.get(attribute.name) == declared.layer:
                first = declarations.locals[attribute.name]
                report.error(attribute.position, *_twice(f'local "{attribute.name}"', first.position))
                declarations.locals[attribute.name] = replace(first, value=Broken(first.position))
                continue
            layers[attribute.name] = declared.layer
            declarations.locals[attribute.name] = attribute
