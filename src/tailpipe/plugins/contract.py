"""The whole plugin surface: a plugin is one value that names its tables, sources, formats and connections.

A distribution offers it under the entry-point group `tailpipe.plugins`; the entry point is a `Plugin`, or a
function without arguments that returns one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tailpipe.config.schema import BlockSchema
from tailpipe.config.values import FormatConfig, SourceConfig
from tailpipe.formats.format import Format
from tailpipe.sources.artifact import Source
from tailpipe.tables.table import Table


@dataclass(frozen=True)
class SourceType:
    """`make` gets the table's default file layout too; it raises ConfigError when arguments do not fit together."""

    name: str
    schema: BlockSchema
    make: Callable[[SourceConfig, str | None], Source]
    connection_type: str | None = None


@dataclass(frozen=True)
class FormatType:
    """`presets` are ready-made formats of this type, by name."""

    name: str
    schema: BlockSchema
    make: Callable[[FormatConfig], Format]
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class ConnectionType:
    name: str
    schema: BlockSchema


@dataclass(frozen=True)
class Plugin:
    name: str
    tables: tuple[Table, ...] = ()
    sources: tuple[SourceType, ...] = ()
    formats: tuple[FormatType, ...] = ()
    connections: tuple[ConnectionType, ...] = ()
