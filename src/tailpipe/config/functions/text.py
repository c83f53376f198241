"""Functions on strings."""

from __future__ import annotations

import re
from typing import Any

from tailpipe.config.functions.function import Function, FunctionError
from tailpipe.config.functions.template_verbs import format_text


def _join(separator: str, *lists: list[str]) -> str:
    return separator.join(item for items in lists for item in items)


def _split(separator: str, text: str) -> list[str]:
    return text.split(separator) if separator else list(text)


def _title(text: str) -> str:
    return re.sub(r"(^|[\s_-])(\w)", lambda found: found[1] + found[2].upper(), text)


def _replace(text: str, searched: str, replacement: str) -> str:
    """Between slashes it is a regular expression, with `$1` and `${name}` in the replacement."""
    if len(searched) >= 2 and searched.startswith("/") and searched.endswith("/"):
        pattern = _compiled(searched[1:-1], 1)
        return pattern.sub(lambda found: _expanded(replacement, found), text)
    return text.replace(searched, replacement)


def _expanded(replacement: str, found: re.Match[str]) -> str:
    def group(reference: re.Match[str]) -> str:
        name = reference[1] or reference[2]
        try:
            return found[int(name) if name.isdigit() else name] or ""
        except IndexError:
            raise FunctionError(f"the pattern has no group {name}", 2) from None

    return re.sub(r"\$(?:(\d+|\w+)|\{(\w+)\})", group, replacement)


def _compiled(pattern: str, argument: int) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise FunctionError(f"not a regular expression: {error.msg}", argument) from None


def _captures(found: re.Match[str]) -> Any:
    """The whole match without groups, a map with named ones, else a list."""
    if found.groupdict():
        return found.groupdict()
    return list(found.groups()) if found.groups() else found[0]


def _regex(pattern: str, text: str) -> Any:
    found = _compiled(pattern, 0).search(text)
    if not found:
        raise FunctionError("the text does not match the pattern", 1, "use try() to give another value")
    return _captures(found)


def _regexall(pattern: str, text: str) -> list[Any]:
    return [_captures(found) for found in _compiled(pattern, 0).finditer(text)]


def _substr(text: str, offset: float, length: float) -> str:
    start = max(0, len(text) + int(offset)) if offset < 0 else int(offset)
    return text[start:] if length < 0 else text[start : start + int(length)]


def _indent(width: float, text: str) -> str:
    return text.replace("\n", "\n" + " " * int(width))


def _formatlist(pattern: str, *arguments: Any) -> list[str]:
    lengths = {len(argument) for argument in arguments if isinstance(argument, list)}
    if len(lengths) > 1:
        raise FunctionError("the lists are not equally long")
    rounds = lengths.pop() if lengths else 1
    return [
        format_text(pattern, *(each[at] if isinstance(each, list) else each for each in arguments))
        for at in range(rounds)
    ]


FUNCTIONS = (
    Function("chomp", "string", lambda text: text.rstrip("\r\n")),
    Function("endswith", "string string", lambda text, end: text.endswith(end)),
    Function("format", "string any*", format_text),
    Function("formatlist", "string any*", _formatlist),
    Function("indent", "number string", _indent),
    Function("join", "string strings*", _join),
    Function("lower", "string", lambda text: text.lower()),
    Function("regex", "string string", _regex),
    Function("regexall", "string string", _regexall),
    Function("replace", "string string string", _replace),
    Function("split", "string string", _split),
    Function("startswith", "string string", lambda text, start: text.startswith(start)),
    Function("strcontains", "string string", lambda text, part: part in text),
    Function("strrev", "string", lambda text: text[::-1]),
    Function("substr", "string number number", _substr),
    Function("title", "string", _title),
    Function("trim", "string string", lambda text, characters: text.strip(characters)),
    Function("trimprefix", "string string", lambda text, start: text.removeprefix(start)),
    Function("trimspace", "string", lambda text: text.strip()),
    Function("trimsuffix", "string string", lambda text, end: text.removesuffix(end)),
    Function("upper", "string", lambda text: text.upper()),
)
