"""Entries of what plugins bring and of blocks of the configuration, for the commands that list them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from tailpipe.cli.listing import Entry, Facts
from tailpipe.cli.setup import Setup
from tailpipe.config.schema import BlockSchema
from tailpipe.config.values import ConnectionConfig, FormatConfig, SourceConfig
from tailpipe.plugins.contract import ConnectionType, FormatType, Plugin, SourceType

SECRET = "(secret)"


def used_blocks(source: SourceConfig) -> Facts:
    """The connection and the format of a source, by name."""
    used = {"connection": source.connection, "format": source.format}
    return {kind: f"{block.type}.{block.name}" if block else None for kind, block in used.items()}


def shown_arguments(arguments: Mapping[str, Any], schema: BlockSchema) -> dict[str, Any]:
    """What the user wrote, but for secrets: those are never printed."""
    secret = {argument.name for argument in schema.arguments if argument.is_secret}
    given = {name: value for name, value in arguments.items() if value is not None and name != "description"}
    return {name: SECRET if name in secret else value for name, value in given.items()}


def block_entry(
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


def type_entries(
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
