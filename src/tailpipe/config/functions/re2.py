"""Regular expressions as HCL has them: RE2, which cannot go on for ever. DuckDB brings the engine."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from tailpipe.config.functions.function import FunctionError
from tailpipe.config.language.limits import check_size, text_size

if TYPE_CHECKING:
    import duckdb

# What parts a pattern has: escapes, quoted text and classes first, for brackets in them mean themselves.
_PARTS = re.compile(
    r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\((?:\?P<(\w+)>|(\?))?", re.DOTALL
)
_REPEAT = re.compile(r"\{(\d{1,4})(?:,(\d{0,4}))?\}")
# States of the pattern times characters of the text: about a second.
_MAX_EFFORT = 1 << 28
_EFFORT_PER_BYTE = 16
_MAX_GROUP_IN_REPLACEMENT = 9


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(":memory:", config={"threads": 1})


def effort(pattern: str, text: str) -> int:
    """In bytes of work; patterns that repeat something often have many states."""
    repeats = [int(number) for found in _REPEAT.findall(pattern) for number in found if number]
    return len(pattern) * max(1, *repeats, 1) * len(text) // _EFFORT_PER_BYTE


def groups(pattern: str) -> list[str | None]:
    """The names of the groups that capture, in order; None for one without a name."""
    found = (part for part in _PARTS.finditer(pattern) if part[0].startswith("("))
    return [part[1] for part in found if not part[2]]


def matches(pattern: str, text: str, argument: int = 0) -> list[list[str | None]]:
    """For every match its whole text and what its groups captured; null for a group that took no part."""
    if effort(pattern, text) > _MAX_EFFORT // _EFFORT_PER_BYTE:
        raise FunctionError("the text is too long for a pattern of this size", argument)
    count = len(groups(pattern))
    found = [_run("select regexp_extract_all(?, ?, ?)", argument, text, pattern, 0)]
    check_size(sum(text_size(match) for match in found[0]) * (count + 1))
    found += [
        _run("select regexp_extract_all(?, ?, ?)", argument, text, pattern, number + 1)
        for number in range(count)
    ]
    return [list(match) for match in zip(*found, strict=True)]


def replaced(pattern: str, text: str, replacement: str) -> str:
    """`$1`, `$name` and `${name}` in the replacement stand for groups."""
    names = groups(pattern)
    found = matches(pattern, text, 1)
    references = len(re.findall(r"\$", replacement))
    matched = sum(text_size(match[0] or "") for match in found)
    check_size(text_size(text) + len(found) * text_size(replacement) + references * matched)

    def group(reference: re.Match[str]) -> str:
        name = reference[1] or reference[2]
        number = int(name) if name.isdigit() else names.index(name) + 1 if name in names else -1
        if not 0 <= number <= len(names):
            raise FunctionError(f"the pattern has no group {name}", 2)
        if number > _MAX_GROUP_IN_REPLACEMENT:
            raise FunctionError(f"only the first {_MAX_GROUP_IN_REPLACEMENT} groups can be used here", 2)
        return f"\\{number}"

    rewrite = re.sub(r"\$(?:(\d{1,9}|\w+)|\{(\w+)\})", group, replacement.replace("\\", "\\\\"))
    result: str = _run("select regexp_replace(?, ?, ?, 'g')", 1, text, pattern, rewrite)
    return result


def _run(sql: str, argument: int, *values: Any) -> Any:
    import duckdb

    try:
        row = _connection().execute(sql, values).fetchone()
    except duckdb.Error as error:
        # Behind the colon stands a part of the pattern, which may be a secret.
        reason = str(error).partition("Error: ")[2].partition(":")[0]
        hint = "patterns are RE2: without look-around and without references to groups"
        raise FunctionError(f"not a regular expression: {reason}", argument, hint) from None
    return row[0] if row else None
