"""What HCL does not know is hidden from its parser, byte for byte, so that no position moves.

Backtick strings become quoted placeholders of the same length. Strings that end nowhere or stand in single
quotes are reported and hidden too, so that the parser can go on behind them. A backslash that starts no
escape, the exponent of a number and grok's `%{NAME:field}` are hidden: literals are read from the original text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tailpipe.config.language.source_text import SourceText
from tailpipe.errors import Problem

_IN_CODE = re.compile(rb"""["`'#{}]|//|/\*|<<-?([^\W\d][\w-]*)[ \t]*\n|(?<![\w.])\d+[eE][-+]?\d+""")
_IN_STRING = re.compile(rb"""["\n\\]|[$%]{2}\{|[$%]\{""")
_ESCAPES = b'nrt"\\uU'
# A block's first line at the beginning of a line: where text that never ends must have ended.
_HEADER = re.compile(rb"""^[A-Za-z_][\w-]*([ \t]+"[^"\n]*")*[ \t]*\{""", re.MULTILINE)
# A file with more than these is no configuration, and looking for each costs a look at all that follows.
_MAX_PROBLEMS = 100
# Grok's `%{YEAR:year}`; HCL's own directives are words in lower case.
_GROK = re.compile(rb"%\{[A-Z][A-Z0-9_]*(:[\w.@-]+){0,2}\}")


@dataclass(frozen=True)
class Masked:
    """`raw_strings` holds the backtick strings by offset; `broken` the offsets of placeholders for errors.

    `is_cut`: something ended nowhere, and all text behind it is hidden.
    """

    data: bytes
    raw_strings: Mapping[int, str]
    broken: frozenset[int]
    problems: tuple[Problem, ...]
    is_cut: bool

    @property
    def blamed_lines(self) -> frozenset[int]:
        return frozenset(problem.position.line for problem in self.problems if problem.position)


def mask(source: SourceText) -> Masked:
    scanner = _Scanner(source)
    scanner.code(0, within_braces=False)
    return Masked(
        bytes(scanner.out),
        scanner.raw_strings,
        frozenset(scanner.broken),
        tuple(scanner.problems),
        scanner.is_cut,
    )


class _Scanner:
    """Every method takes the offset where its construct starts and returns the one behind it."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.data = source.data
        self.out = bytearray(source.data)
        self.raw_strings: dict[int, str] = {}
        self.broken: set[int] = set()
        self.problems: list[Problem] = []
        self.is_cut = False

    def code(self, at: int, within_braces: bool) -> int | None:
        """Scans to the end, or to the brace that closes an interpolation; None if that never comes."""
        depth = 0
        while found := _IN_CODE.search(self.data, at):
            token = found.group()
            if len(self.problems) >= _MAX_PROBLEMS:
                return self._cut(found.start())
            if token == b"}" and within_braces and depth == 0:
                return found.end()
            if token in b"{}":
                depth += 1 if token == b"{" else -1
                at = found.end()
            else:
                at = self._construct(token, found)
        return None if within_braces else len(self.data)

    def _construct(self, token: bytes, found: re.Match[bytes]) -> int:
        start = found.start()
        if token == b'"':
            return self._string(start)
        if token == b"`":
            return self._raw_string(start)
        if token == b"'":
            return self._single_quoted(start)
        if token == b"/*":
            return self._comment(start)
        if token.startswith(b"<<"):
            return self._heredoc(start, found.end(), found.group(1))
        if token[:1].isdigit():
            return self._number(start, found.end())
        return self._line_end(start)

    def _string(self, start: int) -> int:
        at = start + 1
        while found := _IN_STRING.search(self.data, at):
            token = found.group()
            if token == b'"':
                return found.end()
            if token == b"\n":
                break
            if token == b"\\":
                at = self._escape(found.start())
            elif len(token) == 3:
                at = found.end()
            elif grok := _GROK.match(self.data, found.start()):
                at = self._plain_text(grok)
            else:
                closed = self._interpolation(found.end())
                if closed is None:
                    message, hint = "this `${` is never closed", "write `$${` for the text itself"
                    return self._refuse(start, found.start(), message, hint)
                at = closed
        return self._refuse(
            start,
            start,
            "this string is not closed on its line",
            "text over several lines takes <<EOT or `…`",
        )

    def _interpolation(self, at: int) -> int | None:
        """Where it cannot be told from the text that follows, whatever was found in it is taken back."""
        known = len(self.problems)
        closed = self.code(at, within_braces=True)
        goes_on = closed is None or self.source.line(closed) > self.source.line(at)
        if not goes_on or (closed is not None and len(self.problems) == known):
            return closed
        del self.problems[known:]
        self.out[at:] = self.data[at:]
        self.broken = {offset for offset in self.broken if offset < at}
        self.raw_strings = {offset: text for offset, text in self.raw_strings.items() if offset < at}
        self.is_cut = False
        return None

    def _plain_text(self, found: re.Match[bytes]) -> int:
        self.out[found.start() : found.end()] = b"x" * (found.end() - found.start())
        return found.end()

    def _escape(self, at: int) -> int:
        following = self.data[at + 1 : at + 2]
        if following and following in _ESCAPES:
            return at + 2
        self.out[at] = ord("x")
        return at + 1

    def _raw_string(self, start: int) -> int:
        end = self.data.find(b"`", start + 1)
        if end < 0:
            return self._refuse(
                start, start, "this backtick string is never closed", "close it with another backtick"
            )
        self.raw_strings[start] = self.data[start + 1 : end].decode()
        return self._placeholder(start, end + 1)

    def _number(self, start: int, end: int) -> int:
        """The parser knows 1.0e3 but not 1e3."""
        self.out[start:end] = b"1" * (end - start)
        return end

    def _single_quoted(self, start: int) -> int:
        line_end = self._line_end(start)
        closing = self.data.find(b"'", start + 1, line_end)
        self._report(start, "strings take double quotes", "write \"…\" instead of '…'")
        self.broken.add(start)
        return self._placeholder(start, closing + 1 if closing >= 0 else line_end)

    def _comment(self, start: int) -> int:
        end = self.data.find(b"*/", start + 2)
        if end >= 0:
            return end + 2
        self._report(start, "this comment is never closed", "close it with */")
        return self._cut(start)

    def _heredoc(self, start: int, body: int, word: bytes) -> int:
        closing = re.compile(rb"^[ \t]*" + re.escape(word) + rb"[ \t]*$", re.MULTILINE).search(
            self.data, body
        )
        if closing:
            for grok in _GROK.finditer(self.data, body, closing.start()):
                if self.data[grok.start() - 1 : grok.start()] != b"%":
                    self._plain_text(grok)
            return closing.end()
        marker = word.decode()
        message = f"this text has no closing line `{marker}`"
        self._refuse(start, start, message, f"end it with a line that holds only {marker}")
        following = _HEADER.search(self.data, body)
        return self._cut(self._line_end(start), following.start() if following else len(self.data))

    def _cut(self, start: int, end: int | None = None) -> int:
        """Hides text, but for its newlines."""
        self.is_cut = True
        if end is None or end == len(self.data):
            del self.out[start:]
            return len(self.data)
        self.out[start:end] = re.sub(rb"[^\n]", b" ", self.data[start:end])
        return end

    def _refuse(self, start: int, blamed: int, message: str, hint: str) -> int:
        self._report(blamed, message, hint)
        self.broken.add(start)
        return self._placeholder(start, self._line_end(start))

    def _placeholder(self, start: int, end: int) -> int:
        if end - start < 2:
            self.out[start:end] = b"0"
        else:
            self.out[start:end] = b'"' + b"x" * (end - start - 2) + b'"'
        return end

    def _line_end(self, at: int) -> int:
        end = self.data.find(b"\n", at)
        return len(self.data) if end < 0 else end

    def _report(self, offset: int, message: str, hint: str) -> None:
        self.problems.append(Problem(message, self.source.position(offset), hint))
