"""Everything that is wrong with a configuration, whether something uses it or not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

from tailpipe.collect.target import find_targets
from tailpipe.config.report import in_order
from tailpipe.config.values import Config, FormatConfig, PartitionConfig
from tailpipe.errors import ConfigError, Problem
from tailpipe.partition_names import Key
from tailpipe.plugins.registry import Registry, known_tables
from tailpipe.tables.custom import partial_table, table_problems
from tailpipe.tables.recipe import declared_fields, make_recipe
from tailpipe.tables.table import Table

# Records that may have any field, for a table of which no format says more.
_ANY_FIELDS = FormatConfig("jsonl", "default")


def find_problems(config: Config, registry: Registry) -> tuple[Problem, ...]:
    """Errors and warnings, by place, each once."""
    tables, found = known_tables(config, registry)
    targets, broken = find_targets(config, registry)
    problems = [*registry.warnings, *registry.claims, *config.problems]
    problems += [
        replace(problem, is_warning=True)
        for name, bad in registry.bad_tables.items()
        for problem in bad
        if name not in found
    ]
    problems += [problem for each in (*found.values(), *broken.values()) for problem in each]
    problems += [problem for table in config.damaged_tables.values() for problem in table_problems(table)]
    checks = (*_part_checks(config, registry), *_expression_checks(config, registry, tables, targets))
    for check in checks:
        try:
            check()
        except ConfigError as error:
            problems += error.problems
    return in_order(problems)


def _part_checks(config: Config, registry: Registry) -> Iterator[Callable[[], object]]:
    """A partition stops at the first of its sources and formats that is wrong; here each is tried alone."""
    partitions = (*config.partitions.values(), *config.damaged_partitions.values())
    tables = (*config.tables.values(), *config.damaged_tables.values())
    inner = (source for partition in partitions for source in partition.sources)
    sources = (*config.sources.values(), *config.damaged_sources, *inner)
    used = (*(source.format for source in sources), *(table.format for table in tables))
    for format_ in (*config.formats.values(), *config.damaged_formats, *filter(None, used)):
        if format_.is_whole:
            yield partial(registry.formats[format_.type].make, format_)
    for source in sources:
        if source.is_whole:
            yield partial(registry.sources[source.type].make, source, None)


def _expression_checks(
    config: Config, registry: Registry, tables: Mapping[str, Table], targets: Collection[Key]
) -> Iterator[Callable[[], object]]:
    """Of tables that nothing collects, and of what was not checked because something else is wrong with it."""
    own = {**config.tables, **config.damaged_tables}
    known = {**{name: partial_table(table) for name, table in own.items()}, **tables}
    collected = {table for table, _ in targets}
    for name, table in own.items():
        if name in collected:
            continue
        yield partial(_check_expressions, PartitionConfig(name, "check"), known[name], table.format, registry)
    for key, partition in (*config.partitions.items(), *config.damaged_partitions.items()):
        chosen = registry.table(partition.table, partition.plugin) or known.get(partition.table)
        if chosen and key not in targets:
            yield partial(_check_expressions, partition, chosen, None, registry)


def _check_expressions(
    partition: PartitionConfig, table: Table, written: FormatConfig | None, registry: Registry
) -> None:
    """As for collection, save that only a source would say which fields paths have."""
    chosen = written if written and written.is_whole else _ANY_FIELDS
    try:
        format_ = registry.formats[chosen.type].make(chosen)
    except ConfigError:
        format_ = registry.formats[_ANY_FIELDS.type].make(_ANY_FIELDS)
    make_recipe(partition, table, format_, declared_fields(format_))
