"""The verbs of format(): %s %d %f %q %v and their kin, with flags, width and precision as in C."""

from __future__ import annotations

import json
import re
from typing import Any

from tailpipe.config.functions.function import FunctionError
from tailpipe.config.language.kinds import as_text, is_number, kind, with_article
from tailpipe.config.language.limits import check_size, text_size

_VERB = re.compile(r"%(?:\[(\d{1,9})\])?([-+ 0#]*)(\d{1,9})?(?:\.(\d{1,9}))?(.)", re.DOTALL)
_NUMBER_VERBS = "bdoxXeEfgG"
_MAX_WIDTH = 1000


def format_text(pattern: str, *arguments: Any) -> str:
    used: set[int] = set()
    place = size = 0

    def shown(found: re.Match[str]) -> str:
        nonlocal place, size
        position, flags, width, precision, verb = found.groups()
        if verb == "%":
            return "%"
        place = int(position) if position else place + 1
        if not 1 <= place <= len(arguments):
            raise FunctionError(f"the pattern asks for value {place}, but there are {len(arguments)}", 0)
        used.add(place)
        text = _shown(verb, flags, width or "", precision, arguments[place - 1], place)
        size += text_size(text)
        check_size(size)
        return text

    text = _VERB.sub(shown, pattern)
    if len(used) < len(arguments):
        raise FunctionError(f"the pattern uses {len(used)} of {len(arguments)} values", 0)
    return text


def _shown(verb: str, flags: str, width: str, precision: str | None, value: Any, place: int) -> str:
    if max(int(width or 0), int(precision or 0)) > _MAX_WIDTH:
        raise FunctionError(f"a width or precision is at most {_MAX_WIDTH:,}", 0)
    digits = "" if precision is None else f".{precision}"
    if verb in _NUMBER_VERBS:
        return _number(verb, flags, width, digits, value, place)
    if verb == "s":
        text = as_text(value)
        if text is None:
            raise FunctionError(f"%s takes a string, not {with_article(kind(value))}", place)
    elif verb in "vq":
        text = _any_text(value)
        text = json.dumps(text, ensure_ascii=False) if verb == "q" else text
    elif verb == "t":
        if not isinstance(value, bool):
            raise FunctionError(f"%t takes a bool, not {with_article(kind(value))}", place)
        text = "true" if value else "false"
    else:
        raise FunctionError(f"there is no verb %{verb}", 0, "use %s, %d, %f, %v, %q or %t")
    return f"%{flags.replace('0', '')}{width}{digits}s" % text


def _number(verb: str, flags: str, width: str, digits: str, value: Any, place: int) -> str:
    if not is_number(value):
        raise FunctionError(f"%{verb} takes a number, not {with_article(kind(value))}", place)
    if verb == "b":
        return f"%{flags.replace('0', '')}{width}s" % f"{int(value):b}"
    value = int(value) if verb in "doxX" else value
    return str(f"%{flags}{width}{digits}{verb}" % value)


def _any_text(value: Any) -> str:
    text = as_text(value)
    if text is not None:
        return text
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except TypeError:
        raise FunctionError(f"{with_article(kind(value))} has no text") from None
