"""`tailpipe connection`, `format`, `plugin` and `source`: what plugins bring, and blocks of the configuration."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from tailpipe.cli.listing import Entry, Facts, run_listing
from tailpipe.cli.setup import Setup
from tailpipe.config.schema import BlockSchema
from tailpipe.config.values import ConnectionConfig, FormatConfig, SourceConfig
from tailpipe.plugins.contract import ConnectionType, FormatType, Plugin, SourceType
from tailpipe.plugins.registry import packages

SECRET = "(secret)"


def run(arguments: argparse.Namespace) -> int:
    find = {"connection": _connections, "format": _formats, "plugin": _plugins, "source": _sources}
    return run_listing(arguments, arguments.command, find[arguments.command])


def _connections(setup: Setup) -> list[Entry]:
    entries = _type_entries(setup, lambda plugin: plugin.connections)
    for connection in setup.config.connections.values():
        origin = None if connection.position else "default"
        schema = setup.registry.connection_types[connection.type]
        entries.append(_block_entry(connection, schema, origin=origin))
    return entries


def _formats(setup: Setup) -> list[Entry]:
    types = setup.registry.format_types
    entries = _type_entries(setup, lambda plugin: plugin.formats)
    configured = setup.config.formats
    for (type_, name), arguments in setup.registry.format_presets.items():
        if (type_, name) not in configured:
            entries.append(_block_entry(FormatConfig(type_, name, arguments), types[type_], origin="preset"))
    for format_ in configured.values():
        origin = None if format_.position else "preset"
        entries.append(_block_entry(format_, types[format_.type], origin=origin))
    return entries


def _plugins(setup: Setup) -> list[Entry]:
    package_of = packages()
    return [_plugin_entry(plugin, package_of.get(plugin.name)) for plugin in setup.registry.plugins]


def _plugin_entry(plugin: Plugin, package: str | None) -> Entry:
    names = {
        "tables": [table.name for table in plugin.tables],
        "sources": [source.name for source in plugin.sources],
        "formats": [format_.name for format_ in plugin.formats],
        "connections": [connection.name for connection in plugin.connections],
    }
    counts = {kind: len(offered) for kind, offered in names.items()}
    return Entry(plugin.name, {"package": package, **counts}, lambda: {"package": package, **names})


def _sources(setup: Setup) -> list[Entry]:
    entries = _type_entries(setup, lambda plugin: plugin.sources)
    for source in setup.config.sources.values():
        schema = setup.registry.source_types[source.type]
        entries.append(_block_entry(source, schema, **used_blocks(source)))
    return entries


def used_blocks(source: SourceConfig) -> Facts:
    """The connection and the format of a source, by name."""
    used = {"connection": source.connection, "format": source.format}
    return {kind: f"{block.type}.{block.name}" if block else None for kind, block in used.items()}


def shown_arguments(arguments: Mapping[str, Any], schema: BlockSchema) -> dict[str, Any]:
    """What the user wrote, but for secrets: those are never printed."""
    secret = {argument.name for argument in schema.arguments if argument.is_secret}
    given = {name: value for name, value in arguments.items() if value is not None and name != "description"}
    return {name: SECRET if name in secret else value for name, value in given.items()}


def _block_entry(
    block: ConnectionConfig | FormatConfig | SourceConfig,
    schema: BlockSchema,
    origin: str | None = None,
    **more: Any,
) -> Entry:
    """`more` are facts that this kind of block has besides its arguments."""
    described = {
        "origin": origin or str(block.position or ""),
        "description": block.arguments.get("description"),
    }
    shown = shown_arguments(block.arguments, schema)
    return Entry(f"{block.type}.{block.name}", described, lambda: {**described, **more, "arguments": shown})


def _type_entries(
    setup: Setup, offers: Callable[[Plugin], Iterable[ConnectionType | FormatType | SourceType]]
) -> list[Entry]:
    return [_type_entry(offer, plugin) for plugin in setup.registry.plugins for offer in offers(plugin)]


def _type_entry(offer: ConnectionType | FormatType | SourceType, plugin: Plugin) -> Entry:
    described = {"origin": f"plugin {plugin.name}", "description": offer.schema.description}
    return Entry(offer.name, described, partial(_type_details, described, offer.schema))


def _type_details(described: Facts, schema: BlockSchema) -> Facts:
    arguments = [
        {
            "name": argument.name,
            "type": argument.type,
            "required": argument.required,
            "default": argument.default,
            "choices": list(argument.choices),
            "secret": argument.is_secret,
            "description": argument.description,
        }
        for argument in schema.arguments
    ]
    return {**described, "arguments": arguments}
