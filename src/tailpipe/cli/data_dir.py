"""Where a workspace's tables are, and what else of it the environment says."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tailpipe.config.directories import expanded, install_directory
from tailpipe.config.values import WorkspaceConfig
from tailpipe.errors import UsageError
from tailpipe.lake.address import Lake

_MEMORY = "TAILPIPE_MEMORY_MAX_MB"
_LEAST_MEMORY_MB = 256


def lake_of(workspace: WorkspaceConfig, environment: Mapping[str, str]) -> Lake:
    """A relative path starts at the working folder."""
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


def memory_from(environment: Mapping[str, str]) -> int | None:
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
