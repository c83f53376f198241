"""Questions before something is gone for good."""

from __future__ import annotations

import sys

from tailpipe.errors import UsageError


def confirm(question: str, is_forced: bool) -> None:
    """Returns when the answer is yes; without a terminal nobody can be asked."""
    if is_forced:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{question} There is no terminal to ask.", "--force goes ahead without asking")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was deleted.")
