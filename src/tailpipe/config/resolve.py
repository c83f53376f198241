"""From declared blocks to the configuration they ask for: references followed, arguments checked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from tailpipe.config.blocks.arguments import BlockReader
from tailpipe.config.blocks.connection import IMPLICIT_NAME, read_connections
from tailpipe.config.blocks.format import FormatReader, identify_formats, implicit_formats, read_formats
from tailpipe.config.blocks.partition import PartitionReader, identify_partitions
from tailpipe.config.blocks.source import SourceReader
from tailpipe.config.blocks.table import read_tables
from tailpipe.config.blocks.workspace import check_plugins, read_workspaces
from tailpipe.config.declarations import Declarations
from tailpipe.config.language.evaluate import Evaluator
from tailpipe.config.report import Report
from tailpipe.config.schema import Catalog
from tailpipe.config.scope import GlobalScope
from tailpipe.config.values import Config
from tailpipe.config.variables import check_variables, variable_value

Key = TypeVar("Key", str, tuple[str, str])
Value = TypeVar("Value")


def resolve(
    declarations: Declarations,
    catalog: Catalog,
    environment: Mapping[str, str],
    now: datetime,
    report: Report,
) -> Config:
    blocks = {kind: declarations.unique(kind, report) for kind in ("connection", "source", "table")}
    settings = {kind: declarations.unique(kind, report) for kind in ("workspace", "plugin", "variable")}
    variables = {labels[0]: block for labels, block in settings["variable"].items()}
    tables = {*catalog.table_names, *(labels[0] for labels in blocks["table"])}
    presets = implicit_formats(catalog)
    references: dict[str, set[tuple[str, ...]]] = {
        "connection": {
            *blocks["connection"],
            *((type_, IMPLICIT_NAME) for type_ in catalog.connection_types),
        },
        "source": set(blocks["source"]),
        "table": {(name,) for name in tables},
        "format": {*presets, *(declared.labels for declared in declarations.blocks["format"])},
        "partition": set(),
        "workspace": set(settings["workspace"]),
    }

    def compute(root: str, name: str) -> Any:
        if root == "local":
            return evaluator.evaluate_whole(declarations.locals[name].value)
        return variable_value(name, variables[name], environment, evaluator)

    positions = {("var", name): block.position for name, block in variables.items()}
    positions.update({("local", name): local.position for name, local in declarations.locals.items()})
    scope = GlobalScope(report, compute, positions, references, declarations.is_whole)
    evaluator = Evaluator(scope, environment, now)
    reader = BlockReader(evaluator, report)
    check_variables(variables, report)

    format_blocks = identify_formats(declarations.blocks["format"], catalog.format_types, reader)
    references["format"].update(format_blocks)
    partition_blocks = identify_partitions(declarations.blocks["partition"], tables, reader)
    references["partition"].update(partition_blocks)

    connections = read_connections(blocks["connection"], catalog, reader)
    formats = read_formats(format_blocks, catalog, reader)
    referable = dict(presets)
    for key, block in format_blocks.items():
        referable[key] = formats[key]
        if len(block.labels) == 1:
            referable[key[1:]] = formats[key]
    format_reader = FormatReader(referable, catalog, reader)
    sources = SourceReader(catalog, connections, format_reader, reader)
    top_level = sources.top_level(blocks["source"])
    found_tables = read_tables(blocks["table"], format_reader, catalog.table_names)
    partitions = PartitionReader(sources, top_level, found_tables, reader).read(partition_blocks)
    workspaces = read_workspaces(settings["workspace"], connections, reader)
    check_plugins(settings["plugin"], reader)
    scope.compute_all()

    def usable(kind: str, blocks: Mapping[Key, Value]) -> dict[Key, Value]:
        keys = {key: (key,) if isinstance(key, str) else key for key in blocks}
        return {key: value for key, value in blocks.items() if (kind, keys[key]) not in report.broken}

    return Config(
        connections=usable("connection", connections),
        formats=usable("format", formats),
        sources=usable("source", top_level),
        tables=usable("table", found_tables),
        partitions=usable("partition", partitions),
        workspaces=usable("workspace", workspaces),
        damaged_formats=tuple(each for key, each in formats.items() if ("format", key) in report.broken),
        damaged_sources=tuple(each for key, each in top_level.items() if ("source", key) in report.broken),
        damaged_tables={
            name: table
            for name, table in found_tables.items()
            if ("table", (name,)) in report.broken and blocks["table"][name,].is_whole
        },
        damaged_partitions={
            key: partition
            for key, partition in partitions.items()
            if ("partition", key) in report.broken and partition_blocks[key].is_whole
        },
    )
