"""What expired, for people or as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tailpipe.cli.terminal import counted, size
from tailpipe.lake.lifecycle import Expired


def expired_words(expired: Expired, is_dry: bool = False) -> str:
    if expired.is_nothing:
        return f"nothing to expire (before {expired.edge:%Y-%m-%d})"
    what = f"{counted(expired.rows, 'row')} of {counted(expired.days, 'day')}"
    rejects = f" and {counted(expired.rejects, 'reject')}" if expired.rejects else ""
    verb = "would expire" if is_dry else "expired"
    freed = f", {size(expired.size_bytes)}" if expired.files else ""
    return f"{what}{rejects} {verb} (before {expired.edge:%Y-%m-%d}{freed})"


def expired_json(expired: Expired | None) -> dict[str, Any] | None:
    return {**asdict(expired), "edge": expired.edge.isoformat()} if expired else None
