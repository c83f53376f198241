"""Arguments that partitions, tables and workspaces share: spans of time, and how many rejects are too many."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tailpipe.config.blocks.arguments import Arguments
from tailpipe.config.language.kinds import as_text, kind, with_article
from tailpipe.config.reject_limit import RejectLimit, reject_limit
from tailpipe.config.report import Report
from tailpipe.config.schema import ANY, Argument
from tailpipe.errors import UsageError
from tailpipe.times import Lookback, parse_lookback

EXPIRE_AFTER = Argument("expire_after")
LIMITS = (Argument("lookback"), Argument("lateness"), Argument("max_rejects", ANY), EXPIRE_AFTER)
_SPANS = ("lookback", "lateness")
# A span that has room before this day has room before today.
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)


def read_limits(arguments: Arguments, owner: str, report: Report) -> dict[str, Any]:
    """The values of LIMITS by name; None where they are not given or wrong."""
    spans = {name: _span(arguments, name, owner, report) for name in _SPANS}
    expire_after = read_expire_after(arguments, owner, report)
    return {**spans, "max_rejects": _max_rejects(arguments, owner, report), "expire_after": expire_after}


def read_expire_after(arguments: Arguments, owner: str, report: Report) -> Lookback | None:
    """Rows leave by whole days, so less than one has no meaning."""
    span = _span(arguments, EXPIRE_AFTER.name, owner, report)
    if span is None or _SOME_DAY - span <= _SOME_DAY - timedelta(days=1):
        return span
    message = f'argument "expire_after" of {owner} is shorter than a day: "{span}"'
    report.error(arguments.positions[EXPIRE_AFTER.name], message, 'write at least "1d"')
    return None


def _span(arguments: Arguments, name: str, owner: str, report: Report) -> Lookback | None:
    value: str | None = arguments.get(name)
    if value is None:
        return None
    try:
        span = parse_lookback(value)
        _ = _SOME_DAY - span
    except UsageError:
        message = f'argument "{name}" of {owner} is not a span of time: "{value}"'
        hint = 'write a number and a unit (Y, m, W, d, H, M): "30d"'
    except OverflowError:
        message = f'argument "{name}" of {owner} goes back further than the calendar: "{value}"'
        hint = "use a smaller number"
    else:
        return span
    report.error(arguments.positions[name], message, hint)
    return None


def _max_rejects(arguments: Arguments, owner: str, report: Report) -> RejectLimit | None:
    value = arguments.get("max_rejects")
    if value is None:
        return None
    limit = reject_limit(value)
    if limit is None:
        found = f'"{value}"' if isinstance(value, str) else as_text(value) or with_article(kind(value))
        message = f'argument "max_rejects" of {owner} is not a limit of rejects: {found}'
        hint = 'write a whole number of records, 100, or a share of them, "5%"'
        report.error(arguments.positions["max_rejects"], message, hint)
    return limit
