"""Which tables, sources, formats and connections exist: what plugins offer, gathered by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import entry_points
from typing import Any, TypeVar

from tailpipe.config.schema import BlockSchema
from tailpipe.config.values import Config
from tailpipe.errors import ConfigError, Problem
from tailpipe.plugins.contract import ConnectionType, FormatType, Plugin, SourceType
from tailpipe.tables.custom import custom_table
from tailpipe.tables.table import Table

GROUP = "tailpipe.plugins"

Offer = TypeVar("Offer", Table, SourceType, FormatType, ConnectionType)


@dataclass(frozen=True)
class Registry:
    """Everything installed. `warnings` name plugins that could not be loaded."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    sources: Mapping[str, SourceType] = field(default_factory=dict)
    formats: Mapping[str, FormatType] = field(default_factory=dict)
    connections: Mapping[str, ConnectionType] = field(default_factory=dict)
    plugins: tuple[Plugin, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @cached_property
    def connection_types(self) -> Mapping[str, BlockSchema]:
        return {name: offer.schema for name, offer in self.connections.items()}

    @cached_property
    def source_types(self) -> Mapping[str, BlockSchema]:
        return {name: offer.schema for name, offer in self.sources.items()}

    @cached_property
    def format_types(self) -> Mapping[str, BlockSchema]:
        return {name: offer.schema for name, offer in self.formats.items()}

    @cached_property
    def table_names(self) -> tuple[str, ...]:
        return tuple(self.tables)

    @cached_property
    def format_presets(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        return {
            (offer.name, preset): arguments
            for offer in self.formats.values()
            for preset, arguments in offer.presets.items()
        }


def load_registry() -> Registry:
    """Loads every installed plugin. A broken one becomes a warning; the others go on."""
    plugins: list[Plugin] = []
    warnings: list[Problem] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            loaded = entry.load()
            plugin = loaded() if callable(loaded) else loaded
            if not isinstance(plugin, Plugin):
                raise TypeError(f"{entry.value} is a {type(plugin).__name__}, not a Plugin")
            plugins.append(plugin)
        except Exception as error:
            warnings.append(
                Problem(
                    f'plugin "{entry.name}" ({entry.value}) cannot be loaded: {type(error).__name__}: {error}',
                    hint="its tables, sources and formats are missing until it is repaired or removed",
                    is_warning=True,
                )
            )
    return gather(plugins, warnings)


def packages() -> dict[str, str]:
    """Name of an entry point to the package and version it comes from."""
    points = entry_points(group=GROUP)
    return {entry.name: f"{entry.dist.name} {entry.dist.version}" for entry in points if entry.dist}


def gather(plugins: Iterable[Plugin], warnings: Iterable[Problem] = ()) -> Registry:
    """One registry of many plugins; a name claimed twice is an error that names both."""
    plugins = tuple(plugins)
    claims: list[Problem] = []
    registry = Registry(
        tables=_by_name("table", [(p.name, offer) for p in plugins for offer in p.tables], claims),
        sources=_by_name("source", [(p.name, offer) for p in plugins for offer in p.sources], claims),
        formats=_by_name("format", [(p.name, offer) for p in plugins for offer in p.formats], claims),
        connections=_by_name(
            "connection", [(p.name, offer) for p in plugins for offer in p.connections], claims
        ),
        plugins=plugins,
        warnings=tuple(warnings),
    )
    if claims:
        raise ConfigError(claims)
    return registry


def known_tables(config: Config, registry: Registry) -> dict[str, Table]:
    """Tables of plugins, and those of the configuration, which may not take a plugin's name."""
    tables = dict(registry.tables)
    problems: list[Problem] = []
    for name, table in config.tables.items():
        try:
            tables[name] = custom_table(table, registry.tables.get(name))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return tables


def _by_name(kind: str, offers: Iterable[tuple[str, Offer]], claims: list[Problem]) -> dict[str, Offer]:
    found: dict[str, Offer] = {}
    owners: dict[str, str] = {}
    for plugin, offer in offers:
        if offer.name in owners:
            claims.append(
                Problem(
                    f'{kind} "{offer.name}" is claimed by two plugins: "{owners[offer.name]}" and "{plugin}"',
                    hint="remove one of them",
                )
            )
            continue
        owners[offer.name], found[offer.name] = plugin, offer
    return found
