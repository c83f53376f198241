"""How many rejects a day may have before none of it is stored: a number of records, or a share of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tailpipe.config.language.kinds import as_text

_COUNT = re.compile(r"[0-9]{1,15}")
_SHARE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)%")


@dataclass(frozen=True)
class RejectLimit:
    """Either `count` or `share` (of 1) is set."""

    count: int | None = None
    share: Decimal | None = None

    def is_exceeded(self, rejected: int, rows: int) -> bool:
        """`rows` are all that were read, those rejected among them. As many as the limit are allowed."""
        if self.share is not None:
            return rejected > self.share * rows
        return self.count is not None and rejected > self.count

    def __str__(self) -> str:
        """As people write it: `100`, `0.5%`."""
        return str(self.count) if self.share is None else f"{(self.share * 100).normalize():f}%"


def reject_limit(value: Any) -> RejectLimit | None:
    """None for what is no limit, such as shares above 100 %."""
    text = "" if isinstance(value, bool) else (as_text(value) or "").strip()
    if _COUNT.fullmatch(text):
        return RejectLimit(count=int(text))
    share = _SHARE.fullmatch(text)
    if share is None or Decimal(share[1]) > 100:
        return None
    return RejectLimit(share=Decimal(share[1]) / 100)
