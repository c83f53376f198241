"""`source "file" "name" { … }` at the top, `source "file" { … }` or `source { type = … }` in a partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tailpipe.config.blocks.arguments import BlockReader
from tailpipe.config.blocks.claims import refuse_claimed
from tailpipe.config.blocks.connection import Connections, connection_of
from tailpipe.config.blocks.format import FormatReader
from tailpipe.config.language.kinds import kind, with_article
from tailpipe.config.language.syntax import Block
from tailpipe.config.schema import ANY, Argument, BlockSchema, Catalog
from tailpipe.config.values import SourceConfig
from tailpipe.errors import Position
from tailpipe.suggest import did_you_mean, listed

_EVERY_SOURCE = (
    Argument("connection", ANY, description="credentials: connection.type.name"),
    Argument("format", ANY, description="how bytes become fields: format.type.name"),
    Argument("description"),
)
_EVERY_SOURCE_NAMES = tuple(argument.name for argument in _EVERY_SOURCE)


@dataclass(frozen=True)
class SourceReader:
    catalog: Catalog
    connections: Connections
    formats: FormatReader
    reader: BlockReader

    def top_level(self, blocks: Mapping[tuple[str, ...], Block]) -> dict[tuple[str, str], SourceConfig]:
        sources: dict[tuple[str, str], SourceConfig] = {}
        for (type_, name), block in blocks.items():
            with self.reader.report.reading("source", (type_, name)):
                source = self._source(block, type_, block.labels[0].position)
            if source is not None:
                sources[type_, name] = replace(source, name=name)
        return sources

    def in_partition(self, block: Block) -> SourceConfig | None:
        """The name is left to the partition."""
        if len(block.labels) == 1:
            return self._source(block, block.labels[0].text, block.labels[0].position)
        report = self.reader.report
        if block.labels:
            message = f"a source in a partition takes 1 label, not {len(block.labels)}"
            report.error(block.position, message, 'write source "type" { … }')
            return None
        attribute = block.attribute("type")
        if attribute is None:
            report.error(block.position, "this source does not say its type", 'write source "type" { … }')
            return None
        is_read, type_ = self.reader.evaluate(attribute.value)
        if is_read and not isinstance(type_, str):
            message = f"a source type is a string, not {with_article(kind(type_))}"
            report.error(attribute.value.position, message)
        if not isinstance(type_, str):
            return None
        return self._source(block.without(("type",)), type_, attribute.value.position)

    def _source(self, block: Block, type_: str, type_position: Position) -> SourceConfig | None:
        types = self.catalog.source_types
        if type_ not in types:
            message = f'source "{type_}" is not installed. Installed: {listed(types) or "none"}.'
            self.reader.report.error(type_position, message, did_you_mean(type_, types))
            return None
        refuse_claimed("source", type_, type_position, self.catalog, self.reader.report)
        schema = _with_common_arguments(types[type_])
        arguments = self.reader.arguments(block, schema, f'source "{type_}"')
        connection = connection_of(arguments, self.connections, self.reader.report)
        format_ = self.formats.of("format", arguments, block)
        values, positions = arguments.without(_EVERY_SOURCE_NAMES)
        is_whole = block.is_whole and arguments.is_whole_without(_EVERY_SOURCE_NAMES)
        return SourceConfig(type_, type_, values, connection, format_, block.position, positions, is_whole)


def _with_common_arguments(schema: BlockSchema) -> BlockSchema:
    own = tuple(argument for argument in schema.arguments if argument.name not in _EVERY_SOURCE_NAMES)
    return BlockSchema((*own, *_EVERY_SOURCE), schema.description)
