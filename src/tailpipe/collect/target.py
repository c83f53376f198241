"""A partition made ready to collect: its table, its sources with their formats, its expressions in Spark SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tailpipe.config.report import in_order
from tailpipe.config.values import Config, FormatConfig, PartitionConfig, SourceConfig
from tailpipe.engine.settings import SAIL, SPARK
from tailpipe.errors import ConfigError, Problem
from tailpipe.formats.format import Format
from tailpipe.plugins.registry import Registry, known_tables
from tailpipe.sources.artifact import Source
from tailpipe.tables.fields import RECORD, source_path
from tailpipe.tables.shape import column_types
from tailpipe.tables.sql import literal, quoted
from tailpipe.tables.standard import WRITER_COLUMNS
from tailpipe.tables.standardise import Recipe
from tailpipe.tables.table import Column, Table
from tailpipe.tables.types import duckdb_type, parse_type

if TYPE_CHECKING:
    from tailpipe.tables.expressions import Expression

Key = tuple[str, str]


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
    feeds = tuple(_feed(source, config, table, registry) for source in partition.sources)
    target = Target(partition, table, feeds)
    _check_index(target)
    for feed in feeds:
        recipe(target, feed.format, declared_fields(feed.format))
    return target


def only_sources(target: Target, names: Sequence[str]) -> Target:
    """The target with some of its sources; none named means all."""
    if not names:
        return target
    return replace(target, feeds=tuple(feed for feed in target.feeds if feed.source.name in names))


def check_engine(targets: Iterable[Target], engine: str) -> None:
    """Refuses what the engine cannot run, before anything starts."""
    problems = [
        Problem(
            f'a layout of partition {target.name} looks ahead or behind, which the engine "{SAIL}" cannot do',
            target.config.position,
            hint=f'rewrite the pattern without (?=…), (?!…), (?<=…) and (?<!…), or use the engine "{SPARK}"',
        )
        for target in targets
        for feed in target.feeds
        if engine == SAIL and getattr(feed.format, "needs_look_around", False)
    ]
    if problems:
        raise ConfigError(tuple(dict.fromkeys(problems)))


def declared_fields(format: Format) -> tuple[str, ...] | None:
    """The fields a format's definition names; None where only the data tells."""
    return format.field_names(b"") or None


def with_fields(table: Table, fields: tuple[str, ...], stored: Iterable[str] = ()) -> Table:
    """The table read from records with these fields. Columns are spelled as those `stored` already.

    Dots in a column's source may be part of a field's name. Every field that `map_fields` matches and no column
    reads becomes a varchar column, save those without a name and those that begin with tp_: common columns do.
    """
    columns = tuple(
        replace(column, is_field_name=True) if (column.source or column.name) in fields else column
        for column in table.columns
    )
    read = {source_path(column)[0] for column in columns}
    taken = {column.name.lower() for column in columns}
    spelled = {name.lower(): name for name in stored}
    mapped: list[Column] = []
    for field in sorted(set(fields) - read, key=lambda field: (field not in spelled.values(), field)):
        if field and not field.lower().startswith("tp_") and _matches_any(field, table.map_fields):
            name = _free_name(spelled.get(field.lower(), field), taken)
            taken.add(name.lower())
            mapped.append(Column(name, "varchar", source=field, is_field_name=True))
    return replace(table, columns=columns + tuple(mapped))


def _matches_any(field: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(field, pattern) for pattern in patterns)


def _free_name(field: str, taken: Set[str]) -> str:
    """Columns are told apart in any letter case, fields of a log may not be: `Level`, then `level_2`."""
    number, name = 1, field
    while name.lower() in taken:
        number += 1
        name = f"{field}_{number}"
    return name


def recipe(
    target: Target,
    format: Format,
    fields: tuple[str, ...] | None,
    seen: tuple[str, ...] | None = None,
    stored: Iterable[str] = (),
) -> Recipe:
    """How records of a format become rows of the target's table; expressions are checked here.

    `fields` are all that records can have, None where any may occur; `seen` are those that a look at them showed.
    """
    index = target.config.tp_index
    known = fields if seen is None else seen
    indexed = (index,) if index and known is not None else ()
    table = with_fields(target.table, (*(known or ()), *indexed), stored)
    transforms = {column.name: _transform(column, fields) for column in table.columns if column.transform}
    return Recipe(
        table=table,
        format=format,
        fields=fields,
        expressions=tuple((name, expression.sql) for name, expression in transforms.items()),
        expression_fields=tuple(sorted({name for e in transforms.values() for name in e.columns})),
        condition=_condition(target, table),
        index_column=index,
    )


def _transform(column: Column, fields: tuple[str, ...] | None) -> Expression:
    """Fields that only the data tells may have any name: those the expression uses are taken as text."""
    from tailpipe.tables.expressions import column_names, translate

    text = column.transform or ""
    written = column_names(text)
    # Of fields that differ in letter case only, an expression sees the one it spells.
    seen = {
        field.lower(): field for field in sorted(fields or (), key=lambda field: field in written) if field
    }
    names = dict.fromkeys(written if fields is None else seen.values(), "VARCHAR")
    bindings = {name: f"{RECORD}.{quoted(name)}" for name in names}
    what = f'transform of column "{column.name}"'
    value = translate(text, names, bindings=bindings, position=column.position, what=what)
    _check_shape(column, value.type, what)
    return value


def _check_shape(column: Column, given: str, what: str) -> None:
    """Scalars are converted to each other; lists, maps and structs only to their like."""
    kinds = {type(parse_type(text)) for text in (column.type, given) if text != "NULL"}
    if len(kinds) > 1:
        message = f"{what}: its value is {given}, which cannot become {duckdb_type(column.type)}."
        raise ConfigError([Problem(message, column.position, hint=f'write type = "{given.lower()}"')])


def _condition(target: Target, table: Table) -> str | None:
    if target.config.filter is None:
        return None
    from tailpipe.tables.expressions import translate

    position = target.config.argument_positions.get("filter") or target.config.position
    constants = {"tp_table": target.config.table, "tp_partition": target.config.name}
    types = {name: type_ for name, type_ in column_types(table).items() if name not in WRITER_COLUMNS}
    types |= {**dict.fromkeys(constants, "VARCHAR"), "tp_date": "DATE"}
    bindings = {name: literal(value) for name, value in constants.items()}
    bindings["tp_date"] = "CAST(tp_timestamp AS date)"
    what = f"filter of partition {target.name}"
    condition = translate(target.config.filter, types, bindings=bindings, position=position, what=what)
    if condition.type not in ("BOOLEAN", "NULL"):
        message = f"{what}: this is a value of type {condition.type}, not a condition."
        raise ConfigError([Problem(message, position, hint="compare it with something: level = 'error'")])
    return condition.sql


def _feed(source: SourceConfig, config: Config, table: Table, registry: Registry) -> Feed:
    source_type = registry.sources[source.type]
    default_layout = table.default_layouts.get(source.type)
    return Feed(source_type.make(source, default_layout), _format(source, config, table, registry))


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


def _check_index(target: Target) -> None:
    index = target.config.tp_index
    columns = [name for name in column_types(target.table) if name not in WRITER_COLUMNS]
    is_open = "*" in target.table.map_fields
    if index is None or index in columns or (is_open and not index.lower().startswith("tp_")):
        return
    near = get_close_matches(index, columns, 1)
    raise ConfigError(
        [
            Problem(
                f'tp_index "{index}" is not a column of {target.config.table}',
                target.config.argument_positions.get("tp_index") or target.config.position,
                hint=f'did you mean "{near[0]}"?' if near else "name a column of the table",
            )
        ]
    )
