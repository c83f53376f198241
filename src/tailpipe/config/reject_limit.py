"""How people write a limit of rejects: a whole number of records, or a share of them in percent."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from tailpipe.config.language.kinds import as_text

REJECT_LIMIT_HINT = 'write a whole number of records, 100, or a share of them, "5%"'

_COUNT = re.compile(r"[0-9]{1,15}")
_SHARE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)%")


def reject_limit_text(value: Any) -> str | None:
    """The one way to write it (`100`, `0.5%`); None for what is no limit, such as shares above 100 %."""
    text = "" if isinstance(value, bool) else (as_text(value) or "").strip()
    if _COUNT.fullmatch(text):
        return str(int(text))
    share = _SHARE.fullmatch(text)
    if share is None or Decimal(share[1]) > 100:
        return None
    whole, _, fraction = share[1].partition(".")
    fraction = fraction.rstrip("0")
    return f"{int(whole)}.{fraction}%" if fraction else f"{int(whole)}%"
