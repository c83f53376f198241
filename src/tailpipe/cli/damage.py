"""What is wrong with one table is a warning to those who look at all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tailpipe.cli.terminal import note
from tailpipe.errors import LakeError

Found = TypeVar("Found")


def unless_damaged(read: Callable[[], dict[str, Found]]) -> dict[str, Found]:
    """What is found by name; nothing where the table cannot be read."""
    try:
        return read()
    except LakeError as error:
        note(f"warning: {error}")
        return {}
