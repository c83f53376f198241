"""DuckDB's regular expressions (RE2) rewritten so that Java's and Rust's engines match the same text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tailpipe.tables.expressions.parse import ExpressionError

CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r"\t ",
    "digit": "0-9",
    "lower": "a-z",
    "space": r"\t\n\x0B\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
    "punct": r"!-/:-@\[-`{-~",
}
CONTROLS = {"a": r"\x07", "f": r"\f", "n": r"\n", "r": r"\r", "t": r"\t", "v": r"\x0B"}
META = frozenset(r"\.+*?()|[]{}^$-&~#")
REPEAT = re.compile(r"\{[0-9]+(,[0-9]*)?\}")
HEX = re.compile(r"x([0-9A-Fa-f]{2}|\{[0-9A-Fa-f]{1,6}\})")
PROPERTY = re.compile(r"[pP](\{\^?[A-Za-z_]+\}|[A-Z])")
FLAGS = re.compile(r"\(\?([is]+)\)")
NAMED = re.compile(r"\(\?P?<[A-Za-z_][A-Za-z0-9_]*>")


@dataclass(frozen=True)
class Pattern:
    """`text` is safe inside `(?:…)`; `groups` counts its capturing groups."""

    text: str
    groups: int

    @property
    def whole(self) -> str:
        return rf"\A(?:{self.text})\z"

    @property
    def literal(self) -> str:
        return raw_literal(self.text)


def raw_literal(pattern: str) -> str:
    escaped = pattern.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r") + "'"


def escape(text: str) -> str:
    return "".join("\\" + char if char in META else char for char in text)


def rewrite(pattern: str, options: str = "") -> Pattern:
    """`options` are DuckDB's: c, i, l, s. Raises ExpressionError for what engines would read differently."""
    unknown = next((option for option in options if option not in "cils"), None)
    if unknown:
        raise ExpressionError(
            f'regex option "{unknown}" is not supported', "supported options: c, g, i, l, s"
        )
    if "l" in options:
        body, groups = escape(pattern), 0
    else:
        leading = FLAGS.match(pattern)
        if leading:
            options += leading.group(1)
            pattern = pattern[leading.end() :]
        body, groups = _Rewriter(pattern, "s" in options).run()
    return Pattern(f"(?iu){body}" if "i" in options else body, groups)


class _Rewriter:
    def __init__(self, pattern: str, dot_is_all: bool) -> None:
        self.pattern = pattern
        self.any_char = r"[\s\S]" if dot_is_all else r"[^\n]"
        self.index = 0
        self.groups = 0

    def run(self) -> tuple[str, int]:
        pieces = []
        while self.index < len(self.pattern):
            pieces.append(self._next())
        return "".join(pieces), self.groups

    def _next(self) -> str:
        char = self.pattern[self.index]
        match char:
            case "\\":
                return self._escape(inside=False)
            case "[":
                return self._class()
            case "(":
                return self._group()
            case "{":
                repeat = REPEAT.match(self.pattern, self.index)
                return self._take(repeat.group()) if repeat else self._take("{", r"\{")
            case "}" | "]":
                return self._take(char, "\\" + char)
            case ".":
                return self._take(".", self.any_char)
            case "$":
                return self._take("$", r"\z")
            case _:
                return self._take(char)

    def _take(self, taken: str, written: str | None = None) -> str:
        self.index += len(taken)
        return taken if written is None else written

    def _group(self) -> str:
        named = NAMED.match(self.pattern, self.index)
        if named:
            self.groups += 1
            return self._take(named.group(), "(")
        if self.pattern.startswith("(?:", self.index):
            return self._take("(?:")
        if self.pattern.startswith("(?", self.index):
            inline = re.match(r"\(\?([a-zA-Z-]*)([:)]?)", self.pattern[self.index :])
            if inline and inline.group(1) == "i":
                return self._take(inline.group(), f"(?iu{inline.group(2)}")
            shown = inline.group() if inline else "(?"
            raise ExpressionError(
                f'"{shown}" is not supported in a regular expression',
                "flags i and s may stand at the start: (?is)",
            )
        self.groups += 1
        return self._take("(")

    def _escape(self, inside: bool) -> str:
        if self.index + 1 >= len(self.pattern):
            raise ExpressionError("a regular expression ends with a single backslash")
        char = self.pattern[self.index + 1]
        start = self.index + 1
        if char in CLASSES:
            return self._take("\\" + char, CLASSES[char] if inside else f"[{CLASSES[char]}]")
        if char.lower() in CLASSES and not inside:
            return self._take("\\" + char, f"[^{CLASSES[char.lower()]}]")
        if char in CONTROLS:
            return self._take("\\" + char, CONTROLS[char])
        if char in "bB" and not inside:
            return self._take("\\" + char, f"(?-u:\\{char})")
        if char in "Az" and not inside:
            return self._take("\\" + char)
        if char == "Q":
            end = self.pattern.find(r"\E", start)
            end = len(self.pattern) if end < 0 else end
            quoted = self.pattern[start + 1 : end]
            self.index = end + 2
            return escape(quoted)
        for known in (HEX, PROPERTY):
            match = known.match(self.pattern, start)
            if match:
                return self._take("\\" + match.group())
        if char.isalnum():
            raise ExpressionError(f'"\\{char}" is not supported in a regular expression')
        return self._take("\\" + char, "\\" + char if char in META else char)

    def _class(self) -> str:
        pieces = [self._take("[")]
        if self.pattern.startswith("^", self.index):
            pieces.append(self._take("^"))
        if self.pattern.startswith("]", self.index):
            pieces.append(self._take("]", r"\]"))
        while self.index < len(self.pattern):
            char = self.pattern[self.index]
            if char == "]":
                return "".join([*pieces, self._take("]")])
            pieces.append(self._class_item(char))
        raise ExpressionError("a regular expression has [ without ]")

    def _class_item(self, char: str) -> str:
        if char == "\\":
            return self._escape(inside=True)
        posix = re.match(r"\[:([a-z]+):\]", self.pattern[self.index :])
        if posix:
            if posix.group(1) not in POSIX:
                raise ExpressionError(f'"{posix.group()}" is not supported in a regular expression')
            return self._take(posix.group(), POSIX[posix.group(1)])
        if self.pattern.startswith("--", self.index):
            raise ExpressionError('"--" in a character class is not supported', r"write \- for a hyphen")
        return self._take(char, "\\" + char if char in "[&~" else char)
