"""Lines to fields in one regex pass, in Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tailpipe.formats.lines import SEPARATOR
from tailpipe.formats.pattern import END, Pattern

if TYPE_CHECKING:
    from pyspark.sql import Column


def searched(pattern: Pattern) -> str:
    """The whole-line expression of a pattern that may match anywhere in the line."""
    text = pattern.text
    if _has_top_level_alternatives(text):
        return f"(?s)^.*?(?:{text}).*$"
    start = "" if text.startswith("^") else ".*?"
    end = "" if text.endswith(END) and not text.endswith("\\" + END) else ".*$"
    return f"(?s)^{start}{text.removeprefix('^')}{end}"


def _has_top_level_alternatives(text: str) -> bool:
    depth, at, in_class = 0, 0, False
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and depth == 0:
            return True
        at += 1
    return False


def text_fields(
    raw: Column,
    expression: str,
    group_names: Sequence[str],
    names: Sequence[str],
    names_map: Mapping[str, str],
    null_token: str | None = None,
) -> Column:
    """A struct of `names`, null where `expression` does not match the whole line.

    Fields that are empty or hold the null token are null; of a field captured twice the last that is not.
    """
    from pyspark.sql import functions as F

    replacement = "".join(f"{SEPARATOR}${number}" for number in range(1, len(group_names) + 1))
    parts = F.split(F.regexp_replace(raw, expression, replacement), SEPARATOR)
    groups: dict[str, list[int]] = {}
    for number, group_name in enumerate(group_names, 1):
        groups.setdefault(group_name, []).insert(0, number)

    def value(part: Column) -> Column:
        is_missing = (part == "") if null_token is None else part.isin("", null_token)
        return F.when(~is_missing, part)

    def member(parts: Column, name: str) -> Column:
        numbers = groups.get(names_map.get(name, name), [])
        values = [value(F.get(parts, F.lit(number))) for number in numbers]
        return (F.coalesce(*values) if values else F.lit(None).cast("string")).alias(name)

    is_match = F.size(parts) == len(group_names) + 1
    return F.when(is_match, F.struct(*[member(parts, name) for name in names]))


def table_names(group_names: Sequence[str], names_map: Mapping[str, str]) -> tuple[str, ...]:
    """Captured fields, each once, under the names that tables use."""
    renamed = {source: name for name, source in names_map.items()}
    return tuple(dict.fromkeys(renamed.get(name, name) for name in group_names))
