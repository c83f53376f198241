"""The floor of a table: versions before it may lack files, because a vacuum removed them. Partitions have such floors
too, below which a purge removed files of theirs.

It is the version of an application transaction, so that checkpoints keep it. A vacuum or a purge moves it before it
removes anything. Whoever makes files visible again that only older versions have must move the one of the table, as
both do: then one of the two conflicts with the other, and begins again on top of it.
"""

from __future__ import annotations

from typing import Any

APPLICATION = "tailpipe-vacuum"
_PURGE = "tailpipe-purge/"


def floor_of(delta: Any) -> int:
    return int(delta.transaction_version(APPLICATION) or 0)


def purge_application(partition: str) -> str:
    return f"{_PURGE}{partition}"


def purge_floor_of(delta: Any, partition: str) -> int:
    return int(delta.transaction_version(purge_application(partition)) or 0)
