"""Which times a run wants: what was asked for, what is pending, what may still come late."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning import HORIZONS, NOW, window

from tailpipe.collect.windows import (
    ALWAYS,
    END_OF_TIME,
    AskedWindow,
    Wanted,
    claimed,
    pending,
    wanted_windows,
)
from tailpipe.errors import UsageError
from tailpipe.lake.known import Artifacts
from tailpipe.lake.manifest import KnownArtifact, Windows
from tailpipe.lake.manifest_columns import as_columns
from tailpipe.lake.state import PartitionState
from tailpipe.times import Window, day_window, merge

DAY = timedelta(days=1)
TODAY = datetime(2024, 6, 15, tzinfo=UTC)
LOOKBACK_START, HORIZON = TODAY - 30 * DAY, TODAY - 2 * DAY


def since(start: datetime) -> Window:
    return Window(start, END_OF_TIME)


def state(asked: Windows, covered: Windows, *days: datetime) -> PartitionState:
    """`days` are those of which files were collected."""
    spans = [day_window(day.date()) for day in days]
    records = [KnownArtifact("file", f"{span}", f"{span}", "1", 1, span, (ALWAYS,)) for span in spans]
    return PartitionState(
        1, Artifacts([as_columns(tuple(records))]), asked={"file": asked}, claimed={"file": covered}
    )


def wanted(
    known: PartitionState | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    now: datetime = NOW,
) -> Wanted:
    return wanted_windows(known or PartitionState(), "file", AskedWindow(start, end), HORIZONS, now)


def test_first_the_last_thirty_days_without_an_end() -> None:
    """From midnight, so that the first of them is whole."""
    assert wanted() == Wanted((since(LOOKBACK_START),), since(LOOKBACK_START), (since(LOOKBACK_START),))


def test_what_was_asked_of_another_source_does_not_count() -> None:
    other = PartitionState(
        1, asked={"other": (since(NOW - DAY),)}, claimed={"other": (Window(NOW - DAY, NOW),)}
    )
    assert wanted(other).windows == (since(LOOKBACK_START),)


@pytest.mark.parametrize(
    ("start", "end"), [(NOW - 90 * DAY, NOW - 80 * DAY), (NOW - 90 * DAY, None), (None, NOW - 3 * DAY)]
)
def test_from_and_to_mean_what_they_say_at_first(start: datetime | None, end: datetime | None) -> None:
    expected = Window(start or LOOKBACK_START, end or END_OF_TIME)
    assert wanted(start=start, end=end) == Wanted((expected,), expected, (expected,))


def test_from_means_what_it_says_later_too() -> None:
    known = state((since(LOOKBACK_START),), (Window(LOOKBACK_START, NOW),), NOW)
    asked = Window(NOW - 90 * DAY, NOW - 80 * DAY)
    found = wanted(known, asked.start, asked.end)
    assert (found.windows, found.listed) == ((asked,), asked)
    assert found.asked == (asked, since(LOOKBACK_START))


def test_going_on_looks_at_the_lateness_horizon() -> None:
    """All was collected an hour ago: what is late by two days and no more may still come."""
    known = state((since(LOOKBACK_START),), (Window(LOOKBACK_START, NOW),), NOW - DAY, NOW)
    found = wanted(known)
    assert found.windows == (since(HORIZON),)
    assert found.asked == (since(LOOKBACK_START),)
    assert found.listed == since(LOOKBACK_START)
    assert found.includes(day_window((NOW - DAY).date()))
    late = day_window((NOW - 4 * DAY).date())
    assert not found.includes(late)
    assert found.is_late(late)


def test_going_on_after_a_long_pause_begins_before_the_last_run() -> None:
    """What came late for that run is not lost because the next one is long after it."""
    last = TODAY - 100 * DAY
    known = state((since(NOW - 120 * DAY),), (Window(NOW - 120 * DAY, last),), last)
    found = wanted(known)
    assert found.windows == (since(last - 2 * DAY),)
    assert found.listed == found.windows[0]


def test_lateness_does_not_reach_before_what_was_asked_for() -> None:
    known = state((since(NOW - DAY),), (Window(NOW - DAY, NOW),), NOW)
    assert wanted(known).windows == (since(NOW - DAY),)


def test_a_quiet_source_is_not_late_where_nothing_has_come_yet() -> None:
    """The last file is of ten days ago: whatever comes after it is not late, though runs looked in between."""
    known = state((since(LOOKBACK_START),), (Window(LOOKBACK_START, NOW),), NOW - 10 * DAY)
    found = wanted(known)
    assert found.includes(day_window((NOW - 9 * DAY).date()))
    assert not found.includes(day_window((NOW - 11 * DAY).date()))


def test_days_that_failed_stay_wanted() -> None:
    failed = day_window((NOW - 20 * DAY).date())
    known = state(
        (since(LOOKBACK_START),),
        (Window(LOOKBACK_START, failed.start), Window(failed.end, NOW)),
        NOW,
    )
    found = wanted(known)
    assert found.windows == (failed, since(HORIZON))
    assert found.listed.start <= failed.start
    assert not found.includes(day_window((NOW - 19 * DAY).date()))


def test_a_run_that_was_killed_leaves_all_it_wanted_pending() -> None:
    """A unit was committed, the run never ended: nothing is covered."""
    known = state((since(LOOKBACK_START),), (), NOW - DAY)
    assert wanted(known).windows == (since(LOOKBACK_START),)


def test_to_alone_goes_on_up_to_there() -> None:
    known = state((since(LOOKBACK_START),), (Window(LOOKBACK_START, NOW),), NOW)
    end = NOW - DAY
    found = wanted(known, end=end)
    assert found.windows == (Window(HORIZON, end),)
    assert found.listed.end == end


@pytest.mark.parametrize(
    "known", [None, state((since(LOOKBACK_START),), (Window(LOOKBACK_START, NOW),), NOW)]
)
def test_to_before_all_that_is_wanted_asks_for_from(known: PartitionState | None) -> None:
    with pytest.raises(UsageError, match="the window is empty: without --from") as error:
        wanted(known, end=NOW - 90 * DAY)
    assert error.value.hint == "give --from too"


def test_the_beginning_of_an_empty_window_is_that_of_what_is_wanted_and_not_of_what_is_listed() -> None:
    """Listed is the lookback, wanted only what was asked for once: --to lies between their beginnings."""
    known = state((window("2024-06-10", "2024-06-12"),), (window("2024-06-10", "2024-06-12"),))
    with pytest.raises(UsageError, match="it begins 2024-06-10 00:00, which is not before --to"):
        wanted(known, end=NOW - 20 * DAY)


def test_a_claim_beyond_now_was_made_by_a_wrong_clock() -> None:
    """A run a year ahead said that all up to then was covered. Back at the right time nothing of it is believed."""
    ahead = NOW + 365 * DAY
    known = state((since(LOOKBACK_START),), (Window(LOOKBACK_START, ahead),), NOW - DAY)
    assert wanted(known).windows == (since(LOOKBACK_START),)
    covered_again = state((since(LOOKBACK_START),), (Window(LOOKBACK_START, NOW),), NOW - DAY)
    assert wanted(covered_again, now=ahead).windows[0].start <= NOW


@pytest.mark.parametrize(
    ("asked", "covered", "expected"),
    [
        ((window("2024-06-01", "2024-06-10"),), (), (window("2024-06-01", "2024-06-10"),)),
        ((window("2024-06-01", "2024-06-10"),), (window("2024-06-01", "2024-06-10"),), ()),
        (
            (window("2024-06-01", "2024-06-10"),),
            (window("2024-06-03", "2024-06-04"),),
            (window("2024-06-01", "2024-06-03"), window("2024-06-04", "2024-06-10")),
        ),
        ((window("2024-06-20", "2024-06-30"),), (), ()),
        ((since(NOW - DAY),), (Window(NOW - DAY, NOW),), ()),
        (
            (since(NOW - DAY),),
            (Window(NOW - DAY, NOW - timedelta(hours=1)),),
            (Window(NOW - timedelta(hours=1), NOW),),
        ),
    ],
)
def test_pending_is_what_was_asked_for_up_to_now_and_not_covered(
    asked: Windows, covered: Windows, expected: Windows
) -> None:
    assert pending(asked, covered, NOW) == expected


days = st.integers(-60, 20).map(lambda day: NOW + day * DAY)
windows = st.lists(st.tuples(days, days).map(lambda pair: Window(*sorted(pair))), max_size=4).map(merge)


@given(asked=windows, failed=windows)
def test_what_a_run_claims_and_what_stays_pending_are_what_it_wanted(asked: Windows, failed: Windows) -> None:
    covered = claimed(asked, failed, NOW)
    left = pending(asked, covered, NOW)
    assert not any(part.overlaps(other) for part in covered for other in left)
    past = [Window(part.start, min(part.end, NOW)) for part in asked]
    assert merge([*covered, *left]) == merge(past)
    assert all(any(part.overlaps(other) for other in failed) for part in left)


@given(asked=windows, covered=windows)
def test_all_that_is_pending_is_wanted_and_listed(asked: Windows, covered: Windows) -> None:
    found = wanted(state(asked, covered))
    for part in pending(asked, covered, NOW):
        assert merge([*found.windows, part]) == found.windows
        assert found.listed.start <= part.start
    assert merge([*found.asked, *found.windows]) == found.asked


EDGE = TODAY - 7 * DAY
BEFORE = Window(ALWAYS.start, EDGE)


def with_edge(known: PartitionState, start: datetime | None = None, end: datetime | None = None) -> Wanted:
    horizons = replace(HORIZONS, edge=EDGE)
    return wanted_windows(known, "file", AskedWindow(start, end), horizons, NOW)


def test_nothing_is_wanted_before_the_edge() -> None:
    first = with_edge(PartitionState())
    assert (first.windows, first.asked, first.everything) == ((since(EDGE),),) * 3
    pending_since_long = with_edge(state((since(TODAY - 20 * DAY),), (Window(TODAY - DAY, NOW),)))
    assert pending_since_long.windows == (since(EDGE),)
    assert pending_since_long.expired == (Window(TODAY - 20 * DAY, EDGE),)


def test_from_before_the_edge_is_cut_and_told() -> None:
    early, later = (with_edge(PartitionState(), TODAY - days * DAY) for days in (20, 5))
    assert (early.windows, early.is_cut) == ((since(EDGE),), True)
    assert (later.windows, later.is_cut) == ((since(TODAY - 5 * DAY),), False)
    with pytest.raises(UsageError, match="rows before 2024-06-08 expire"):
        with_edge(PartitionState(), TODAY - 20 * DAY, EDGE)


def test_what_expired_is_wanted_again_only_where_it_is_asked_for() -> None:
    """Also when rows may stay longer by now, and by a source that is asked for the first time."""
    gone = Window(TODAY - 20 * DAY, EDGE)
    known = replace(state((since(EDGE),), (Window(EDGE, NOW),)), expired=(gone,))
    assert wanted(known).windows == (since(HORIZON),)
    assert wanted(replace(known, asked={}, claimed={})).windows == (
        Window(LOOKBACK_START, gone.start),
        since(EDGE),
    )
    asked = wanted(known, TODAY - 10 * DAY)
    assert (asked.windows, asked.closed) == (
        (since(TODAY - 10 * DAY),),
        (Window(gone.start, TODAY - 10 * DAY),),
    )


def test_artifacts_of_expired_days_are_told_apart_from_late_and_unknown_ones() -> None:
    known = state((since(TODAY - 10 * DAY),), (Window(TODAY - 10 * DAY, NOW),), TODAY)
    found = with_edge(known)
    days = [day_window((TODAY - days * DAY).date()) for days in (4, 9, 12)]
    assert [(found.is_late(day), found.is_expired(day)) for day in days] == [
        (True, False),
        (False, True),
        (False, False),
    ]
