"""How much room text takes in a terminal, and text made safe to show there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width

if TYPE_CHECKING:
    from tailpipe.query.results import Row

NULL = "<null>"

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def shown(cell: str | None) -> str:
    """The cell on one line. Control characters are spelled out: a log line must not steer the terminal."""
    return NULL if cell is None else escape_controls(cell)


def escape_controls(text: str) -> str:
    return _UNSAFE.sub(_spelled_out, text)


def display_width(text: str) -> int:
    return len(text) if text.isascii() else sum(map(character_width, text))


def character_width(character: str) -> int:
    if character.isascii():
        return 1
    if category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def pad(text: str, width: int, *, is_right_aligned: bool = False) -> str:
    """Never cuts: text wider than its column keeps all its characters."""
    space = " " * (width - display_width(text))
    return space + text if is_right_aligned else text + space


def shown_row(row: Row) -> tuple[str, ...]:
    return tuple(map(shown, row))


def _spelled_out(match: re.Match[str]) -> str:
    character = match[0]
    number = ord(character)
    return _SHORT.get(character) or (f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")
