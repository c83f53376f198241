"""From what is written between quotes to the text it means."""

from __future__ import annotations

import math
import re

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|([$%])\2\{", re.DOTALL)
_DOUBLED_MARKER = re.compile(r"([$%])\1\{")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def quoted_text(written: str) -> str:
    """Unknown escapes keep their backslash: `"\\d+"` is what people write for a regular expression."""
    if "\\" not in written and "{" not in written:
        return written
    return _ESCAPE.sub(_unescape, written)


def _unescape(found: re.Match[str]) -> str:
    escape, marker = found.groups()
    if marker:
        return f"{marker}{{"
    if escape in _SIMPLE:
        return _SIMPLE[escape]
    if len(escape) > 1 and _is_character(int(escape[1:], 16)):
        return chr(int(escape[1:], 16))
    return found.group()


def _is_character(code: int) -> bool:
    return code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF


def heredoc_text(written: str) -> str:
    return _DOUBLED_MARKER.sub(r"\1{", written)


def number(written: str) -> int | float:
    """Raises ValueError for anything but a number as the language writes it, without a sign."""
    if not _NUMBER.fullmatch(written):
        raise ValueError("not a number")
    value = float(written)
    if not math.isfinite(value):
        raise ValueError("too large")
    if written.isdigit():
        return int(written)
    return int(value) if value.is_integer() and "." not in written else value


def common_indent(texts: list[tuple[str, bool]]) -> int:
    """The least indentation of lines that hold something. Each text says whether it starts a line."""
    indents: list[int] = []
    for number_of_text, (text, starts_line) in enumerate(texts):
        is_last = number_of_text == len(texts) - 1
        for number_of_line, line in enumerate(text.split("\n")):
            begins = starts_line or number_of_line > 0
            ends_here = number_of_line < text.count("\n") or is_last
            if begins and not (ends_here and not line.strip()):
                indents.append(len(line) - len(line.lstrip(" \t")))
    return min(indents, default=0)


def unindent(text: str, width: int, starts_line: bool) -> str:
    lines = text.split("\n")
    return "\n".join(
        line[min(width, len(line) - len(line.lstrip(" \t"))) :] if begins or starts_line else line
        for begins, line in enumerate(lines)
    )
