"""Arguments that every format type takes."""

from __future__ import annotations

from collections.abc import Mapping

from tailpipe.config.schema import STRING_MAP, Argument
from tailpipe.config.values import FormatConfig
from tailpipe.errors import ConfigError, Problem

DESCRIPTION = Argument("description", description="What the format is for.")
FIELD_MAP = Argument(
    "field_map",
    STRING_MAP,
    description='Names that tables ask for, and the names the records have: `{ event_id = "eventID" }`.',
)
PATTERNS = Argument(
    "patterns",
    STRING_MAP,
    description="Grok patterns of your own by name; they may replace built-in ones and use each other.",
)


def field_map(config: FormatConfig) -> Mapping[str, str]:
    return dict(config.arguments.get("field_map") or {})


def argument_error(config: FormatConfig, argument: str, message: str, hint: str | None = None) -> ConfigError:
    """A ConfigError that points at the argument, or at the block where it has no place of its own."""
    position = config.argument_positions.get(argument) or config.position
    label = f'format "{config.type}" "{config.name}"'
    return ConfigError([Problem(f"{label}: {message}", position, hint)])
