"""A partition made ready to collect: its table, its sources with their formats, its expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tailpipe.collect.expressions import Expressions
from tailpipe.config.report import in_order
from tailpipe.config.values import Config, FormatConfig, PartitionConfig, SourceConfig
from tailpipe.engine.settings import SAIL, SPARK
from tailpipe.errors import ConfigError, Problem, SourceError
from tailpipe.formats.format import Format
from tailpipe.formats.headers import shown
from tailpipe.partition_names import Key
from tailpipe.plugins.registry import Registry, known_tables
from tailpipe.sources.artifact import Capturing, Source
from tailpipe.tables.fields import source_path
from tailpipe.tables.mapping import NOTHING_STORED, with_fields
from tailpipe.tables.standardise import Recipe
from tailpipe.tables.table import Table

_WORD = re.compile(r"[^\W\d][\w.]*")


@dataclass(frozen=True)
class Feed:
    """One source of a partition, and how its bytes are read."""

    source: Source
    format: Format


@dataclass(frozen=True)
class Target:
    """What a partition's rows come from and become. `filter` is DuckDB SQL as the user wrote it."""

    config: PartitionConfig
    table: Table
    feeds: tuple[Feed, ...]

    @property
    def name(self) -> str:
        return self.config.full_name


def make_targets(config: Config, registry: Registry) -> dict[Key, Target]:
    """Every partition of a configuration in which nothing is wrong; else raises ConfigError with every problem."""
    targets, broken = find_targets(config, registry)
    problems = (*config.errors, *(problem for problems in broken.values() for problem in problems))
    if problems:
        raise ConfigError(in_order(problems))
    return targets


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
            feeds.append(_feed(source, config, table, registry))
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
    made = recipe(target, feed, feed.format, fields)
    try:
        check_fields(target, feed, made, fields or ())
    except SourceError as error:
        named = {source.name: source.position for source in target.config.sources}
        raise ConfigError([Problem(error.message, named.get(feed.source.name), error.hint)]) from error


def check_fields(target: Target, feed: Feed, recipe: Recipe, fields: Sequence[str]) -> None:
    """Raises SourceError where no column can have a value from the records of a source, which have these fields."""
    read = {
        source_path(column)[0].lower()
        for column in (*recipe.table.columns, *recipe.table.helpers)
        if not column.transform
    }
    read |= {name.lower() for name in recipe.computing.fields}
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


def check_engine(targets: Iterable[Target], engine: str) -> None:
    """Refuses what the engine cannot run, before anything starts."""
    problems = engine_problems(targets, engine)
    if problems:
        raise ConfigError(problems)


def engine_problems(targets: Iterable[Target], engine: str) -> tuple[Problem, ...]:
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


def declared_fields(format: Format) -> tuple[str, ...] | None:
    """The fields a format's definition names; None where only the data tells."""
    return format.field_names(b"") or None


def recipe(
    target: Target,
    feed: Feed | None,
    format: Format,
    fields: tuple[str, ...] | None,
    seen: tuple[str, ...] | None = None,
    stored: Mapping[str, str] = NOTHING_STORED,
) -> Recipe:
    """How records of a feed become rows of the target's table; expressions are checked here.

    `format` is the feed's, with the fields that its files name. Without a feed, any name may be one of the path's.
    `fields` are all that records can have, None where any may occur; `seen` are those that a look at them showed.
    """
    index = target.config.tp_index
    known = fields if seen is None else seen
    is_sampled = feed is not None and declared_fields(feed.format) is None
    indexed = (index,) if index and known is not None and is_sampled else ()
    is_open = fields is None or feed is None
    table = with_fields(target.table, (*(known or ()), *indexed), stored, is_open)
    source = feed.source if feed else None
    captures = source.capture_names if isinstance(source, Capturing) else ()
    return Recipe(
        table=table,
        format=format,
        fields=fields,
        computing=Expressions(target.config, table, known or (), is_open, captures).computing(),
        index_column=index,
    )


def _feed(source: SourceConfig, config: Config, table: Table, registry: Registry) -> Feed:
    source_type = registry.sources[source.type]
    default_layout = table.default_layouts.get(source.type)
    return Feed(
        source_type.make(source, default_layout), _expecting(_format(source, config, table, registry), table)
    )


def _expecting(format: Format, table: Table) -> Format:
    """A format that knows a header by the fields that it names is told those that the table reads."""
    read = [column.source or column.name for column in table.columns if not column.transform]
    mentioned = [name for column in table.columns for name in _WORD.findall(column.transform or "")]
    return format.expecting(read, mentioned)


def _format(source: SourceConfig, config: Config, table: Table, registry: Registry) -> Format:
    own = config.tables[table.name].format if table.name in config.tables else None
    chosen = source.format or own or _preset(table.default_format, registry)
    if chosen is None:
        raise ConfigError(
            [
                Problem(
                    f'source "{source.name}" of table "{table.name}" has no format',
                    source.position,
                    hint="add `format = format.jsonl.default` or another format to the source or the table",
                )
            ]
        )
    return registry.formats[chosen.type].make(chosen)


def _preset(default: tuple[str, str] | None, registry: Registry) -> FormatConfig | None:
    if default is None:
        return None
    return FormatConfig(*default, arguments=registry.format_presets[default])
