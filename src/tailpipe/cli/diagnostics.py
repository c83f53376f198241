"""What happens inside, told on standard error as far as `log_level` or TAILPIPE_LOG_LEVEL asks for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tailpipe.cli.terminal import note

if TYPE_CHECKING:
    from tailpipe.config.values import WorkspaceConfig

_VARIABLE = "TAILPIPE_LOG_LEVEL"
_told: frozenset[str] = frozenset()


def log_level(environment: Mapping[str, str], workspace: WorkspaceConfig | None) -> str | None:
    """What the environment says wins over the workspace block."""
    from tailpipe.config.values import LOG_LEVELS

    text = environment.get(_VARIABLE, "").strip().lower()
    if text in LOG_LEVELS:
        return text
    if text:
        note(f'warning: {_VARIABLE} "{text}" is not known. Known: {", ".join(LOG_LEVELS)}.')
    return workspace.log_level if workspace else None


def start_log(level: str | None) -> None:
    from tailpipe.config.values import LOG_LEVELS, LOG_OFF

    global _told
    named = LOG_LEVELS[LOG_LEVELS.index(level or LOG_OFF) :]
    _told = frozenset(named) - {LOG_OFF}


def is_logged(level: str) -> bool:
    return level in _told


def log(level: str, text: str) -> None:
    if level in _told:
        note(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z {level:<5} {text}")


def engine_log(is_debug: bool) -> int | None:
    """The open file that an engine's own messages go to."""
    return sys.stderr.fileno() if is_debug or _told else None
