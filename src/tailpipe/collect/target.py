"""A partition made ready to collect: its table, its sources with their formats, its expressions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tailpipe.config.values import Config, PartitionConfig
from tailpipe.engine.settings import SAIL, SPARK
from tailpipe.errors import ConfigError, Problem, SourceError
from tailpipe.formats.format import Format
from tailpipe.formats.headers import shown
from tailpipe.partition_names import Key
from tailpipe.plugins.registry import Registry, known_tables
from tailpipe.plugins.source_format import check_inherits, source_format
from tailpipe.sources.artifact import Source
from tailpipe.tables.recipe import declared_fields, fields_read, make_recipe
from tailpipe.tables.standardise import Recipe
from tailpipe.tables.table import Table


@dataclass(frozen=True)
class Feed:
    """One source of a partition, and how its bytes are read."""

    source: Source
    format: Format

    @property
    def captures(self) -> tuple[str, ...]:
        """Names that the source's paths give to its records."""
        return self.source.capture_names


@dataclass(frozen=True)
class Target:
    """What a partition's rows come from and become. `filter` is DuckDB SQL as the user wrote it."""

    config: PartitionConfig
    table: Table
    feeds: tuple[Feed, ...]

    @property
    def name(self) -> str:
        return self.config.full_name


def find_targets(
    config: Config, registry: Registry
) -> tuple[dict[Key, Target], dict[Key, tuple[Problem, ...]]]:
    """Every partition that can be collected, and what is wrong with each of the others."""
    tables, table_problems = known_tables(config, registry)
    targets: dict[Key, Target] = {}
    broken = {
        (labels[0], labels[1]): problems
        for (kind, labels), problems in config.broken.items()
        if kind == "partition" and len(labels) == 2
    }
    for key, partition in config.partitions.items():
        table = registry.table(partition.table, partition.plugin) if partition.plugin else None
        try:
            if table is None and partition.table in table_problems:
                raise ConfigError(table_problems[partition.table])
            targets[key] = make_target(partition, config, table or tables[partition.table], registry)
        except ConfigError as error:
            broken[key] = tuple(dict.fromkeys(error.problems))
    return targets, broken


def make_target(partition: PartitionConfig, config: Config, table: Table, registry: Registry) -> Target:
    """Raises ConfigError with all that is wrong with the partition's sources and expressions."""
    problems: list[Problem] = []
    feeds: list[Feed] = []
    for source in partition.sources:
        try:
            made = registry.sources[source.type].make(source, table.default_layouts.get(source.type))
            check_inherits(made, Source, source)
            feeds.append(Feed(made, source_format(source, config, table, registry)))
        except ConfigError as error:
            problems += error.problems
    target = Target(partition, table, tuple(feeds))
    for feed in feeds:
        try:
            _check_declared(target, feed)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(tuple(dict.fromkeys(problems)))
    return target


def _check_declared(target: Target, feed: Feed) -> None:
    fields = declared_fields(feed.format)
    made = make_recipe(target.config, target.table, feed.format, fields, captures=feed.captures)
    try:
        check_fields(target, feed, made, fields or ())
    except SourceError as error:
        named = {source.name: source.position for source in target.config.sources}
        raise ConfigError([Problem(error.message, named.get(feed.source.name), error.hint)]) from error


def check_fields(target: Target, feed: Feed, recipe: Recipe, fields: Sequence[str]) -> None:
    """Raises SourceError where no column can have a value from the records of a source, which have these fields."""
    read = fields_read(recipe)
    if not fields or any(field.lower() in read for field in fields):
        return
    raise SourceError(
        f'none of the fields of source "{feed.source.name}" is a column of {target.config.table}. '
        f"Fields: {shown(fields)}. Columns read: {shown(sorted(read))}",
        feed.format.other_fields_hint,
    )


def only_sources(target: Target, names: Sequence[str]) -> Target:
    """The target with some of its sources; none named means all."""
    if not names:
        return target
    return replace(target, feeds=tuple(feed for feed in target.feeds if feed.source.name in names))


def engine_problems(targets: Iterable[Target], engine: str) -> tuple[Problem, ...]:
    """What the engine cannot run, told before anything starts."""
    problems = (
        Problem(
            f'a layout of partition {target.name} looks ahead or behind, which the engine "{SAIL}" cannot do',
            target.config.position,
            hint=f'rewrite the pattern without (?=…), (?!…), (?<=…) and (?<!…), or use the engine "{SPARK}"',
        )
        for target in targets
        for feed in target.feeds
        if engine == SAIL and feed.format.needs_look_around
    )
    return tuple(dict.fromkeys(problems))
