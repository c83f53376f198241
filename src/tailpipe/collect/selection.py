"""Which partitions the words on the command line mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TypeVar

from tailpipe.errors import UsageError

Chosen = TypeVar("Chosen")


def select(patterns: Sequence[str], partitions: Mapping[tuple[str, str], Chosen]) -> list[Chosen]:
    """No pattern means all. A pattern is a table, `table.partition`, or a partition's name; `*` matches any text."""
    if not partitions:
        raise UsageError(
            "the configuration has no partition, so there is nothing to collect.",
            hint='add a block such as `partition "nginx_access_log" "web" { source "file" { paths = ["…"] } }`',
        )
    if not patterns:
        return list(partitions.values())
    chosen: dict[tuple[str, str], Chosen] = {}
    for pattern in patterns:
        keys = _matches(pattern, list(partitions))
        if not keys:
            raise _unknown(pattern, list(partitions))
        chosen |= {key: partitions[key] for key in keys}
    return list(chosen.values())


def _matches(pattern: str, keys: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    if "." in pattern:
        return [key for key in keys if fnmatchcase(".".join(key), pattern)]
    by_table = [key for key in keys if fnmatchcase(key[0], pattern)]
    return by_table or [key for key in keys if fnmatchcase(key[1], pattern)]


def _unknown(pattern: str, keys: Sequence[tuple[str, str]]) -> UsageError:
    names = [".".join(key) for key in keys]
    near = get_close_matches(pattern, [*names, *(key[0] for key in keys)], 1)
    return UsageError(
        f'no partition matches "{pattern}". Configured: {", ".join(names)}.',
        hint=f"did you mean {near[0]}?" if near else None,
    )
