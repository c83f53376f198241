"""The calendar and the words around it, as they are printed."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, timedelta

import pytest

from tailpipe.cli.calendar import Pen, draw, make_pen
from tailpipe.cli.coverage_report import Report, report_json, report_lines
from tailpipe.lake.coverage import COLLECTED, EMPTY, EXPIRED, FAILED, MISSING, PARTIAL, Day
from tailpipe.lake.manifest import Failure

TODAY = date(2024, 8, 5)
PLAIN = Pen()


def run_of(first: date, *states: str) -> tuple[Day, ...]:
    return tuple(Day(first + timedelta(days=k), state) for k, state in enumerate(states))


def text(lines: list[str]) -> str:
    return "\n".join(lines)


def test_a_week_is_a_line_from_monday_to_sunday() -> None:
    """1 June 2024 was a Saturday."""
    days = run_of(date(2024, 6, 1), COLLECTED, EMPTY, PARTIAL, MISSING, FAILED, *[COLLECTED] * 5)
    assert text(draw(days, 80, PLAIN)) == (
        "June 2024\n   M T W T F S S\n 1           ■ □\n 3 ▒ · ✗ ■ ■ ■ ■\n10 ■"
    )


@pytest.mark.parametrize(("width", "across"), [(16, 1), (34, 1), (35, 2), (80, 4), (120, 6), (1000, 6)])
def test_months_stand_side_by_side_where_there_is_room(width: int, across: int) -> None:
    days = run_of(date(2024, 1, 1), *[COLLECTED] * 366)
    lines = draw(days, width, PLAIN)
    assert lines[1].count("M T W T F S S") == across
    assert max(map(len, lines)) <= max(width, 16)
    assert text(lines).count("■") == 366


def test_a_year_fits_on_a_screen() -> None:
    lines = draw(run_of(date(2024, 1, 1), *[COLLECTED] * 366), 120, PLAIN)
    assert len(lines) <= 18


def test_many_months_without_anything_are_one_line() -> None:
    days = run_of(date(2020, 1, 1), *[EMPTY] * 366, COLLECTED, MISSING)
    assert text(draw(days, 80, PLAIN)) == (
        "□ January 2020 to December 2020: 366 days, all empty\n"
        "\n"
        "January 2021\n"
        "   M T W T F S S\n"
        " 1         ■ ·"
    )


def test_few_months_without_anything_are_drawn_beside_the_others() -> None:
    days = run_of(date(2024, 1, 1), *[EMPTY] * 60, *[COLLECTED] * 31)
    assert draw(days, 80, PLAIN)[0].split("  ")[0] == "January 2024"
    assert "March 2024" in draw(days, 80, PLAIN)[0]


def test_colours_change_no_place() -> None:
    days = run_of(date(2024, 6, 1), COLLECTED, EMPTY, PARTIAL, MISSING, FAILED)
    coloured = text(draw(days, 80, Pen(is_coloured=True)))
    assert "\x1b[32m■\x1b[0m" in coloured
    for code in ("32", "2;32", "33", "2", "1;31", "0"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured == text(draw(days, 80, PLAIN))


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "encoding", "pen"),
    [
        ({}, "utf-8", Pen(is_coloured=True)),
        ({"NO_COLOR": "1"}, "utf-8", Pen()),
        ({"NO_COLOR": ""}, "utf-8", Pen(is_coloured=True)),
        ({"TERM": "dumb"}, "utf-8", Pen()),
        ({}, "ascii", Pen(is_coloured=True, is_ascii=True)),
    ],
)
def test_a_pen_suits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], encoding: str, pen: Pen
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert make_pen(Terminal(io.BytesIO(), encoding=encoding)) == pen


def test_pipes_get_no_colours() -> None:
    assert make_pen(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) == Pen()


def test_signs_differ_without_colours_and_without_unicode() -> None:
    states = (COLLECTED, EMPTY, PARTIAL, MISSING, FAILED)
    for pen in (Pen(), Pen(is_ascii=True)):
        assert len({pen.sign(state) for state in states}) == len(states)
    assert "".join(Pen(is_ascii=True).sign(state) for state in states).isascii()


def failure(label: str, message: str) -> Failure:
    return Failure(label, message, 1, datetime(2024, 8, 5, tzinfo=UTC), "run")


def words(report: Report) -> list[str]:
    """What stands below the calendar."""
    lines = list(report_lines(report, 80, PLAIN))
    return lines[max(k for k, line in enumerate(lines) if not line) + 1 :] if "" in lines else lines


def test_reasons_and_a_hint_stand_below() -> None:
    days = (
        Day(date(2024, 8, 1), COLLECTED, rows=4),
        Day(date(2024, 8, 2), FAILED, reason="x.gz: no gzip\nstream"),
        Day(date(2024, 8, 3), MISSING, reason="never asked for"),
        Day(date(2024, 8, 4), MISSING, reason="never asked for"),
        Day(TODAY, COLLECTED, rows=1),
    )
    assert words(Report("t.p", days, (failure("/logs/y", "it broke"),), TODAY, later_rows=1)) == [
        "■ collected 2   · missing 2   ✗ failed 1",
        "1 row of days after today",
        "failed:",
        "  2024-08-02: x.gz: no gzip stream",
        "missing:",
        "  2024-08-03 to 2024-08-04: never asked for",
        "failed, and of no day:",
        "  /logs/y: it broke",
        "hint: tailpipe collect t.p --from 2024-08-02 --to 2024-08-04",
    ]


@pytest.mark.parametrize(
    ("report", "hint"),
    [
        (Report("t.p", run_of(TODAY, MISSING), (), TODAY), "tailpipe collect t.p --from 2024-08-05"),
        (
            Report("t.p", run_of(TODAY, FAILED), (), TODAY, sources=("s",)),
            "tailpipe collect t.p s --from 2024-08-05",
        ),
        (Report("t.p", run_of(TODAY, COLLECTED), (), TODAY), None),
        (Report("t.p", run_of(TODAY, COLLECTED), (failure("y", "broke"),), TODAY), "tailpipe collect t.p"),
        (Report("t.p", run_of(TODAY, MISSING), (), TODAY, is_configured=False), None),
        (Report("t.p", (Day(TODAY, PARTIAL, is_stuck=True),), (), TODAY), None),
        (Report("t.p", (), (), TODAY, is_known=False), "tailpipe collect t.p"),
    ],
)
def test_a_hint_is_given_where_a_run_would_help(report: Report, hint: str | None) -> None:
    hints = [line.removeprefix("hint: ") for line in words(report) if line.startswith("hint: ")]
    assert hints == ([hint] if hint else [])


def test_long_lists_of_reasons_are_cut_to_the_newest() -> None:
    days = tuple(Day(date(2024, 6, 1) + timedelta(days=k), FAILED, reason=f"cause {k}") for k in range(14))
    lines = words(Report("t.p", days, (), TODAY))
    assert "  2024-06-14: cause 13" in lines
    assert "  2024-06-04: cause 3" not in lines
    assert "  and 4 before them; --output json tells all" in lines


def test_json_tells_every_day() -> None:
    days = (Day(date(2024, 8, 1), COLLECTED, 4, 2), Day(date(2024, 8, 2), FAILED, reason="broke"))
    found = report_json(Report("t.p", days, (failure("y", "it broke"),), TODAY))
    assert found["days"] == [
        {"date": "2024-08-01", "state": "collected", "rows": 4, "rejected": 2},
        {"date": "2024-08-02", "state": "failed", "rows": 0, "reason": "broke"},
    ]
    assert found["summary"] == {
        "collected": 1,
        "empty": 0,
        "partial": 0,
        "missing": 0,
        "failed": 1,
        "expired": 0,
    }
    assert found["failures"][0]["what"] == "y"


def test_expired_days_have_a_sign_and_long_runs_of_them_a_line() -> None:
    days = run_of(date(2020, 1, 1), *[EXPIRED] * 367, COLLECTED)
    report = Report("t.p", days, (), TODAY)
    lines = list(report_lines(report, 80, PLAIN))
    assert "- January 2020 to December 2020: 366 days, all expired" in lines
    assert " 1         - ■" in lines
    assert "■ collected 1   - expired 367" in lines
    assert not any(line.startswith("hint") for line in lines)
    assert report_json(report)["summary"][EXPIRED] == 367
