"""What the user asked for, resolved: references followed, arguments checked and evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tailpipe.config.reject_limit import RejectLimit
from tailpipe.errors import Position, Problem
from tailpipe.times import Lookback

DEFAULT_WORKSPACE = "default"
# From the level that tells most to the one that tells nothing.
LOG_OFF = "off"
LOG_LEVELS = ("trace", "debug", "info", "warn", "error", LOG_OFF)


@dataclass(frozen=True)
class ConnectionConfig:
    """`arguments` may hold secrets, so whoever prints it does not see them."""

    type: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)
    position: Position | None = None
    argument_positions: Mapping[str, Position] = field(default_factory=dict)


@dataclass(frozen=True)
class FormatConfig:
    """`arguments` holds what the user wrote; defaults are the format type's business.

    It is not whole when the value of an argument is not known: it is broken, and there is nothing more to check.
    """

    type: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    position: Position | None = None
    argument_positions: Mapping[str, Position] = field(default_factory=dict)
    is_whole: bool = True


@dataclass(frozen=True)
class SourceConfig:
    """`name` is the label of the referenced top-level block, else `<type>` or `<type>_<n>` in its partition.

    `arguments` holds what the user wrote, checked; defaults are the source type's business. It is whole as a format is.
    """

    type: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    connection: ConnectionConfig | None = None
    format: FormatConfig | None = None
    position: Position | None = None
    argument_positions: Mapping[str, Position] = field(default_factory=dict)
    is_whole: bool = True


@dataclass(frozen=True)
class ColumnConfig:
    """`null_if` is a tuple: a single string in the file becomes one entry."""

    name: str
    type: str | None = None
    source: str | None = None
    transform: str | None = None
    null_if: tuple[str, ...] = ()
    required: bool = False
    description: str = ""
    position: Position | None = None
    argument_positions: Mapping[str, Position] = field(default_factory=dict)


@dataclass(frozen=True)
class TableConfig:
    """`map_fields` lists source fields (globs) that become columns though no block names them.

    `tp_index` and `expire_after` are what partitions that say nothing take for theirs.
    """

    name: str
    columns: tuple[ColumnConfig, ...] = ()
    map_fields: tuple[str, ...] = ("*",)
    null_if: tuple[str, ...] = ()
    format: FormatConfig | None = None
    description: str = ""
    position: Position | None = None
    argument_positions: Mapping[str, Position] = field(default_factory=dict)
    tp_index: str | None = None
    expire_after: Lookback | None = None


@dataclass(frozen=True)
class PartitionConfig:
    table: str
    name: str
    sources: tuple[SourceConfig, ...] = ()
    filter: str | None = None
    tp_index: str | None = None
    lookback: Lookback | None = None
    lateness: Lookback | None = None
    max_rejects: RejectLimit | None = None
    expire_after: Lookback | None = None
    plugin: str | None = None
    description: str = ""
    position: Position | None = None
    argument_positions: Mapping[str, Position] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.table}.{self.name}"


@dataclass(frozen=True)
class WorkspaceConfig:
    """Options of a profile; None means not said, so that environment and flags can fill it."""

    name: str = DEFAULT_WORKSPACE
    data_dir: str | None = None
    connection: ConnectionConfig | None = None
    engine: str | None = None
    master: str | None = None
    remote: str | None = None
    spark_config: Mapping[str, str] = field(default_factory=dict)
    memory_max_mb: int | None = None
    cores: int | None = None
    log_level: str | None = None
    lookback: Lookback | None = None
    lateness: Lookback | None = None
    max_rejects: RejectLimit | None = None
    expire_after: Lookback | None = None
    position: Position | None = None


@dataclass(frozen=True)
class Config:
    """All blocks that can be used, in file order, and all problems, warnings and errors, by place.

    `broken` are the blocks that cannot be used, by kind and labels, with the problems found in each; a block that uses
    a broken one is broken. `lost_texts` are the parts of files that were not understood and may be blocks; None
    stands for a file that could not be read. The `damaged_…` are broken ones as far as they were understood: to be
    checked further, never to be used.
    """

    connections: Mapping[tuple[str, str], ConnectionConfig] = field(default_factory=dict)
    formats: Mapping[tuple[str, str], FormatConfig] = field(default_factory=dict)
    sources: Mapping[tuple[str, str], SourceConfig] = field(default_factory=dict)
    tables: Mapping[str, TableConfig] = field(default_factory=dict)
    partitions: Mapping[tuple[str, str], PartitionConfig] = field(default_factory=dict)
    workspaces: Mapping[str, WorkspaceConfig] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    broken: Mapping[tuple[str, tuple[str, ...]], tuple[Problem, ...]] = field(default_factory=dict)
    lost_texts: tuple[bytes | None, ...] = ()
    damaged_formats: tuple[FormatConfig, ...] = ()
    damaged_sources: tuple[SourceConfig, ...] = ()
    damaged_tables: Mapping[str, TableConfig] = field(default_factory=dict)
    damaged_partitions: Mapping[tuple[str, str], PartitionConfig] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if not problem.is_warning)
