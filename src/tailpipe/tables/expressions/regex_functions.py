"""Functions that match regular expressions."""

from __future__ import annotations

import re

from tailpipe.tables.expressions.call import Call, Rule
from tailpipe.tables.expressions.parse import ExpressionError
from tailpipe.tables.expressions.regex import Pattern, raw_literal, rewrite
from tailpipe.tables.sql import text_literal


def _matches(call: Call) -> str:
    call.needs(2, 3)
    return f"{call.text(0)} RLIKE {_pattern(call, 2).literal}"


def _full_match(call: Call) -> str:
    call.needs(2, 3)
    return full_match(call.text(0), _pattern(call, 2))


def full_match(text: str, pattern: Pattern) -> str:
    return f"{text} RLIKE {raw_literal(pattern.whole)}"


def _pattern(call: Call, options_index: int, dropped: str = "") -> Pattern:
    options = call.constant_text(options_index, "option text") if len(call) > options_index else ""
    kept = "".join(option for option in options if option not in dropped)
    return rewrite(call.constant_text(1, "pattern"), kept)


def _extract(call: Call) -> str:
    call.needs(2, 3, 4)
    pattern = _pattern(call, 3)
    return f"regexp_extract({call.text(0)}, {pattern.literal}, {_group(call, pattern)})"


def _extract_all(call: Call) -> str:
    call.needs(2, 3, 4)
    pattern = _pattern(call, 3)
    return f"regexp_extract_all({call.text(0)}, {pattern.literal}, {_group(call, pattern)})"


def _group(call: Call, pattern: Pattern) -> int:
    if len(call) < 3:
        return 0
    group = call.constant_integer(2, "group number")
    if not 0 <= group <= pattern.groups:
        raise ExpressionError(
            f"{call.name}: the pattern has {pattern.groups} groups, there is no group {group}"
        )
    return group


def _replace(call: Call) -> str:
    call.needs(3, 4)
    options = call.constant_text(3, "option text") if len(call) > 3 else ""
    pattern = _pattern(call, 3, dropped="g")
    parts = _replacement(call.constant_text(2, "replacement"), pattern)
    return _replace_all(call, pattern, parts) if "g" in options else _replace_first(call, pattern, parts)


def _replacement(text: str, pattern: Pattern) -> list[str | int]:
    r"""Literal texts and group numbers, in order: `\1` is a group, `\\` a backslash."""
    parts: list[str | int] = []
    for literal, group, escaped in re.findall(r"([^\\]+)|\\([0-9])|(\\.?)", text, re.DOTALL):
        if group:
            if int(group) > pattern.groups:
                raise ExpressionError(
                    f"the replacement names group {group}, the pattern has {pattern.groups}"
                )
            parts.append(int(group))
        elif literal:
            parts.append(literal)
        elif escaped == "\\\\":
            parts.append("\\")
        else:
            raise ExpressionError(
                f'"{escaped}" is not supported in a replacement', r"write \\ for a backslash"
            )
    return parts


def _replace_first(call: Call, pattern: Pattern, parts: list[str | int]) -> str:
    """Cut out the first match and put the text together: replacing by pattern would replace every match."""
    text = call.text(0)
    anchored = rf"\A([\s\S]*?)({pattern.text})"

    def group(number: int) -> str:
        return f"regexp_extract({text}, {raw_literal(anchored)}, {number})"

    middle = [group(part + 2) if isinstance(part, int) else text_literal(part) for part in parts]
    rest = f"substr({text}, length({group(1)}) + length({group(2)}) + 1)"
    joined = f"concat({', '.join([group(1), *middle, rest])})"
    return f"CASE WHEN {text} RLIKE {pattern.literal} THEN {joined} ELSE {text} END"


def _replace_all(call: Call, pattern: Pattern, parts: list[str | int]) -> str:
    written = ""
    for part, following in zip(parts, [*parts[1:], ""], strict=False):
        if isinstance(part, str) and re.search(r"[$\\]", part):
            raise ExpressionError(
                "$ and \\ are not supported in the replacement of regexp_replace with 'g'",
                "use replace for plain text",
            )
        if isinstance(part, int) and isinstance(following, str) and re.match(r"\w", following):
            raise ExpressionError(
                f"in regexp_replace with 'g' the group \\{part} is followed by a letter, digit or _",
                "engines read that differently; put another character between them",
            )
        written += part if isinstance(part, str) else f"${part}"
    return f"regexp_replace({call.text(0)}, {pattern.literal}, {text_literal(written)})"


def _split(call: Call) -> str:
    call.needs(2)
    pattern = _pattern(call, 2)
    return f"split({call.text(0)}, {pattern.literal})"


FUNCTIONS: dict[str, Rule] = {
    "regexp_extract": _extract,
    "regexp_extract_all": _extract_all,
    "regexp_full_match": _full_match,
    "regexp_matches": _matches,
    "regexp_replace": _replace,
    "regexp_split_to_array": _split,
    "string_split_regex": _split,
}
