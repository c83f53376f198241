"""`format "grok" "x" { … }`, its older form with one label, and formats written in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailpipe.config.blocks.arguments import Arguments, BlockReader, Entry
from tailpipe.config.blocks.claims import refuse_claimed
from tailpipe.config.declarations import Declared, identified
from tailpipe.config.language.kinds import BlockReference, kind, with_article
from tailpipe.config.language.syntax import Attribute, Block, Literal, ObjectOf
from tailpipe.config.report import Report
from tailpipe.config.schema import BlockSchema, Catalog
from tailpipe.config.values import FormatConfig
from tailpipe.errors import Position
from tailpipe.suggest import near_or_all

IN_PLACE_NAME = "inline"
IMPLICIT_NAME = "default"
_HINT = 'write format.type.name, or { type = "…", … }'


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
    return identified("format", declared, lambda block: _key(block, types, reader), reader.report)


def _key(block: Block, types: Mapping[str, BlockSchema], reader: BlockReader) -> tuple[str, str] | None:
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
        block = block.without(("type",))
    arguments = reader.arguments(block, schema, f'format "{type_}"')
    is_whole = block.is_whole and arguments.is_whole_without()
    return FormatConfig(type_, name, arguments.values, block.position, arguments.positions, is_whole)


@dataclass(frozen=True)
class FormatReader:
    """Finds the format that an argument means. `known` are by (type, name), or (name,) if their block has one label."""

    known: Mapping[tuple[str, ...], FormatConfig]
    catalog: Catalog
    reader: BlockReader

    def of(self, name: str, arguments: Arguments, block: Block) -> FormatConfig | None:
        """The format that argument `name` of the block means: a reference, its text, or an object in place."""
        value = arguments.get(name)
        if value is None:
            return None
        position = arguments.positions[name]
        if isinstance(value, BlockReference) and value.kind == "format":
            found = self._used(value.labels)
        elif isinstance(value, dict):
            found = self._in_place(value, position, block.attribute(name))
        elif isinstance(value, str):
            found = self._named(value, position)
        else:
            message = f"a format is a reference or an object, not {with_article(kind(value))}"
            self.reader.report.error(position, message, _HINT)
            return None
        if found:
            refuse_claimed("format", found.type, position, self.catalog, self.reader.report)
        return found

    def _named(self, text: str, position: Position) -> FormatConfig | None:
        key = tuple(text.removeprefix("format.").split("."))
        if key not in self.known and ("format", key) not in self.reader.report.broken:
            known = [".".join(labels) for labels in self.known]
            message = f'there is no format "{text}"'
            self.reader.report.error(position, message, near_or_all(text, known, "formats"))
        return self._used(key)

    def _used(self, key: tuple[str, ...]) -> FormatConfig | None:
        """Of a format that exists but was not understood there is no value."""
        found = self.known.get(key)
        self.reader.report.use("format", (found.type, found.name) if found else key)
        return found

    def _in_place(
        self, value: dict[str, Any], position: Position, written: Attribute | None
    ) -> FormatConfig | None:
        types, report = self.catalog.format_types, self.reader.report
        if "type" not in value:
            report.error(position, 'a format in place needs "type"', _HINT)
            return None
        type_ = value["type"]
        places = _places(written)
        if not _is_installed(type_, places.get("type", (position, position))[1], types, report):
            return None
        entries = [
            Entry(name, item, *places.get(name, (position, position)))
            for name, item in value.items()
            if name != "type"
        ]
        checked = self.reader.check(entries, types[type_], f'format "{type_}"', position)
        is_whole = checked.is_whole_without()
        return FormatConfig(type_, IN_PLACE_NAME, checked.values, position, checked.positions, is_whole)


def _places(written: Attribute | None) -> dict[str, tuple[Position, Position]]:
    """Where names and values of an object stand."""
    if written is None or not isinstance(written.value, ObjectOf):
        return {}
    return {
        key.value: (key.position, value.position)
        for key, value in written.value.items
        if isinstance(key, Literal) and isinstance(key.value, str)
    }
