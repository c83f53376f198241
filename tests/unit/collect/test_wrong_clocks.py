"""Runs by a clock that was ahead or behind: what they say of days that they cannot have seen, and what comes of it."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from planning import LAYOUT, NOW, Site, done, line, make_target, units

from tailpipe.lake.coverage import Day, cover
from tailpipe.times import Window

DAY = timedelta(days=1)
YEARS = 6 * 365 * DAY


@pytest.fixture
def dated(tmp_path: Path) -> Site:
    return Site(tmp_path, make_target(tmp_path, LAYOUT))


def write(site: Site, *days: int) -> None:
    for day in days:
        site.write(f"2024-06-{day:02}.log", line(f"2024-06-{day:02}T10:00:00"))


def run_at(site: Site, now: object, **options: str) -> None:
    """With the clock of a machine that is wrong."""
    right, site.now = site.now, now  # type: ignore[assignment]
    site.run(**options)
    site.now = right


def calendar(site: Site) -> dict[int, Day]:
    window = Window(NOW - 30 * DAY, NOW)
    return {
        day.date.day: day
        for day in cover(site.state, {date(2024, 6, 10): 1}, window, NOW)
        if day.date.month == NOW.month
    }


def test_a_first_collection_years_ahead_is_made_good_by_the_next(dated: Site) -> None:
    """It looked back 30 days from then: nothing was there, and nobody has asked for the days of now."""
    write(dated, 10)
    dated.write("2030-06-12.log", line("2030-06-12T10:00:00"))
    run_at(dated, NOW + YEARS)
    assert len(dated.lake.rows) == 1
    plan = dated.run()
    assert plan.window.start == NOW.replace(hour=0) - 30 * DAY
    assert done(dated, plan) == [("2024-06-10.log", "take")]
    assert {day.state for day in calendar(dated).values()} == {"empty", "collected"}


def test_days_of_a_run_that_was_ahead_are_not_whole_until_another_looked(dated: Site) -> None:
    write(dated, 10)
    run_at(dated, NOW + 40 * DAY, start="2024-06-01")
    days = calendar(dated)
    assert (days[10].state, days[11].state) == ("partial", "missing")
    assert days[11].reason == (
        "a run whose clock was ahead says it looked up to 2024-07-25 12:00; the next one looks again"
    )
    (listing,) = dated.run().listings
    assert listing.doubted == "2024-07-25T12:00:00+00:00"
    assert calendar(dated)[11].state == "empty"


def test_what_was_claimed_too_far_is_not_believed_when_that_time_has_come(dated: Site) -> None:
    """A run in between, by the right clock, shows that the earlier one was wrong."""
    write(dated, 10)
    run_at(dated, NOW + 40 * DAY, start="2024-06-01")
    dated.run()
    dated.now = NOW + 50 * DAY
    assert dated.state.covered["file"][-1].end == NOW
    (listing,) = dated.plan().listings
    assert listing.doubted is None


def test_a_run_with_a_clock_that_is_behind_takes_nothing_away(dated: Site) -> None:
    write(dated, 1, 10)
    dated.run("2024-06-01")
    run_at(dated, NOW - 9 * DAY)
    write(dated, 12)
    plan = dated.run()
    assert done(dated, plan) == [("2024-06-12.log", "take")]
    assert {day.state for number, day in calendar(dated).items() if number != 12} <= {"empty", "collected"}


def test_clocks_of_two_machines_may_differ_by_a_little(dated: Site) -> None:
    write(dated, 10)
    run_at(dated, NOW + timedelta(minutes=20), start="2024-06-01")
    (listing,) = dated.plan().listings
    assert listing.doubted is None
    assert dated.plan().window.start == NOW.replace(day=11, hour=0)


def test_an_artifact_of_the_future_is_not_the_last_collected_point(dated: Site) -> None:
    """A source that was silent since the 10th is not late on the 11th, though a file is named after a far year."""
    write(dated, 10)
    dated.write("2042-01-01.log", line("2042-01-01T00:00:00"))
    dated.run("2024-06-01")
    write(dated, 11)
    assert units(dated.plan()) == ["2024-06-11"]


def test_an_end_in_the_future_covers_nothing_that_has_not_come(dated: Site) -> None:
    write(dated, 10)
    dated.run("2024-06-01", "2030-01-01")
    assert dated.state.covered["file"][-1].end == NOW
    dated.now = NOW + 20 * DAY
    write(dated, 25)
    assert units(dated.plan()) == ["2024-06-25"]
