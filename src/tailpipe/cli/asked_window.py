"""`--from` and `--to` of commands that work on a window of time."""

from __future__ import annotations

import argparse
from datetime import datetime

from tailpipe.errors import UsageError
from tailpipe.times import Window, parse_moment


def asked_times(
    arguments: argparse.Namespace, now: datetime, *, is_past: bool = False
) -> tuple[datetime | None, datetime | None]:
    """The two of them, None for one that is not given. `is_past` refuses a window that has not begun."""
    start = parse_moment(arguments.start, now=now) if arguments.start is not None else None
    end = parse_moment(arguments.end, now=now, is_end=True) if arguments.end is not None else None
    if is_past and start and start > now:
        raise UsageError(f"--from {arguments.start} is in the future.", hint="T-30d means 30 days ago")
    if start and end and start >= end:
        raise UsageError(
            f"--from {arguments.start} is not before --to {arguments.end}: the window is empty.",
            hint="exchange them; a date given to --to includes that day",
        )
    return start, end


def whole_window(arguments: argparse.Namespace, now: datetime) -> Window:
    """The same without open ends: what is not said reaches as far as time does."""
    from tailpipe.collect.windows import ALWAYS

    start, end = asked_times(arguments, now)
    return Window(start or ALWAYS.start, end or ALWAYS.end)
