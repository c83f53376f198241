"""Names of partitions as people write them: `table.partition`, `table` or `partition`, with globs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

Key = tuple[str, str]


@dataclass(frozen=True)
class PartitionPattern:
    """Globs of a table's name and of a partition's."""

    table: str
    partition: str

    def matches(self, key: Key) -> bool:
        return fnmatchcase(key[0], self.table) and fnmatchcase(key[1], self.partition)


def partition_pattern(word: str) -> PartitionPattern:
    """A word without a dot names partitions of every table."""
    table, dot, partition = word.partition(".")
    return PartitionPattern(table, partition) if dot else PartitionPattern("*", word)


def matching(word: str, keys: Iterable[Key]) -> list[Key]:
    """Without a dot, a word names tables; partitions only where there is no such table."""
    keys = list(keys)
    of_table = [] if "." in word else [key for key in keys if fnmatchcase(key[0], word)]
    return of_table or [key for key in keys if partition_pattern(word).matches(key)]
