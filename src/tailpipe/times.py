"""Half-open UTC windows, and the ways people write a point in time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, order=True)
class Window:
    """`[start, end)`, both aware and in UTC."""

    start: datetime
    end: datetime

    def overlaps(self, other: Window) -> bool:
        return self.start < other.end and other.start < self.end

    def contains(self, moment: datetime) -> bool:
        return self.start <= moment < self.end
