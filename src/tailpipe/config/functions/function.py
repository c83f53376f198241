"""What a function is: a name, the kinds of its parameters, and what it does with checked arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


class FunctionError(Exception):
    """`argument` counts from 0 and tells which one is wrong, where one is."""

    def __init__(self, message: str, argument: int | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.argument = argument
        self.hint = hint


@dataclass(frozen=True)
class Surroundings:
    """`folder` is where the file with the call is: relative paths start there."""

    now: datetime
    environment: Mapping[str, str]
    folder: Path


@dataclass(frozen=True)
class Function:
    """`parameters` are kinds (string, number, bool, list, map, list(string), any) parted by spaces.

    `?` marks the optional ones, `*` a last one that may come any number of times. A `string` also takes
    numbers and bools, as text. With `looks_around`, `run` gets the Surroundings before its arguments. `work` is what a
    call does beyond reading its arguments, in bytes.
    """

    name: str
    parameters: str
    run: Callable[..., Any]
    looks_around: bool = False
    work: Callable[..., int] | None = None
