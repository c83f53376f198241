"""What every command starts from: plugins, configuration, workspace.

A command needs the part of the configuration that it uses; what is wrong with the rest is a warning.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from tailpipe.aws_credentials import AwsConnection
from tailpipe.cli.diagnostics import log, log_level, start_log
from tailpipe.cli.terminal import note
from tailpipe.config import config_directories, load
from tailpipe.config.data_dir import bucket_uri, is_bucket
from tailpipe.config.directories import expanded, install_directory
from tailpipe.config.values import DEFAULT_WORKSPACE, Config, PartitionConfig, WorkspaceConfig
from tailpipe.errors import ConfigError, Problem, UsageError
from tailpipe.lake.address import Lake
from tailpipe.lake.storage import Storage
from tailpipe.plugins.registry import Registry, known_tables, load_registry
from tailpipe.suggest import did_you_mean
from tailpipe.tables.table import Table

_MOST_WARNINGS = 20
_MEMORY = "TAILPIPE_MEMORY_MAX_MB"
_LEAST_MEMORY_MB = 256


@dataclass(frozen=True)
class Setup:
    """`workspace` and `lake` raise ConfigError when their block cannot be used: at the first use."""

    registry: Registry
    config: Config
    tables: Mapping[str, Table]
    table_problems: Mapping[str, tuple[Problem, ...]]
    workspace_name: str
    now: datetime
    log_level: str | None = None

    @property
    def partitions(self) -> Mapping[tuple[str, str], PartitionConfig]:
        return self.config.partitions

    @cached_property
    def broken_partitions(self) -> tuple[tuple[str, str], ...]:
        keys = (key for kind, key in self.config.broken if kind == "partition")
        return tuple((key[0], key[1]) for key in keys if len(key) == 2)

    @cached_property
    def workspace(self) -> WorkspaceConfig:
        name = self.workspace_name
        if ("workspace", (name,)) in self.config.broken:
            raise ConfigError(problems_of("workspace", (name,), self.config))
        configured = self.config.workspaces.get(name) or WorkspaceConfig(name)
        return replace(
            configured,
            memory_max_mb=_memory_from(os.environ) or configured.memory_max_mb,
            log_level=self.log_level,
        )

    @cached_property
    def lake(self) -> Lake:
        found = _lake_of(self.workspace, os.environ)
        log("info", f"tables are in {found}")
        return found


def _lake_of(workspace: WorkspaceConfig, environment: Mapping[str, str]) -> Lake:
    """A relative path starts at the working folder."""
    if workspace.data_dir and is_bucket(workspace.data_dir):
        said = workspace.connection.arguments if workspace.connection else {}
        return Lake(bucket_uri(workspace.data_dir), Storage(AwsConnection.of(said)))
    if workspace.data_dir:
        path = expanded(workspace.data_dir, environment).absolute()
    else:
        path = (install_directory(environment) / "data" / workspace.name).absolute()
    # Delta's readers take paths for URLs, look for `a b` where the folder is `a%20b`, and find nothing.
    escape = re.search("%[0-9A-Fa-f]{2}", str(path))
    if escape:
        raise UsageError(
            f'{path}: a folder of tables must not have "{escape[0]}" in its path.',
            hint="rename the folder, or set data_dir in the workspace or TAILPIPE_INSTALL_DIR to another one",
        )
    return Lake(str(path))


def _memory_from(environment: Mapping[str, str]) -> int | None:
    """What the environment says wins over the workspace block; 0 means nothing said, as in Tailpipe."""
    text = environment.get(_MEMORY, "").strip()
    if text in ("", "0"):
        return None
    if not text.isascii() or not text.isdigit() or int(text) < _LEAST_MEMORY_MB:
        raise UsageError(
            f'{_MEMORY} "{text}" is not a whole number of megabytes from {_LEAST_MEMORY_MB} on.',
            hint="unset it, or give such a number",
        )
    return int(text)


def load_setup(
    arguments: argparse.Namespace,
    *,
    needs_config: bool = True,
    uses_workspace: bool = True,
    writes: bool = False,
    tells: bool = True,
) -> Setup:
    """Problems go to standard error as warnings, but for those of the workspace that is used.

    With `writes`, the workspace must be known for certain, and its folder says who may read what is written. Without
    `tells`, the caller tells the problems.
    """
    now = datetime.now(UTC)
    registry = load_registry()
    config = _load_config(arguments, registry, now, needs_config)
    name = arguments.workspace or os.environ.get("TAILPIPE_WORKSPACE") or DEFAULT_WORKSPACE
    tables, table_problems = known_tables(config, registry)
    level = log_level(os.environ, config.workspaces.get(name))
    start_log(level)
    log("info", f"workspace {name}, configured by {', '.join(config.files) or 'no file'}")
    setup = Setup(registry, config, tables, table_problems, name, now, level)
    own = config.broken.get(("workspace", (name,)), ()) if uses_workspace else ()
    if tells:
        warn_of(problem for problem in all_problems(setup) if problem not in own)
    _check_workspace(name, config, writes)
    if writes and ("workspace", (name,)) not in config.broken:
        from tailpipe.lake.folder import follow_permissions

        follow_permissions(setup.lake)
    return setup


def all_problems(setup: Setup) -> tuple[Problem, ...]:
    of_tables = (problem for problems in setup.table_problems.values() for problem in problems)
    return (*setup.registry.warnings, *setup.config.problems, *of_tables)


def warn_of(problems: Iterable[Problem]) -> None:
    told = [replace(problem, is_warning=True) for problem in dict.fromkeys(problems)]
    for problem in told[:_MOST_WARNINGS]:
        note(str(problem))
    if len(told) > _MOST_WARNINGS:
        note(f"{len(told) - _MOST_WARNINGS} more: tailpipe config check")


def problems_of(kind: str, labels: tuple[str, ...], config: Config) -> tuple[Problem, ...]:
    """What spoils a block; its cause may be told elsewhere, as that of a local it uses."""
    message = f'{kind} "{".".join(labels)}" cannot be used because of other problems of the configuration'
    found = config.broken.get((kind, labels), ())
    return found or (Problem(message, hint="tailpipe config check shows them all"),)


def _load_config(
    arguments: argparse.Namespace, registry: Registry, now: datetime, needs_config: bool
) -> Config:
    directories = config_directories(arguments.config_path, os.environ)
    if not needs_config and not any(_holds_files(directory) for directory in directories):
        return Config()
    return load(directories, registry, environment=os.environ, now=now)


def _holds_files(path: Path) -> bool:
    return path.is_file() or any(path.glob("*.tpc"))


def _check_workspace(name: str, config: Config, writes: bool) -> None:
    if name in config.workspaces or ("workspace", (name,)) in config.broken:
        return
    # Rows must not go elsewhere because the block that says where could not be read.
    if writes and any(text is None or b"workspace" in text for text in config.lost_texts):
        problem = Problem(
            f'workspace "{name}" may be declared in what cannot be read, so it is not known where its tables are',
            hint="mend the configuration: tailpipe config check shows every problem",
        )
        raise ConfigError([*config.errors, problem])
    if name == DEFAULT_WORKSPACE:
        return
    known = ", ".join([*config.workspaces]) or "none but the default"
    raise UsageError(
        f'workspace "{name}" is not configured. Configured: {known}.',
        hint=did_you_mean(name, config.workspaces) or f'add `workspace "{name}" {{}}` to the configuration',
    )
