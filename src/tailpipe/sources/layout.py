"""File layouts: which paths a source takes, what their parts mean, and which time they speak of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import takewhile

from tailpipe.formats.grok import GrokError, expand
from tailpipe.formats.pattern import top_level
from tailpipe.times import Window

DATE_FIELDS = ("year", "month", "day", "hour", "minute", "second")
_STEPS = {
    4: timedelta(hours=1),
    5: timedelta(minutes=1),
    6: timedelta(seconds=1),
}


class LayoutError(ValueError):
    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Layout:
    """A layout is searched for anywhere in the path below the source's folder.

    `folder_prefix` is its part up to the folder that completes the date, or None where file names do.
    """

    text: str
    names: tuple[str, ...]
    date_names: frozenset[str]
    regex: re.Pattern[str]
    folder_prefix: Layout | None = None

    def match(self, relative_path: str) -> Mapping[str, str] | None:
        """Captured fields, empty ones left out; of a field captured twice the last that is not empty."""
        found = self.regex.search(relative_path)
        return None if found is None else self.captures(found.groups())

    def captures(self, groups: tuple[str | None, ...]) -> Mapping[str, str]:
        """What the groups of its regex mean."""
        return {name: value for name, value in zip(self.names, groups, strict=True) if value}

    def span(self, captures: Mapping[str, str]) -> Window | None:
        """A finer field counts only with all coarser ones; None without a year or for what is no date."""
        values: list[str] = []
        for name in self._date_fields:
            if name not in captures:
                break
            values.append(captures[name])
        return _window(tuple(values)) if values else None

    @cached_property
    def _date_fields(self) -> tuple[str, ...]:
        return tuple(takewhile(self.date_names.__contains__, DATE_FIELDS))

    def may_contain(self, relative_folder: str, window: Window) -> bool:
        """False only for a folder whose own path completes the layout's date, outside the window."""
        if self.folder_prefix is None:
            return True
        captures = self.folder_prefix.match(relative_folder + "/")
        span = self.folder_prefix.span(captures) if captures is not None else None
        return span is None or span.overlaps(window)


def parse_layout(text: str, patterns: Mapping[str, str]) -> Layout:
    layout = _parsed(text, patterns, None)
    prefix = _date_folder_prefix(text)
    return layout if prefix is None else _parsed(text, patterns, _parsed(prefix, patterns, None))


def _parsed(text: str, patterns: Mapping[str, str], prefix: Layout | None) -> Layout:
    try:
        grok = expand(text, patterns)
    except GrokError as error:
        raise LayoutError(str(error), error.hint) from error
    date_names = grok.own_names & frozenset(DATE_FIELDS)
    return Layout(text, grok.pattern.names, date_names, grok.pattern.for_python(), prefix)


@lru_cache(maxsize=10_000)
def _window(values: tuple[str, ...]) -> Window | None:
    """Remembered, because a folder's files share their date."""
    digits = [re.match(r"[0-9]+", value) for value in values]
    parts = [int(match[0]) for match in digits if match]
    if len(parts) < len(values):
        return None
    year = parts[0] + 2000 if parts[0] < 100 else parts[0]
    month, day = (*parts[1:3], 1, 1)[:2]
    hour, minute, second = (*parts[3:], 0, 0, 0)[:3]
    try:
        start = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        return Window(start, _end(start, len(parts)))
    except (ValueError, OverflowError):
        return None


def _end(start: datetime, granularity: int) -> datetime:
    if granularity == 1:
        return start.replace(year=start.year + 1)
    if granularity == 2:
        return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
    return start + _STEPS.get(granularity, timedelta(days=1))


def _date_folder_prefix(text: str) -> str | None:
    """The layout up to the `/` after its last date field that has one; None where folders hold no date."""
    captured = [field for field in re.findall(r"%\{\w+:(\w+)(?::\w+)?\}", text) if field in DATE_FIELDS]
    if len(set(captured)) != len(captured) or top_level(text, "|"):
        return None
    best = None
    for end in top_level(text, "/"):
        if best is None or _has_date(text[len(best) : end]):
            best = text[: end + 1] if _has_date(text[: end + 1]) else None
    return best


def _has_date(text: str) -> bool:
    return any(field in DATE_FIELDS for field in re.findall(r"%\{\w+:(\w+)(?::\w+)?\}", text))
