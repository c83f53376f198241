"""Checks of arguments that partitions and workspaces share: spans of time, and how many rejects are too many."""

from __future__ import annotations

from datetime import UTC, datetime

from tailpipe.config.blocks.arguments import Arguments
from tailpipe.config.language.kinds import as_text, kind, with_article
from tailpipe.config.reject_limit import REJECT_LIMIT_HINT, reject_limit_text
from tailpipe.config.report import Report
from tailpipe.config.schema import ANY, Argument
from tailpipe.errors import UsageError
from tailpipe.times import parse_lookback

LIMITS = (Argument("lookback"), Argument("lateness"), Argument("max_rejects", ANY))
_SPANS = ("lookback", "lateness")
# A span that has room before this day has room before today.
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)


def checked_limits(arguments: Arguments, owner: str, report: Report) -> dict[str, str | None]:
    """The values of LIMITS by name, as text; null where they are not given or wrong."""
    spans = {name: _span(arguments, name, owner, report) for name in _SPANS}
    return {**spans, "max_rejects": _max_rejects(arguments, owner, report)}


def _span(arguments: Arguments, name: str, owner: str, report: Report) -> str | None:
    value: str | None = arguments.get(name)
    if value is None:
        return None
    try:
        _ = _SOME_DAY - parse_lookback(value)
    except UsageError:
        message = f'argument "{name}" of {owner} is not a span of time: "{value}"'
        hint = 'write a number and a unit (Y, m, W, d, H, M): "30d"'
    except OverflowError:
        message = f'argument "{name}" of {owner} goes back further than the calendar: "{value}"'
        hint = "use a smaller number"
    else:
        return value.strip()
    report.error(arguments.positions[name], message, hint)
    return None


def _max_rejects(arguments: Arguments, owner: str, report: Report) -> str | None:
    value = arguments.get("max_rejects")
    if value is None:
        return None
    text = reject_limit_text(value)
    if text is None:
        found = f'"{value}"' if isinstance(value, str) else as_text(value) or with_article(kind(value))
        message = f'argument "max_rejects" of {owner} is not a limit of rejects: {found}'
        report.error(arguments.positions["max_rejects"], message, REJECT_LIMIT_HINT)
    return text
