"""What every command starts from: plugins, configuration, workspace."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

from tailpipe.config import config_directories, load
from tailpipe.config.directories import install_directory
from tailpipe.config.values import DEFAULT_WORKSPACE, Config, PartitionConfig, WorkspaceConfig
from tailpipe.errors import UsageError
from tailpipe.plugins.registry import Registry, known_tables, load_registry
from tailpipe.tables.table import Table


@dataclass(frozen=True)
class Setup:
    registry: Registry
    config: Config
    tables: Mapping[str, Table]
    workspace: WorkspaceConfig
    data_dir: Path
    now: datetime

    @property
    def partitions(self) -> Mapping[tuple[str, str], PartitionConfig]:
        return self.config.partitions


def load_setup(arguments: argparse.Namespace, *, needs_config: bool = True) -> Setup:
    """Raises ConfigError with every problem; warnings go to standard error."""
    now = datetime.now(UTC)
    registry = load_registry()
    config = _load_config(arguments, registry, now, needs_config)
    for problem in (*registry.warnings, *config.problems):
        sys.stderr.write(f"{problem}\n")
    workspace = _workspace(arguments.workspace or os.environ.get("TAILPIPE_WORKSPACE"), config)
    return Setup(registry, config, known_tables(config, registry), workspace, _data_dir(workspace), now)


def _load_config(
    arguments: argparse.Namespace, registry: Registry, now: datetime, needs_config: bool
) -> Config:
    directories = config_directories(arguments.config_path, os.environ)
    if not needs_config and not any(_holds_files(directory) for directory in directories):
        return Config()
    return load(directories, registry, environment=os.environ, now=now)


def _holds_files(path: Path) -> bool:
    return path.is_file() or any(path.glob("*.tpc"))


def _workspace(name: str | None, config: Config) -> WorkspaceConfig:
    chosen = name or DEFAULT_WORKSPACE
    if chosen in config.workspaces:
        return config.workspaces[chosen]
    if chosen == DEFAULT_WORKSPACE:
        return WorkspaceConfig()
    near = get_close_matches(chosen, config.workspaces, 1)
    known = ", ".join([*config.workspaces]) or "none but the default"
    raise UsageError(
        f'workspace "{chosen}" is not configured. Configured: {known}.',
        hint=f'did you mean "{near[0]}"?'
        if near
        else f'add `workspace "{chosen}" {{}}` to the configuration',
    )


def _data_dir(workspace: WorkspaceConfig) -> Path:
    chosen = Path(workspace.data_dir) if workspace.data_dir else _default_data_dir(workspace.name)
    path = chosen.expanduser().absolute()
    # Delta's readers take paths for URLs, look for `a b` where the folder is `a%20b`, and find nothing.
    escape = re.search("%[0-9A-Fa-f]{2}", str(path))
    if escape:
        raise UsageError(
            f'{path}: a folder of tables must not have "{escape[0]}" in its path.',
            hint="rename the folder, or set data_dir in the workspace or TAILPIPE_INSTALL_DIR to another one",
        )
    return path


def _default_data_dir(workspace: str) -> Path:
    return install_directory(os.environ) / "data" / workspace
