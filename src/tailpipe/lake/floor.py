"""The floor of a table: versions before it may lack files, because a vacuum removed them.

It is the version of an application transaction, so that checkpoints keep it. A vacuum moves it before it removes
anything. Whoever makes files visible again that only older versions have must move the same application transaction:
then one of the two conflicts with the other, and begins again on top of it.
"""

from __future__ import annotations

from typing import Any

APPLICATION = "tailpipe-vacuum"


def floor_of(delta: Any) -> int:
    return int(delta.transaction_version(APPLICATION) or 0)
