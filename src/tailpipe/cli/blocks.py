"""Types that plugins bring and blocks that the configuration holds, as entries to list and show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol

from tailpipe.cli.listing import Entry, Facts
from tailpipe.config.schema import BlockSchema
from tailpipe.errors import Position
from tailpipe.plugins.contract import Plugin

SECRET = "(secret)"


class Offer(Protocol):
    """A type that a plugin brings."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> BlockSchema: ...


class Block(Protocol):
    """A block of the configuration that has a type."""

    @property
    def type(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def arguments(self) -> Mapping[str, Any]: ...

    @property
    def position(self) -> Position | None: ...


def type_entries(plugins: Iterable[Plugin], offers: Callable[[Plugin], Iterable[Offer]]) -> list[Entry]:
    return [_type_entry(offer, plugin) for plugin in plugins for offer in offers(plugin)]


def block_entry(block: Block, schema: BlockSchema, origin: str | None = None, **more: Any) -> Entry:
    """`more` are facts that this kind of block has besides its arguments."""
    described = {
        "origin": origin or str(block.position or ""),
        "description": block.arguments.get("description"),
    }
    shown = shown_arguments(block.arguments, schema)
    return Entry(f"{block.type}.{block.name}", described, lambda: {**described, **more, "arguments": shown})


def shown_arguments(arguments: Mapping[str, Any], schema: BlockSchema) -> dict[str, Any]:
    """What the user wrote, but for secrets: those are never printed."""
    secret = {argument.name for argument in schema.arguments if argument.is_secret}
    given = {name: value for name, value in arguments.items() if value is not None and name != "description"}
    return {name: SECRET if name in secret else value for name, value in given.items()}


def _type_entry(offer: Offer, plugin: Plugin) -> Entry:
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
