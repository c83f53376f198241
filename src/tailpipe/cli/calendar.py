"""Days as a calendar: months side by side, a line per week, a sign per day."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from typing import TextIO

from tailpipe.cli.terminal import counted
from tailpipe.lake.coverage import COLLECTED, EMPTY, EXPIRED, FAILED, MISSING, PARTIAL, Day

_SIGNS = {COLLECTED: "■", EMPTY: "□", PARTIAL: "▒", MISSING: "·", FAILED: "✗", EXPIRED: "-"}
_PLAIN_SIGNS = {COLLECTED: "#", EMPTY: "o", PARTIAL: "~", MISSING: ".", FAILED: "X", EXPIRED: "-"}
_COLOURS = {COLLECTED: "32", EMPTY: "2;32", PARTIAL: "33", MISSING: "2", FAILED: "1;31", EXPIRED: "2"}

_MONTH_WIDTH = 16
_GAP = 3
_WEEKDAYS = "   M T W T F S S"
# So many months in a row of which nothing is to be seen are told in a line.
_QUIET_MONTHS = 6


@dataclass(frozen=True)
class Pen:
    """How a day is drawn where the output goes to."""

    is_coloured: bool = False
    is_ascii: bool = False

    def sign(self, state: str) -> str:
        sign = (_PLAIN_SIGNS if self.is_ascii else _SIGNS)[state]
        return f"\x1b[{_COLOURS[state]}m{sign}\x1b[0m" if self.is_coloured else sign


@dataclass(frozen=True)
class _Month:
    days: tuple[Day, ...]

    @property
    def title(self) -> str:
        return f"{self.days[0].date:%B %Y}"

    @property
    def quiet_state(self) -> str | None:
        """The state that all days share, if it is one in which nothing is there."""
        states = {day.state for day in self.days}
        return states.pop() if len(states) == 1 and states <= {EMPTY, MISSING, EXPIRED} else None

    def lines(self, pen: Pen) -> list[str]:
        """All of the same width on the screen. A week begins with the number of its first day here."""
        return [
            f"{self.title:<{_MONTH_WIDTH}}",
            _WEEKDAYS,
            *(_week(list(week), pen) for _, week in groupby(self.days, key=lambda day: _monday(day.date))),
        ]


def make_pen(out: TextIO) -> Pen:
    """Colours only for people at a terminal, and never where NO_COLOR is set."""
    is_coloured = out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    try:
        "".join(_SIGNS.values()).encode(out.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return Pen(is_coloured, is_ascii=True)
    return Pen(is_coloured)


def draw(days: Sequence[Day], width_columns: int, pen: Pen) -> list[str]:
    """Days oldest first, without gaps between them."""
    months = [
        _Month(tuple(group)) for _, group in groupby(days, key=lambda day: (day.date.year, day.date.month))
    ]
    lines: list[str] = []
    for is_quiet, run in _stretches(months):
        lines += [_quiet(run, pen), ""] if is_quiet else _side_by_side(run, width_columns, pen)
    return lines[:-1]


def legend(days: Sequence[Day], pen: Pen) -> str:
    counts = ((state, sum(day.state == state for day in days)) for state in _SIGNS)
    return "   ".join(f"{pen.sign(state)} {state} {count:,}" for state, count in counts if count)


def _stretches(months: Sequence[_Month]) -> Iterator[tuple[bool, list[_Month]]]:
    """Months that are told in a line, and those between them that are drawn."""
    drawn: list[_Month] = []
    for state, group in groupby(months, key=lambda month: month.quiet_state):
        run = list(group)
        if state is None or len(run) < _QUIET_MONTHS:
            drawn += run
            continue
        if drawn:
            yield False, drawn
        yield True, run
        drawn = []
    if drawn:
        yield False, drawn


def _quiet(months: Sequence[_Month], pen: Pen) -> str:
    state = months[0].days[0].state
    number = counted(sum(len(month.days) for month in months), "day")
    return f"{pen.sign(state)} {months[0].title} to {months[-1].title}: {number}, all {state}"


def _side_by_side(months: Sequence[_Month], width_columns: int, pen: Pen) -> Iterator[str]:
    across = max(1, min(6, (width_columns + _GAP) // (_MONTH_WIDTH + _GAP)))
    for first in range(0, len(months), across):
        blocks = [month.lines(pen) for month in months[first : first + across]]
        height = max(map(len, blocks))
        blank = " " * _MONTH_WIDTH
        for k in range(height):
            parts = (block[k] if k < len(block) else blank for block in blocks)
            yield (" " * _GAP).join(parts).rstrip()
        yield ""


def _week(days: Sequence[Day], pen: Pen) -> str:
    signs = {day.date.weekday(): pen.sign(day.state) for day in days}
    cells = "".join(f" {signs.get(weekday, ' ')}" for weekday in range(7))
    return f"{days[0].date.day:>2}{cells}"


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday()) if day.toordinal() > day.weekday() else day
