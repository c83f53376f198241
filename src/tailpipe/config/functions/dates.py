"""Functions on points in time, which are RFC 3339 text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from tailpipe.config.functions.function import Function, FunctionError

_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'")
_DURATION = re.compile(r"([-+]?)((?:\d+(?:\.\d+)?(?:ns|us|µs|ms|[smhdw]))+)")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|[smhdw])")
_SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1,
    "m": 60,
    "h": 3600,
    "d": 86400,
    "w": 604800,
}
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _moment(text: str, argument: int) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        hint = 'such as "2024-01-31T10:00:00Z"'
        raise FunctionError("not a time in RFC 3339, with date, time and zone", argument, hint)
    return moment


def _text(moment: datetime) -> str:
    return moment.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def duration(text: str) -> timedelta | None:
    """Go's durations, and days and weeks: `-168h`, `1d12h`, `1.5h`. None for anything else."""
    found = _DURATION.fullmatch(text)
    if not found:
        return None
    seconds = sum(float(count) * _SECONDS[unit] for count, unit in _PART.findall(found[2]))
    return timedelta(seconds=-seconds if found[1] == "-" else seconds)


def _timeadd(text: str, added: str) -> str:
    try:
        span = duration(added)
    except OverflowError:
        span = None
    if span is None:
        raise FunctionError("not a duration", 1, 'write it like "-168h", "7d" or "1d12h30m"')
    try:
        return _text(_moment(text, 0) + span)
    except OverflowError:
        raise FunctionError("the result lies outside the years 1 to 9999", 1) from None


def _timecmp(left: str, right: str) -> int:
    first, second = _moment(left, 0), _moment(right, 1)
    return (first > second) - (first < second)


def _formatdate(pattern: str, text: str) -> str:
    moment = _moment(text, 1)
    return "".join(_formatted(found, moment) for found in _TOKEN.finditer(pattern))


def _formatted(found: re.Match[str], moment: datetime) -> str:
    token, quoted, letter = found[0], found[1], found[2]
    if quoted is not None:
        return quoted.replace("''", "'")
    if token == "'":
        raise FunctionError("a quote in the pattern is never closed", 0)
    if not letter:
        return token
    shown = _shown(token, moment)
    if shown is None:
        hint = "text in a pattern stands in single quotes: 'T'"
        raise FunctionError(f"the pattern has no token {token}", 0, hint)
    return shown


def _shown(token: str, moment: datetime) -> str | None:
    hour_of_12 = moment.hour % 12 or 12
    half = "AM" if moment.hour < 12 else "PM"
    values = {
        "YYYY": f"{moment.year:04}",
        "YY": f"{moment.year % 100:02}",
        "MMMM": _MONTHS[moment.month - 1],
        "MMM": _MONTHS[moment.month - 1][:3],
        "MM": f"{moment.month:02}",
        "M": f"{moment.month}",
        "DD": f"{moment.day:02}",
        "D": f"{moment.day}",
        "EEEE": _DAYS[moment.weekday()],
        "EEE": _DAYS[moment.weekday()][:3],
        "hh": f"{moment.hour:02}",
        "h": f"{moment.hour}",
        "HH": f"{hour_of_12:02}",
        "H": f"{hour_of_12}",
        "AA": half,
        "aa": half.lower(),
        "mm": f"{moment.minute:02}",
        "m": f"{moment.minute}",
        "ss": f"{moment.second:02}",
        "s": f"{moment.second}",
        "ZZZZZ": _offset(moment, ":"),
        "ZZZZ": _offset(moment, ""),
        "ZZZ": "UTC" if not moment.utcoffset() else _offset(moment, ""),
        "Z": "Z" if not moment.utcoffset() else _offset(moment, ":"),
    }
    return values.get(token)


def _offset(moment: datetime, separator: str) -> str:
    minutes = int((moment.utcoffset() or timedelta()).total_seconds()) // 60
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02}{separator}{abs(minutes) % 60:02}"


FUNCTIONS = (
    Function("formatdate", "string string", _formatdate),
    Function("timeadd", "string string", _timeadd),
    Function("timecmp", "string string", _timecmp),
    Function("timestamp", "", lambda here: _text(here.now.astimezone(UTC)), looks_around=True),
)
