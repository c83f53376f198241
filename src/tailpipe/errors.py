"""Everything that can go wrong and be told to a user.

    TailpipeError                 what failed, which thing, what was expected, one hint
    ├── UsageError           2    the command line is off
    ├── ConfigError          2    the configuration is off; carries every problem found
    ├── SourceError          3    a source or its credentials
    │   └── ArtifactError    3    one artifact cannot be read; its unit fails, the others go on
    ├── QueryError           1    the SQL is off
    └── LakeError            4    the lake cannot be read or written
        ├── ConflictError    4    another writer committed first; planning again may succeed
        ├── TooManyConflicts 4    others committed first again and again
        └── UnknownOutcome   4    a commit may or may not be visible; its files must stay

Exit codes: 0 done; 1 done with failed units or rejects above the limit; 2 usage or configuration;
3 source or credentials; 4 lake; 130 interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

EXIT_DONE = 0
EXIT_PARTIAL = 1
EXIT_USAGE = 2
EXIT_SOURCE = 3
EXIT_LAKE = 4
EXIT_INTERRUPTED = 130


@dataclass(frozen=True, order=True, slots=True)
class Position:
    """A place in a configuration file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


# A message may show a name or value of any length, and one that would steer the terminal.
_LONGEST = 2000
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))}


def _printable(text: str) -> str:
    return text.translate(_CONTROLS)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with the configuration."""

    message: str
    position: Position | None = None
    hint: str | None = None
    is_warning: bool = False

    def __str__(self) -> str:
        where = f"{self.position}: " if self.position else ""
        label = "warning: " if self.is_warning else ""
        hint = f"\nhint: {self.hint}" if self.hint else ""
        message = self.message if len(self.message) <= _LONGEST else f"{self.message[:_LONGEST]}…"
        return _printable(f"{where}{label}{message}{hint}")


class TailpipeError(Exception):
    exit_code = EXIT_PARTIAL

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return _printable(f"{self.message}\nhint: {self.hint}" if self.hint else self.message)


class UsageError(TailpipeError):
    exit_code = EXIT_USAGE


class ConfigError(TailpipeError):
    """Carries every problem found, in file order, so that one run shows them all."""

    exit_code = EXIT_USAGE

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class SourceError(TailpipeError):
    exit_code = EXIT_SOURCE


class ArtifactError(SourceError):
    pass


class QueryError(TailpipeError):
    exit_code = EXIT_PARTIAL


class LakeError(TailpipeError):
    exit_code = EXIT_LAKE


class ConflictError(LakeError):
    pass


class TooManyConflicts(LakeError):
    pass


class UnknownOutcome(LakeError):
    pass


def told(error: Exception) -> str:
    """The error in the words that a person reads."""
    if isinstance(error, TailpipeError):
        return str(error)
    if isinstance(error, OSError):
        return system_message(error)
    return f"unexpected {type(error).__name__}: {error}\nhint: run with --debug to see where, and report it"


def system_message(error: OSError) -> str:
    """What the system refused, and to which file: a full disk or a closed folder is no defect of ours."""
    # Arrow's errors put a sentence of their own where the system's belongs.
    cause = os.strerror(error.errno) if error.errno else str(error)
    return f"{error.filename}: {cause}" if error.filename else cause
