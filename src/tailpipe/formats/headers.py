"""First lines of delimited files: which are headers, and which field each name in one means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SHOWN_NAMES = 10
# Values of records that look like this are words; times, numbers, addresses and sentences do not.
_NAME = re.compile(r"[^\W\d][\w .()#%$@/-]{0,99}")


@dataclass(frozen=True)
class Expected:
    """What the first line of a file without a word about its header is compared with, in lower case.

    `fields` are the names of all values, where the format names them. `read` are the names that columns read, and
    `mentioned` those that may be fields in an expression.
    """

    fields: tuple[str, ...] = ()
    read: frozenset[str] = frozenset()
    mentioned: frozenset[str] = frozenset()

    def is_header(self, values: Sequence[str]) -> bool:
        """True only for a line that can hardly be a record: it names the fields, and has nothing but names."""
        names = [value.strip().lower() for value in values]
        if self.fields:
            return tuple(names) == self.fields
        if len({*names}) < len(names) or not all(_NAME.fullmatch(name) for name in names):
            return False
        found = (self.read | self.mentioned) & {*names}
        return len(found) > 1 or (bool(found) and self.read <= found)


def numbered_names(count: int) -> tuple[str, ...]:
    """`column0`, `column1`…: the names of values that nothing names."""
    width = len(str(count - 1))
    return tuple(f"column{number:0{width}}" for number in range(count))


def aligned(header: Sequence[str], planned: Sequence[str]) -> tuple[str, ...]:
    """The header with planned names in the place of those that differ from them only in letter case."""
    free = {name.lower(): name for name in sorted(planned, reverse=True) if name not in header}
    return tuple(name if name in planned else free.pop(name.lower(), name) for name in header)


def merged_headers(headers: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The fields of files with different headers; files without one go by those of the others."""
    named = [header for header in headers if tuple(header) != numbered_names(len(header))]
    merged: dict[str, None] = {}
    for header in named or headers:
        merged.update(dict.fromkeys(aligned(header, tuple(merged))))
    return tuple(merged)


def foreign_reason(header: Sequence[str]) -> str:
    return f"the header of its file names none of the fields that are read: {shown(header)}"


def shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN_NAMES:,} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(name or '""' for name in names[:_SHOWN_NAMES]) + more
