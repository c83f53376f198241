"""Regular expressions that mean the same to Java (Spark), Rust (Sail) and Python (file layouts).

A user's expression is rewritten: only named groups capture, numbered from 1 in order; shorthand classes are
ASCII, as in Java; `$` is the end of the text and nothing else. What the engines cannot share is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

END = r"\z"
_LAST = "\U0010ffff"

_SHORTHAND = {
    "d": "0-9",
    "w": "A-Za-z0-9_",
    "s": r" \t\n\x0b\f\r",
    "h": r" \t",
    "D": rf"\x00-/:-{_LAST}",
    "W": rf"\x00-/:-@\[-\^`{{-{_LAST}",
    "S": rf"\x00-\x08\x0e-\x1f!-{_LAST}",
    "H": rf"\x00-\x08\x0a-\x1f!-{_LAST}",
}
_POSIX = {
    "alnum": "A-Za-z0-9",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": _SHORTHAND["s"],
    "upper": "A-Z",
    "word": _SHORTHAND["w"],
    "xdigit": "0-9A-Fa-f",
}
_GROUP_NAME = re.compile(r"\(\?P?<([A-Za-z_@\[][^<>()]*)>")
_POSIX_CLASS = re.compile(r"\[:(\w+):\]")
_COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_FLAGS = re.compile(r"\(\?[ims]+(?:-[ims]+)?[:)]")
_QUANTIFIED_TWICE = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})\+")

# Escapes and classes are single parts: brackets and bars in them mean themselves.
_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|.", re.DOTALL)


class PatternError(ValueError):
    """`message` says what is wrong with the expression, `offset` where in its text."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"{message} (at character {offset + 1})")
        self.message = message
        self.offset = offset


@dataclass(frozen=True)
class Pattern:
    """`names[i]` is the field of capture group i + 1; a name may stand more than once."""

    text: str
    names: tuple[str, ...]
    needs_look_around: bool = False

    @property
    def repeats_groups(self) -> bool:
        """Whether Java goes deeper into its stack for every repetition that a line holds."""
        parts = _PARTS.findall(self.text)
        return any(part == ")" and following in "*+{" for part, following in pairwise(parts))

    def for_python(self) -> re.Pattern[str]:
        return re.compile(_end_for_python(self.text), re.DOTALL)


def normalise(text: str) -> Pattern:
    """Raises PatternError for what is no regular expression or cannot mean the same everywhere."""
    rewriter = _Rewriter(text)
    pattern = rewriter.run()
    try:
        pattern.for_python()
    except re.error as error:
        raise PatternError(
            f"not a regular expression: {error.msg}", min(error.pos or 0, len(text))
        ) from error
    return pattern


def escape(literal: str) -> str:
    """Literal text as an expression; letters, digits and everything beyond ASCII stay as they are."""
    return "".join(rf"\{char}" if char in r"\.^$|?*+()[]{}-&~#" else char for char in literal)


def top_level(text: str, sign: str) -> list[int]:
    """Offsets at which a sign stands outside groups and classes."""
    depth, found = 0, []
    for part in _PARTS.finditer(text):
        depth += (part[0] == "(") - (part[0] == ")")
        if part[0] == sign and depth == 0:
            found.append(part.start())
    return found


def _end_for_python(text: str) -> str:
    return "".join(r"\Z" if part == END else part for part in _PARTS.findall(text))


class _Rewriter:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[str] = []
        self.names: list[str] = []
        self.needs_look_around = False
        self.is_multiline = False

    def run(self) -> Pattern:
        while self.at < len(self.text):
            self._step(self.text[self.at])
        return Pattern("".join(self.out), tuple(self.names), self.needs_look_around)

    def _step(self, char: str) -> None:
        if char == "\\":
            self._escape()
        elif char == "[":
            self._character_class()
        elif char == "(":
            self._group()
        elif char == "$" and not self.is_multiline:
            self._emit(END, 1)
        elif char == "{":
            self._count()
        else:
            self._refuse_possessive()
            self._emit(char, 1)

    def _count(self) -> None:
        """A brace that counts nothing is a literal to Python only."""
        self._refuse_possessive()
        count = _COUNT.match(self.text, self.at)
        if count and (count[1] or count[3]):
            self._emit(f"{{{count[1] or '0'}{count[2]}{count[3]}}}", len(count[0]))
        else:
            self._emit(r"\{", 1)

    def _emit(self, rewritten: str, length: int) -> None:
        self.out.append(rewritten)
        self.at += length

    def _refuse_possessive(self) -> None:
        if _QUANTIFIED_TWICE.match(self.text, self.at):
            raise PatternError("possessive quantifiers are not supported", self.at)

    def _escape(self) -> None:
        char = self.text[self.at + 1 : self.at + 2]
        if char == "":
            raise PatternError("the expression ends with a lone backslash", self.at)
        if char in "123456789" or char == "k":
            raise PatternError("backreferences are not supported", self.at)
        if char in "zZ":
            self._emit(END, 2)
        elif char in _SHORTHAND:
            negated, positive = char.isupper(), _SHORTHAND[char.lower()]
            self._emit(f"[^{positive}]" if negated else f"[{positive}]", 2)
        elif char in "pPuUNQEGKRX":
            raise PatternError(rf"\{char} is not supported", self.at)
        else:
            self._emit(_portable_escape(char), 2)

    def _group(self) -> None:
        rest = self.text[self.at : self.at + 4]
        if rest.startswith(("(?=", "(?!", "(?<=", "(?<!")):
            self.needs_look_around = True
            self._emit(rest if rest.startswith("(?<") else rest[:3], 4 if rest.startswith("(?<") else 3)
        elif name := _GROUP_NAME.match(self.text, self.at):
            self.names.append(name[1])
            self._emit("(", len(name[0]))
        elif rest.startswith("(?:"):
            self._emit("(?:", 3)
        elif flags := _FLAGS.match(self.text, self.at):
            self.is_multiline = self.is_multiline or "m" in flags[0]
            self._emit(flags[0], len(flags[0]))
        elif rest.startswith("(?"):
            raise self._unknown_group(rest)
        else:
            self._emit("(?:", 1)

    def _unknown_group(self, rest: str) -> PatternError:
        if rest.startswith("(?P="):
            return PatternError("backreferences are not supported", self.at)
        if rest.startswith("(?>"):
            return PatternError("atomic groups are not supported", self.at)
        return PatternError(f'"{rest}" is not a group that is supported', self.at)

    def _character_class(self) -> None:
        """Java and Rust nest classes and know `&&`, `--` and `~~` as operators, so all of it is escaped."""
        start = self.at
        self._emit("[", 1)
        if self.text.startswith("^", self.at):
            self._emit("^", 1)
        first = self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "]" and self.at > first:
                self._emit("]", 1)
                return
            self._class_member(char)
        raise PatternError("a character class is not closed", start)

    def _class_member(self, char: str) -> None:
        if char == "[":
            posix = _POSIX_CLASS.match(self.text, self.at)
            if posix and posix[1] in _POSIX:
                self._emit(_POSIX[posix[1]], len(posix[0]))
            else:
                self._emit(r"\[", 1)
        elif char == "\\":
            self._class_escape()
        elif char in "]&~":
            self._emit(rf"\{char}", 1)
        elif char == "-" and (self.text[self.at - 1] == "-" or self._follows_shorthand()):
            self._emit(r"\-", 1)
        else:
            self._emit(char, 1)

    def _follows_shorthand(self) -> bool:
        return self.text[self.at - 2] == "\\" and self.text[self.at - 1] in _SHORTHAND

    def _class_escape(self) -> None:
        char = self.text[self.at + 1 : self.at + 2]
        if char in _SHORTHAND:
            self._emit(_SHORTHAND[char], 2)
        elif char == "b":
            self._emit(r"\x08", 2)
        elif char == "" or char in "pPuUNQE":
            raise PatternError(rf"\{char} is not supported in a character class", self.at)
        else:
            self._emit(_portable_escape(char), 2)


def _portable_escape(char: str) -> str:
    """Rust knows no escape of a letter-like character and none of `<` and `>` as literals."""
    if char in "<>\"'/:;,=!@%`_ ":
        return char
    if char == "v":
        return r"\x0b"
    if char == "0":
        return r"\x00"
    if char == "e":
        return r"\x1b"
    return rf"\{char}"
