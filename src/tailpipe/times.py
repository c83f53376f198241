"""Half-open UTC windows, and the ways people write a point in time."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from tailpipe.errors import UsageError

_RELATIVE = re.compile(r"[Tt]-(.*)")
_AMOUNT = re.compile(r"(\d{1,9})([YmWdHM])")
_US_DATE = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ISO_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?\s*([Zz]|[+-]\d\d(:?\d\d)?)?")

_MONTHS = {"Y": 12, "m": 1}
_SPANS = {
    "W": timedelta(weeks=1),
    "d": timedelta(days=1),
    "H": timedelta(hours=1),
    "M": timedelta(minutes=1),
}
_UNITS = "Y years, m months, W weeks, d days, H hours, M minutes"
_ACCEPTED = "Accepted: 2024-01-31, 2024-01-31T10:00:00Z, 1/31/2024, or T-30d"
START_OF_TIME = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, order=True)
class Window:
    """`[start, end)`, both aware and in UTC."""

    start: datetime
    end: datetime

    def overlaps(self, other: Window) -> bool:
        return self.start < other.end and other.start < self.end

    def contains(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    @property
    def is_empty(self) -> bool:
        return self.start >= self.end


@dataclass(frozen=True)
class Lookback:
    """How far back: `moment - lookback`. Months are calendar months, clamped to the month's last day.

    Days and longer units lead to the beginning of a UTC day, which is the unit of collection.
    """

    amount: int
    unit: str

    def __rsub__(self, moment: datetime) -> datetime:
        before = _months_before(moment, self.amount * _MONTHS.get(self.unit, 0)) - self.span
        return midnight(before.date()) if self.is_of_days else before

    @property
    def span(self) -> timedelta:
        """What it has besides months."""
        return self.amount * _SPANS.get(self.unit, timedelta())

    @property
    def is_of_days(self) -> bool:
        return self.unit not in "HM"

    def __str__(self) -> str:
        return f"{self.amount}{self.unit}"


def parse_lookback(text: str) -> Lookback:
    """`30d`, `6m`, `1Y`: a number and one unit."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f'"{text}" is not a length of time. Accepted: a number and a unit, such as 30d ({_UNITS}).',
            _unit_hint(text),
        )
    lookback = Lookback(int(match[1]), match[2])
    try:
        _ = lookback.span
    except OverflowError:
        raise UsageError(
            f'"{text}" is further back than the calendar goes.', "use a smaller number"
        ) from None
    return lookback


def parse_moment(text: str, *, now: datetime, is_end: bool = False) -> datetime:
    """A point in time, in UTC; without a zone it is read as UTC.

    A date alone means its midnight; as the end of a window it means the next midnight, so that the day is
    included. So does `T-1d`, which names a day as well; `T-24H` is exact.
    """
    stripped = text.strip()
    if relative := _RELATIVE.fullmatch(stripped):
        return _before(now, relative[1], text, is_end)
    try:
        if _ISO_MOMENT.fullmatch(stripped):
            return _in_utc(datetime.fromisoformat(re.sub(r"\s+(?=[Zz+-])", "", stripped).upper()))
        day = _parse_date(stripped)
        return midnight(day + timedelta(days=1) if is_end else day)
    except (ValueError, OverflowError):
        raise UsageError(f'"{text}" is not a point in time. {_ACCEPTED}.', _moment_hint(stripped)) from None


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def day_window(day: date) -> Window:
    return Window(midnight(day), midnight(day + timedelta(days=1)))


def days(window: Window) -> tuple[date, ...]:
    """Every UTC day the window touches, oldest first."""
    if window.is_empty:
        return ()
    return days_between(window.start, window.end - timedelta.resolution)


def days_between(first: datetime, last: datetime) -> tuple[date, ...]:
    """The days of both moments and all between them."""
    start = first.date()
    return tuple(start + timedelta(days=offset) for offset in range((last.date() - start).days + 1))


def merge(windows: Iterable[Window]) -> tuple[Window, ...]:
    """The same points in time as sorted windows that neither overlap nor touch; empty ones vanish."""
    merged: list[Window] = []
    for window in sorted(window for window in windows if not window.is_empty):
        if merged and window.start <= merged[-1].end:
            merged[-1] = Window(merged[-1].start, max(merged[-1].end, window.end))
        else:
            merged.append(window)
    return tuple(merged)


def subtract(window: Window, covered: Iterable[Window]) -> tuple[Window, ...]:
    """What of the window is not covered, oldest first."""
    missing: list[Window] = []
    start = window.start
    for cover in merge(covered):
        if cover.end <= start or cover.start >= window.end:
            continue
        missing.append(Window(start, cover.start))
        start = cover.end
    missing.append(Window(start, window.end))
    return tuple(part for part in missing if not part.is_empty)


def without(windows: Iterable[Window], covered: Iterable[Window]) -> tuple[Window, ...]:
    """What of the windows is not covered."""
    covers = merge(covered)
    return tuple(part for window in windows for part in subtract(window, covers))


def _months_before(moment: datetime, months: int) -> datetime:
    if months == 0:
        return moment
    year, month_index = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    if year < 1:
        raise OverflowError("before year 1")
    last_day = calendar.monthrange(year, month_index + 1)[1]
    return moment.replace(year=year, month=month_index + 1, day=min(moment.day, last_day))


def _before(now: datetime, amount: str, text: str, is_end: bool) -> datetime:
    if _AMOUNT.fullmatch(amount) is None:
        message = f'"{text}" is not a point in time. After "T-" comes a number and a unit ({_UNITS}).'
        raise UsageError(message, _unit_hint(amount, "T-"))
    try:
        lookback = parse_lookback(amount)
        moment = now - lookback
        return moment + timedelta(days=1) if is_end and lookback.is_of_days else moment
    except OverflowError:
        raise UsageError(f'"{text}" is before the calendar begins.', "use a smaller number") from None


def _parse_date(text: str) -> date:
    if us_date := _US_DATE.fullmatch(text):
        month, day, year = (int(part) for part in us_date.groups())
        return date(year, month, day)
    if _ISO_DATE.fullmatch(text):
        return date.fromisoformat(text)
    raise ValueError(text)


def _in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _unit_hint(amount: str, prefix: str = "") -> str:
    wrong_case = re.fullmatch(r"(\d+)([ywDh])", amount.strip())
    if wrong_case is None:
        return "units are case-sensitive: m is months, M is minutes"
    right = wrong_case[2].lower() if wrong_case[2] == "D" else wrong_case[2].upper()
    return f"did you mean {prefix}{wrong_case[1]}{right}?"


def _moment_hint(text: str) -> str:
    if _AMOUNT.fullmatch(text.lstrip("-")):
        return f"did you mean T-{text.lstrip('-')}?"
    if _US_DATE.fullmatch(text):
        return "dates with slashes are month/day/year"
    return "times without a zone are UTC; T-30d means 30 days ago"
