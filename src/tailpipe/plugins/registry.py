"""Which tables, sources, formats and connections exist: what plugins offer, gathered by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import entry_points
from typing import Any, TypeVar

from tailpipe.config.schema import BlockSchema
from tailpipe.config.values import Config
from tailpipe.errors import ConfigError, Problem
from tailpipe.plugins.contract import ConnectionType, FormatType, Plugin, SourceType
from tailpipe.plugins.table_check import table_faults
from tailpipe.tables.custom import custom_table
from tailpipe.tables.table import Table

GROUP = "tailpipe.plugins"
_OFFERS: dict[str, type] = {
    "tables": Table,
    "sources": SourceType,
    "formats": FormatType,
    "connections": ConnectionType,
}

Offer = TypeVar("Offer", Table, SourceType, FormatType, ConnectionType)


@dataclass(frozen=True)
class Registry:
    """Everything installed. `warnings` name plugins, and offers of them, that could not be loaded.

    `bad_tables` are the others of which something is wrong: of no weight until something uses one.
    """

    tables: Mapping[str, Table] = field(default_factory=dict)
    sources: Mapping[str, SourceType] = field(default_factory=dict)
    formats: Mapping[str, FormatType] = field(default_factory=dict)
    connections: Mapping[str, ConnectionType] = field(default_factory=dict)
    plugins: tuple[Plugin, ...] = ()
    warnings: tuple[Problem, ...] = ()
    bad_tables: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)

    @cached_property
    def owners(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """Kind and name of what is offered to the plugins that offer it: one, or more that claim the same name."""
        found: dict[tuple[str, str], tuple[str, ...]] = {}
        for plugin in self.plugins:
            for kind in ("table", "source", "format", "connection"):
                for offer in getattr(plugin, f"{kind}s"):
                    found[kind, offer.name] = (*found.get((kind, offer.name), ()), plugin.name)
        return found

    @cached_property
    def claims(self) -> tuple[Problem, ...]:
        """Names that several plugins claim: of no weight until something uses one."""
        return tuple(
            Problem(
                f'{kind} "{name}" is claimed by {len(owners)} plugins: {", ".join(owners)}',
                hint="remove one of these packages; a partition can say whose table it means with `plugin`",
                is_warning=True,
            )
            for (kind, name), owners in self.owners.items()
            if len(owners) > 1
        )

    def table(self, name: str, plugin: str | None = None) -> Table | None:
        """The table of one plugin; without a plugin, that of the only one that has it."""
        owners = self.owners.get(("table", name), ())
        if plugin is None and len(owners) != 1:
            return None
        offers = (t for p in self.plugins if p.name == (plugin or owners[0]) for t in p.tables)
        return next((table for table in offers if table.name == name), None)

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
        return tuple(dict.fromkeys((*self.tables, *self.bad_tables)))

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
    """One registry of many plugins. Of a name claimed twice the first counts, and `owners` names both."""
    unique: dict[str, Plugin] = {}
    told = list(warnings)
    for plugin in plugins:
        if unique.setdefault(plugin.name, plugin) is not plugin:
            message = f'two packages have a plugin called "{plugin.name}"; the second is left out'
            told.append(Problem(message, hint="remove one of them", is_warning=True))
    offering = tuple(_with_known_offers(plugin, told) for plugin in unique.values())
    presets = {(offer.name, preset) for p in offering for offer in p.formats for preset in offer.presets}
    offering, bad_tables = _with_good_tables(offering, presets)
    return Registry(
        tables=_by_name(offer for plugin in offering for offer in plugin.tables),
        sources=_by_name(offer for plugin in offering for offer in plugin.sources),
        formats=_by_name(offer for plugin in offering for offer in plugin.formats),
        connections=_by_name(offer for plugin in offering for offer in plugin.connections),
        plugins=offering,
        warnings=tuple(told),
        bad_tables=bad_tables,
    )


def _with_known_offers(plugin: Plugin, told: list[Problem]) -> Plugin:
    """Without what is not an offer at all."""
    known: dict[str, Any] = {}
    for kind, type_ in _OFFERS.items():
        offers = getattr(plugin, kind)
        known[kind] = tuple(offer for offer in offers if isinstance(offer, type_))
        for offer in (offer for offer in offers if not isinstance(offer, type_)):
            message = f'plugin "{plugin.name}": one of its {kind} is a {type(offer).__name__}, not a {type_.__name__}'
            told.append(Problem(message, hint="it is left out", is_warning=True))
    return replace(plugin, **known)


def _with_good_tables(
    plugins: Iterable[Plugin], presets: Collection[tuple[str, str]]
) -> tuple[tuple[Plugin, ...], dict[str, tuple[Problem, ...]]]:
    """The plugins without their bad tables, and what is wrong with these: one bad table costs itself."""
    offering: list[Plugin] = []
    bad: dict[str, tuple[Problem, ...]] = {}
    spelled: dict[str, str] = {}
    for plugin in plugins:
        good: dict[str, Table] = {}
        for table in plugin.tables:
            faults = table_faults(table, presets)
            other = spelled.setdefault(str(table.name).casefold(), table.name)
            if table.name in good:
                faults.append("the plugin has two tables of this name")
            elif other != table.name:
                faults.append(f'it differs from table "{other}" in letter case only, which SQL does not see')
            if faults:
                bad[str(table.name)] = tuple(_bad_table(plugin, table, fault) for fault in faults)
            else:
                good[table.name] = table
        offering.append(replace(plugin, tables=tuple(good.values())))
    return tuple(offering), bad


def _bad_table(plugin: Plugin, table: Table, fault: str) -> Problem:
    message = f'plugin "{plugin.name}": table "{table.name}" cannot be used: {fault}'
    return Problem(message, hint="the plugin has to be repaired; its other tables can be used")


def known_tables(
    config: Config, registry: Registry
) -> tuple[dict[str, Table], dict[str, tuple[Problem, ...]]]:
    """Tables of plugins and of the configuration, and what is wrong with the others of these.

    A name that two plugins claim is nobody's: a partition says whose table it means.
    """
    tables = {name: table for name, table in registry.tables.items() if registry.table(name)}
    problems: dict[str, tuple[Problem, ...]] = {}
    for name, table in config.tables.items():
        try:
            tables[name] = custom_table(table, registry.tables.get(name))
        except ConfigError as error:
            problems[name] = error.problems
    used = {partition.table for partition in config.partitions.values()}
    problems |= {
        name: bad for name, bad in registry.bad_tables.items() if name in used and name not in tables
    }
    return tables, problems


def _by_name(offers: Iterable[Offer]) -> dict[str, Offer]:
    found: dict[str, Offer] = {}
    for offer in offers:
        found.setdefault(offer.name, offer)
    return found
