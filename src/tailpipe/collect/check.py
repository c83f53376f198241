"""Everything that is wrong with a configuration, whether something uses it or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from tailpipe.collect.target import Target, declared_fields, find_targets, recipe
from tailpipe.config.report import in_order
from tailpipe.config.values import Config, FormatConfig, PartitionConfig, TableConfig
from tailpipe.errors import ConfigError, Problem
from tailpipe.plugins.registry import Registry, known_tables
from tailpipe.tables.table import Table

# Records that may have any field, for a table of which no format says more.
_ANY_FIELDS = FormatConfig("jsonl", "default")


def find_problems(config: Config, registry: Registry) -> tuple[Problem, ...]:
    """Errors and warnings, by place, each once."""
    tables, table_problems = known_tables(config, registry)
    _, broken = find_targets(config, registry)
    problems = [*registry.warnings, *registry.claims, *config.problems]
    problems += [
        replace(problem, is_warning=True)
        for name, bad in registry.bad_tables.items()
        for problem in bad
        if name not in table_problems
    ]
    problems += [problem for each in (*table_problems.values(), *broken.values()) for problem in each]
    for check in (*_part_checks(config, registry), *_table_checks(config, registry, tables)):
        try:
            check()
        except ConfigError as error:
            problems += error.problems
    return in_order(problems)


def _part_checks(config: Config, registry: Registry) -> Iterator[Callable[[], object]]:
    """A partition stops at the first of its sources and formats that is wrong; here each is tried alone."""
    inner = [source for partition in config.partitions.values() for source in partition.sources]
    sources = (*config.sources.values(), *inner)
    used = (*(source.format for source in sources), *(table.format for table in config.tables.values()))
    for format_ in (*config.formats.values(), *filter(None, used)):
        yield partial(registry.formats[format_.type].make, format_)
    for source in sources:
        yield partial(registry.sources[source.type].make, source, None)


def _table_checks(
    config: Config, registry: Registry, tables: Mapping[str, Table]
) -> Iterator[Callable[[], object]]:
    collected = {partition.table for partition in config.partitions.values()}
    for name, table in config.tables.items():
        if name in tables and name not in collected:
            yield partial(_check_table, tables[name], table, registry)


def _check_table(table: Table, config: TableConfig, registry: Registry) -> None:
    """As a partition would, save that only its source would say which fields paths have."""
    written = config.format or _ANY_FIELDS
    format_ = registry.formats[written.type].make(written)
    recipe(Target(PartitionConfig(table.name, "check"), table, ()), None, format_, declared_fields(format_))
