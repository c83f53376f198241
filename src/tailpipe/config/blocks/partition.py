"""`partition "table" "name" { … }`, also spelled `collection`, and with one label and `type` or `table`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tailpipe.config.blocks.arguments import Arguments, BlockReader
from tailpipe.config.blocks.claims import table_plugin
from tailpipe.config.blocks.limits import LIMITS, read_limits
from tailpipe.config.blocks.source import SourceReader
from tailpipe.config.declarations import Declared, identified
from tailpipe.config.language.kinds import BlockReference, kind, with_article
from tailpipe.config.language.syntax import Block
from tailpipe.config.report import Report
from tailpipe.config.schema import ANY, Argument, BlockSchema
from tailpipe.config.values import PartitionConfig, SourceConfig, TableConfig
from tailpipe.errors import Position
from tailpipe.suggest import near_or_all

PARTITION = BlockSchema(
    (
        Argument("description"),
        Argument("plugin"),
        Argument("filter"),
        Argument("tp_index"),
        *LIMITS,
        Argument("source", ANY),
        Argument("source_format", ANY),
    )
)
_TABLE_ARGUMENTS = ("type", "table")


def identify_partitions(
    declared: Iterable[Declared], tables: Collection[str], reader: BlockReader
) -> dict[tuple[str, str], Block]:
    return identified("partition", declared, lambda block: _key(block, tables, reader), reader.report)


def _key(block: Block, tables: Collection[str], reader: BlockReader) -> tuple[str, str] | None:
    name = block.labels[-1].text
    attribute = next((each for each in block.attributes if each.name in _TABLE_ARGUMENTS), None)
    if len(block.labels) == 2:
        if attribute is not None:
            message = f'the first label says the table already; "{attribute.name}" repeats it'
            reader.report.error(attribute.position, message, f"remove `{attribute.name}`")
        return _known(block.labels[0].text, name, block.labels[0].position, tables, reader.report)
    if attribute is None:
        message = f'partition "{name}" does not say its table'
        hint = f'write partition "table" "{name}" {{ … }}, or add `table = "…"`'
        reader.report.error(block.position, message, hint)
        return None
    is_read, value = reader.evaluate(attribute.value)
    if not is_read:
        return None
    table = value.labels[0] if isinstance(value, BlockReference) and value.kind == "table" else value
    if not isinstance(table, str):
        message = f'"{attribute.name}" is a table, not {with_article(kind(table))}'
        reader.report.error(attribute.value.position, message, 'write table.name, or "name"')
        return None
    return _known(table, name, attribute.value.position, tables, reader.report)


def _known(
    table: str, name: str, position: Position, tables: Collection[str], report: Report
) -> tuple[str, str]:
    """The partition counts even if its table is unknown: references to it are not another error."""
    if table not in tables:
        report.error(position, f'there is no table "{table}"', near_or_all(table, tables, "tables"))
    return table, name


@dataclass(frozen=True)
class PartitionReader:
    sources: SourceReader
    top_level: Mapping[tuple[str, str], SourceConfig]
    tables: Mapping[str, TableConfig]
    reader: BlockReader

    def read(self, blocks: Mapping[tuple[str, str], Block]) -> dict[tuple[str, str], PartitionConfig]:
        partitions: dict[tuple[str, str], PartitionConfig] = {}
        for key, block in blocks.items():
            with self.reader.report.reading("partition", key):
                self.reader.report.use("partition", tuple(label.text for label in block.labels))
                partitions[key] = self._partition(*key, block)
        return partitions

    def _partition(self, table: str, name: str, block: Block) -> PartitionConfig:
        owner = f'partition "{table}.{name}"'
        block = block.without(_TABLE_ARGUMENTS)
        arguments = self.reader.arguments(block, PARTITION, owner, ("source",))
        format_ = self.sources.formats.of("source_format", arguments, block)
        sources = self._sources(arguments, block)
        plugin = self._plugin(table, arguments, block)
        own = self.tables.get(table) if plugin is None else None
        limits = read_limits(arguments, owner, self.reader.report)
        limits["expire_after"] = limits["expire_after"] or (own.expire_after if own else None)
        if not arguments.is_given("source") and not any(block.blocks_of("source")):
            hint = 'add source "file" { paths = ["…"] }'
            self.reader.report.error(block.position, f"{owner} has no source", hint)
        return PartitionConfig(
            table,
            name,
            _named(replace(source, format=source.format or format_) for source in sources),
            arguments.get("filter"),
            arguments.get("tp_index") or (own.tp_index if own else None),
            **limits,
            plugin=plugin,
            description=arguments.get("description", ""),
            position=block.position,
            argument_positions=arguments.positions,
        )

    def _plugin(self, table: str, arguments: Arguments, block: Block) -> str | None:
        place = arguments.positions.get("plugin", block.position)
        plugin = table_plugin(table, arguments.get("plugin"), place, self.sources.catalog, self.reader.report)
        if plugin is None:
            self.reader.report.use("table", (table,))
        return plugin

    def _sources(self, arguments: Arguments, block: Block) -> list[SourceConfig]:
        """Those that are referred to, then those that are written in the block."""
        value = arguments.get("source", [])
        references = value if isinstance(value, list) else [value]
        found = [self._referenced(each, arguments.positions["source"]) for each in references]
        found += [self.sources.in_partition(inner) for inner in block.blocks_of("source")]
        return [source for source in found if source is not None]

    def _referenced(self, value: Any, position: Position) -> SourceConfig | None:
        if isinstance(value, BlockReference) and value.kind == "source":
            self.reader.report.use("source", value.labels)
            return self.top_level.get((value.labels[0], value.labels[1]))
        message = f"a source is a reference, not {with_article(kind(value))}"
        self.reader.report.error(position, message, 'write source.type.name, or a block source "type" { … }')
        return None


def _named(sources: Iterable[SourceConfig]) -> tuple[SourceConfig, ...]:
    """Every source of a partition has its own name: `file`, `file_2`, …"""
    named: dict[str, SourceConfig] = {}
    for source in sources:
        name, count = source.name, 1
        while name in named:
            count += 1
            name = f"{source.name}_{count}"
        named[name] = replace(source, name=name)
    return tuple(named.values())
