"""Windows as sets of points in time: merged and subtracted in any order they mean the same points."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tailpipe.times import Window, day_window, days, merge, subtract

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
TICKS = 40


def window(start: int, end: int) -> Window:
    return Window(EPOCH + timedelta(hours=start), EPOCH + timedelta(hours=end))


def ticks(windows: tuple[Window, ...] | list[Window]) -> set[int]:
    return {
        tick
        for tick in range(TICKS)
        if any(one.contains(EPOCH + timedelta(hours=tick, minutes=30)) for one in windows)
    }


windows = st.builds(window, st.integers(0, TICKS), st.integers(0, TICKS))


@given(st.lists(windows), st.randoms())
def test_merge_means_the_same_points_in_any_order(some: list[Window], random: object) -> None:
    merged = merge(some)
    shuffled = list(some)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert merge(shuffled) == merged
    assert ticks(merged) == ticks(some)
    assert merge(merged) == merged


@given(st.lists(windows))
def test_merged_windows_are_sorted_and_apart(some: list[Window]) -> None:
    merged = merge(some)
    assert all(not one.is_empty for one in merged)
    assert all(left.end < right.start for left, right in pairwise(merged))


@given(windows, st.lists(windows))
def test_what_is_missing_and_what_is_covered_make_up_the_window(whole: Window, covered: list[Window]) -> None:
    missing = subtract(whole, covered)
    assert ticks(missing) == ticks([whole]) - ticks(covered)
    assert merge(missing) == missing


@given(windows)
def test_days_cover_the_window_and_touch_it(some: Window) -> None:
    touched = days(some)
    assert subtract(some, [day_window(day) for day in touched]) == ()
    assert all(day_window(day).overlaps(some) for day in touched)
    assert list(touched) == sorted(set(touched))


def test_a_window_ending_at_midnight_leaves_the_next_day_alone() -> None:
    assert days(Window(EPOCH, EPOCH + timedelta(days=2))) == (date(2024, 1, 1), date(2024, 1, 2))


def test_touching_windows_become_one() -> None:
    assert merge([window(2, 4), window(0, 2)]) == (window(0, 4),)
