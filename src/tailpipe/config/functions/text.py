"""Functions on strings."""

from __future__ import annotations

import re
from typing import Any

from tailpipe.config.functions.function import Function, FunctionError
from tailpipe.config.functions.re2 import effort, groups, matches, replaced
from tailpipe.config.functions.template_verbs import format_text
from tailpipe.config.language.limits import LIST_ITEM_BYTES, check_size, text_size


def _join(separator: str, *lists: list[str]) -> str:
    items = [item for each in lists for item in each]
    check_size(sum(map(text_size, items)) + len(items) * text_size(separator))
    return separator.join(items)


def _split(separator: str, text: str) -> list[str]:
    pieces = text.count(separator) + 1 if separator else len(text)
    check_size(pieces * LIST_ITEM_BYTES)
    return text.split(separator) if separator else list(text)


def _title(text: str) -> str:
    return re.sub(r"(^|[\s_-])(\w)", lambda found: found[1] + found[2].upper(), text)


def _replace(text: str, searched: str, replacement: str) -> str:
    """Between slashes it is a regular expression, with `$1` and `${name}` in the replacement."""
    if _is_pattern(searched):
        return replaced(searched[1:-1], text, replacement)
    check_size(text_size(text) + text.count(searched) * text_size(replacement))
    return text.replace(searched, replacement)


def _replace_work(text: str, searched: str, _: str) -> int:
    return effort(searched, text) if _is_pattern(searched) else 0


def _is_pattern(searched: str) -> bool:
    return len(searched) >= 2 and searched.startswith("/") and searched.endswith("/")


def _regex(pattern: str, text: str) -> Any:
    found = _regexall(pattern, text)
    if not found:
        raise FunctionError("the text does not match the pattern", 1, "use try() to give another value")
    return found[0]


def _regexall(pattern: str, text: str) -> list[Any]:
    """For each match its whole text if the pattern has no groups, a map with named ones, else a list."""
    found = matches(pattern, text)
    names = groups(pattern)
    if not names:
        return [match[0] for match in found]
    if not any(names):
        return [match[1:] for match in found]
    return [{name: value for name, value in zip(names, match[1:], strict=True) if name} for match in found]


def _substr(text: str, offset: float, length: float) -> str:
    start = max(0, len(text) + int(offset)) if offset < 0 else int(offset)
    return text[start:] if length < 0 else text[start : start + int(length)]


def _trim(text: str, characters: str) -> str:
    """`str.strip` looks through all characters for each of the text's."""
    unwanted = set(characters)
    start = next((at for at, character in enumerate(text) if character not in unwanted), len(text))
    end = next((at for at in range(len(text), start, -1) if text[at - 1] not in unwanted), start)
    return text[start:end]


def _indent(width: float, text: str) -> str:
    check_size(text_size(text) + text.count("\n") * int(width))
    return text.replace("\n", "\n" + " " * int(width))


def _formatlist(pattern: str, *arguments: Any) -> list[str]:
    lengths = {len(argument) for argument in arguments if isinstance(argument, list)}
    if len(lengths) > 1:
        raise FunctionError("the lists are not equally long")
    texts: list[str] = []
    size = 0
    for at in range(lengths.pop() if lengths else 1):
        texts.append(
            format_text(pattern, *(each[at] if isinstance(each, list) else each for each in arguments))
        )
        size += text_size(texts[-1])
        check_size(size)
    return texts


FUNCTIONS = (
    Function("chomp", "string", lambda text: text.rstrip("\r\n")),
    Function("endswith", "string string", lambda text, end: text.endswith(end)),
    Function("format", "string any*", format_text),
    Function("formatlist", "string any*", _formatlist),
    Function("indent", "number string", _indent),
    Function("join", "string list(string)*", _join),
    Function("lower", "string", lambda text: text.lower()),
    Function("regex", "string string", _regex, work=effort),
    Function("regexall", "string string", _regexall, work=effort),
    Function("replace", "string string string", _replace, work=_replace_work),
    Function("split", "string string", _split),
    Function("startswith", "string string", lambda text, start: text.startswith(start)),
    Function("strcontains", "string string", lambda text, part: part in text),
    Function("strrev", "string", lambda text: text[::-1]),
    Function("substr", "string number number", _substr),
    Function("title", "string", _title),
    Function("trim", "string string", _trim),
    Function("trimprefix", "string string", lambda text, start: text.removeprefix(start)),
    Function("trimspace", "string", lambda text: text.strip()),
    Function("trimsuffix", "string string", lambda text, end: text.removesuffix(end)),
    Function("upper", "string", lambda text: text.upper()),
)
