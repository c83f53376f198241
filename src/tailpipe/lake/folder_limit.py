"""How many folders the rows of a unit may fill: each value of tp_index is a folder per day, with files of its own.

Twenty thousand files of a few rows take minutes to write and half a minute to query, so a unit with so many is refused
as a whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

MAX_INDEX_VALUES = 5_000
MAX_FOLDERS = 50_000


@dataclass
class FolderLimit:
    """Counts what one task, or all tasks of a unit, fill."""

    values: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    folders: dict[str, set[tuple[str, object]]] = field(default_factory=lambda: defaultdict(set))

    def admits(self, unit: str, index: str, day: object) -> bool:
        self.values[unit].add(index)
        self.folders[unit].add((index, day))
        return len(self.values[unit]) <= MAX_INDEX_VALUES and len(self.folders[unit]) <= MAX_FOLDERS

    def message(self, unit: str, index_column: str | None) -> str:
        if len(self.values[unit]) > MAX_INDEX_VALUES:
            what = f'tp_index "{index_column}" has more than {MAX_INDEX_VALUES:,} values'
        else:
            what = (
                f'tp_index "{index_column}" and the days of the rows make more than {MAX_FOLDERS:,} folders'
            )
        return f"{what}; choose a column with few values, such as an account or a host"


def refusal(files: Iterable[tuple[str, str]], index_column: str | None) -> str | None:
    """Why a unit with data files of these values of tp_index and days is refused, if it is."""
    limit = FolderLimit()
    if all(limit.admits("", index, day) for index, day in files):
        return None
    return limit.message("", index_column)
