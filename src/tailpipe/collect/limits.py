"""How many rejects a day may have before none of it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from tailpipe.config.reject_limit import REJECT_LIMIT_HINT, reject_limit_text
from tailpipe.errors import UsageError


@dataclass(frozen=True)
class RejectLimit:
    """Either `count` or `share` (of 1) is set. `text` is how people write it: `100`, `0.5%`."""

    count: int | None
    share: Decimal | None
    text: str

    def is_exceeded(self, rejected: int, rows: int) -> bool:
        """`rows` are all that were read, those rejected among them. As many as the limit are allowed."""
        if self.share is not None:
            return rejected > self.share * rows
        return self.count is not None and rejected > self.count


def parse_reject_limit(text: str) -> RejectLimit:
    normal = reject_limit_text(text)
    if normal is None:
        raise UsageError(f'"{text}" is not a limit of rejects.', REJECT_LIMIT_HINT)
    if normal.endswith("%"):
        return RejectLimit(None, Decimal(normal.removesuffix("%")) / 100, normal)
    return RejectLimit(int(normal), None, normal)
