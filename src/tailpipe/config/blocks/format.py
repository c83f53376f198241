"""`format "grok" "x" { … }`, its older form with one label, and formats written in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tailpipe.config.blocks.arguments import Arguments, BlockReader, Entry
from tailpipe.config.blocks.claims import refuse_claimed
from tailpipe.config.declarations import Declared, unique
from tailpipe.config.language.kinds import BlockReference, kind, with_article
from tailpipe.config.language.syntax import Block, Expression, ListOf, Literal, Name, ObjectOf
from tailpipe.config.report import Report
from tailpipe.config.schema import BlockSchema, Catalog
from tailpipe.config.values import FormatConfig
from tailpipe.errors import Position
from tailpipe.suggest import near_or_all

IN_PLACE_NAME = "inline"
IMPLICIT_NAME = "default"
_HINT = 'write format.type.name, or { type = "…", … }'
# By (type, name), and by (name,) for blocks with one label.
Formats = Mapping[tuple[str, ...], FormatConfig]


def implicit_formats(catalog: Catalog) -> dict[tuple[str, ...], FormatConfig]:
    """Presets, and `format.<type>.default` for types that need no argument."""
    formats: dict[tuple[str, ...], FormatConfig] = {
        (type_, IMPLICIT_NAME): FormatConfig(type_, IMPLICIT_NAME)
        for type_, schema in catalog.format_types.items()
        if not any(argument.required for argument in schema.arguments)
    }
    for (type_, name), arguments in catalog.format_presets.items():
        formats[type_, name] = FormatConfig(type_, name, dict(arguments))
    return formats


def identify_formats(
    declared: list[Declared], types: Mapping[str, BlockSchema], reader: BlockReader
) -> dict[tuple[str, str], Block]:
    keys: list[tuple[tuple[str, str], Declared]] = []
    for each in declared:
        with reader.report.reading("format", each.labels):
            key = _key(each, types, reader)
        if key:
            keys.append((key, each))
    return unique("format", keys, reader.report)


def _key(declared: Declared, types: Mapping[str, BlockSchema], reader: BlockReader) -> tuple[str, str] | None:
    block = declared.block
    if len(block.labels) == 2:
        type_, position = block.labels[0].text, block.labels[0].position
    else:
        attribute = block.attribute("type")
        if attribute is None:
            message = f'format "{block.labels[0].text}" does not say its type'
            reader.report.error(block.position, message, 'write format "type" "name" { … }')
            return None
        is_read, type_ = reader.evaluate(attribute.value)
        position = attribute.value.position
        if not is_read:
            return None
    return (type_, block.labels[-1].text) if _is_installed(type_, position, types, reader.report) else None


def _is_installed(type_: Any, position: Position, types: Mapping[str, BlockSchema], report: Report) -> bool:
    if not isinstance(type_, str):
        report.error(position, f"a format type is a string, not {with_article(kind(type_))}")
    elif type_ not in types:
        hint = near_or_all(type_, types, "installed")
        report.error(position, f'format type "{type_}" is not installed', hint)
    return isinstance(type_, str) and type_ in types


def read_formats(
    blocks: Mapping[tuple[str, str], Block], catalog: Catalog, reader: BlockReader
) -> dict[tuple[str, str], FormatConfig]:
    formats: dict[tuple[str, str], FormatConfig] = {}
    for (type_, name), block in blocks.items():
        with reader.report.reading("format", (type_, name)):
            reader.report.use("format", tuple(label.text for label in block.labels))
            formats[type_, name] = _format(type_, name, block, catalog.format_types[type_], reader)
    return formats


def _format(type_: str, name: str, block: Block, schema: BlockSchema, reader: BlockReader) -> FormatConfig:
    if len(block.labels) == 1:
        block = _without_type(block)
    fields = block.attribute("fields")
    rewritten = {"fields": _with_bare_names(fields.value)} if fields else {}
    arguments = reader.arguments(block, schema, f'format "{type_}"', rewritten=rewritten)
    is_whole = block.is_whole and arguments.is_whole_without()
    return FormatConfig(type_, name, arguments.values, block.position, arguments.positions, is_whole)


def _without_type(block: Block) -> Block:
    attributes = tuple(attribute for attribute in block.attributes if attribute.name != "type")
    return replace(block, attributes=attributes)


def _with_bare_names(fields: Expression) -> Expression:
    """`[ timestamp, src_ip ]` means the names themselves."""
    if not isinstance(fields, ListOf):
        return fields
    items = tuple(
        Literal(item.position, item.name) if isinstance(item, Name) else item for item in fields.items
    )
    return ListOf(fields.position, items)


def with_bare_field_names(written: Expression) -> Expression:
    """The same in a format written in place."""
    if not isinstance(written, ObjectOf):
        return written
    items = tuple(
        (key, _with_bare_names(value)) if isinstance(key, Literal) and key.value == "fields" else (key, value)
        for key, value in written.items
    )
    return ObjectOf(written.position, items)


def format_of(
    name: str,
    arguments: Arguments,
    written: Expression | None,
    formats: Formats,
    catalog: Catalog,
    reader: BlockReader,
) -> FormatConfig | None:
    """The format that argument `name` means: a reference, its text, or an object in place."""
    found = _format_of(name, arguments, written, formats, catalog, reader)
    if found:
        refuse_claimed("format", found.type, arguments.positions[name], catalog, reader.report)
    return found


def _format_of(
    name: str,
    arguments: Arguments,
    written: Expression | None,
    formats: Formats,
    catalog: Catalog,
    reader: BlockReader,
) -> FormatConfig | None:
    value = arguments.get(name)
    if value is None:
        return None
    position = arguments.positions[name]
    if isinstance(value, BlockReference) and value.kind == "format":
        return _used(value.labels, formats, reader.report)
    if isinstance(value, dict):
        return _in_place(value, position, written, catalog, reader)
    if not isinstance(value, str):
        message = f"a format is a reference or an object, not {with_article(kind(value))}"
        reader.report.error(position, message, _HINT)
        return None
    key = tuple(value.removeprefix("format.").split("."))
    if key not in formats and ("format", key) not in reader.report.broken:
        known = [".".join(labels) for labels in formats]
        message = f'there is no format "{value}"'
        reader.report.error(position, message, near_or_all(value, known, "formats"))
    return _used(key, formats, reader.report)


def _used(key: tuple[str, ...], formats: Formats, report: Report) -> FormatConfig | None:
    """Of a format that exists but was not understood there is no value."""
    found = formats.get(key)
    report.use("format", (found.type, found.name) if found else key)
    return found


def _in_place(
    value: dict[str, Any],
    position: Position,
    written: Expression | None,
    catalog: Catalog,
    reader: BlockReader,
) -> FormatConfig | None:
    if "type" not in value:
        reader.report.error(position, 'a format in place needs "type"', _HINT)
        return None
    places = _places(written)
    type_ = value["type"]
    if not _is_installed(
        type_, places.get("type", (position, position))[1], catalog.format_types, reader.report
    ):
        return None
    entries = [
        Entry(name, item, *places.get(name, (position, position)))
        for name, item in value.items()
        if name != "type"
    ]
    checked = reader.check(entries, catalog.format_types[type_], f'format "{type_}"', position)
    is_whole = checked.is_whole_without()
    return FormatConfig(type_, IN_PLACE_NAME, checked.values, position, checked.positions, is_whole)


def _places(written: Expression | None) -> dict[str, tuple[Position, Position]]:
    if not isinstance(written, ObjectOf):
        return {}
    return {
        key.value: (key.position, value.position)
        for key, value in written.items
        if isinstance(key, Literal) and isinstance(key.value, str)
    }
