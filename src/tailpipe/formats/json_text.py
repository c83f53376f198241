"""JSON as text: spaces, escapes, and halves of surrogate pairs, without a change to any value."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[ \t\r\n]+', re.DOTALL)
_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_HIGH, _LOW = re.compile(rb"\\u[dD][89abAB]"), re.compile(rb"\\u[dD][c-fC-F]")
# Escapes of noncharacters, which no text has a use for.
_STAND_INS = tuple(rb"\ufd%x" % number for number in range(0xD0, 0xF0))


def encoded(text: str) -> bytes:
    return msgspec.json.encode(text)


def compact(value: bytes) -> bytes:
    """The value without spaces, its numbers as they are written, its strings with no more escapes than needed."""
    if b"\\" not in value and not any(space in value for space in (b" ", b"\n", b"\t", b"\r")):
        return value
    return _TOKENS.sub(_token, value)


def _token(match: re.Match[bytes]) -> bytes:
    token = match[0]
    if token[:1] != b'"':
        return b""
    return msgspec.json.encode(msgspec.json.decode(token)) if b"\\" in token else token


def lone_surrogates(text: bytes) -> list[tuple[int, int]]:
    """Where escapes stand that are half of a pair of surrogates: no character, and nothing that UTF-8 can hold."""
    found: list[tuple[int, int]] = []
    waiting: tuple[int, int] | None = None
    for escape in _ESCAPE.finditer(text):
        is_low = _LOW.match(escape[0]) is not None
        if waiting and not (is_low and escape.start() == waiting[1]):
            found.append(waiting)
            waiting = None
        if _HIGH.match(escape[0]):
            waiting = escape.span()
        elif is_low and waiting is None:
            found.append(escape.span())
        elif is_low:
            waiting = None
    return found + ([waiting] if waiting else [])


def with_stand_ins(text: bytes, places: list[tuple[int, int]]) -> tuple[bytes, bytes]:
    """The text with an escape that it does not have in place of the halves, and that escape."""
    stand_in = next((escape for escape in _STAND_INS if escape not in text), _STAND_INS[0])
    parts: list[bytes] = []
    end = 0
    for start, after in places:
        parts += [text[end:start], stand_in]
        end = after
    return b"".join([*parts, text[end:]]), stand_in


def syntax_reason(error: Exception, text: bytes, decoder: msgspec.json.Decoder[Any]) -> str:
    """What is wrong with the text that the decoder refused, with the byte it stopped at."""
    halves = lone_surrogates(text)
    if halves:
        try:
            decoder.decode(with_stand_ins(text, halves)[0])
        except (msgspec.DecodeError, RecursionError) as other:
            return decoding_reason(other)
        return surrogate_reason(text[slice(*halves[0])])
    return decoding_reason(error)


def surrogate_reason(half: bytes) -> str:
    return f"JSON has half of a surrogate pair, which is no character: {half.decode()}"


def decoding_reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "JSON is nested too deeply"
    return "JSON ends in the middle" if "truncated" in str(error) else str(error)
