"""Days and their states: each case is a state, rows per day, and the calendar that follows from them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.lake.coverage import (
    COLLECTED,
    EMPTY,
    EXPIRED,
    MISSING,
    PARTIAL,
    STATES,
    Day,
    cover,
    known_days,
    other_failures,
)
from tailpipe.lake.known import Artifacts
from tailpipe.lake.manifest import Failure, KnownArtifact
from tailpipe.lake.manifest_columns import as_columns
from tailpipe.lake.state import PartitionState
from tailpipe.records import RowCounts
from tailpipe.times import Window, day_window, merge, subtract

NOW = datetime(2024, 6, 10, 10, 5, tzinfo=UTC)
ALL_TIME = datetime(9999, 12, 31, tzinfo=UTC)


def at(day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(2024, 6, day, hour, minute, tzinfo=UTC)


def june(day: int) -> date:
    return date(2024, 6, day)


def window(start: datetime, end: datetime) -> Window:
    return Window(start, end)


def state_of(
    asked: dict[str, list[Window]], covered: dict[str, list[Window]] | None = None, **others: Any
) -> PartitionState:
    return PartitionState(
        asked={source: tuple(windows) for source, windows in asked.items()},
        claimed={source: tuple(windows) for source, windows in (covered or {}).items()},
        **others,
    )


def artifact(**facts: Any) -> Artifacts:
    span, kept = facts.pop("span", None), facts.pop("kept", (window(at(1), ALL_TIME),))
    return Artifacts([as_columns((KnownArtifact("file", "a.log", "a.log", "1", 10, span, kept, **facts),))])


def failure(label: str, message: str = "it broke") -> Failure:
    day = date.fromisoformat(label) if label.startswith("2024") else None
    return Failure(label, message, 1, NOW, "run", day)


def drawn(state: PartitionState, rows: dict[int, int], first: int = 1, last: int = 10) -> dict[int, Day]:
    by_day = {june(day): count for day, count in rows.items()}
    asked = Window(day_window(june(first)).start, day_window(june(last)).end)
    return {day.date.day: day for day in cover(state, by_day, asked, NOW)}


ALL = {"file": [window(at(1), ALL_TIME)]}


def test_a_whole_day_is_collected_and_without_rows_it_is_empty() -> None:
    found = drawn(state_of(ALL, {"file": [window(at(1), at(10, 9))]}), {1: 5, 3: 1})
    assert [day.state for day in found.values()] == ["collected", "empty", "collected", *["empty"] * 7]
    assert (found[1].rows, found[2].rows) == (5, 0)
    assert {day.reason for day in found.values()} == {None}


def test_today_is_whole_up_to_the_last_run() -> None:
    covered = {"file": [window(at(1), at(10, 9))]}
    assert drawn(state_of(ALL, covered), {10: 1})[10].state == "collected"


def test_today_without_a_run_is_missing() -> None:
    found = drawn(state_of(ALL, {"file": [window(at(1), at(9, 23))]}), {})
    assert (found[10].state, found[10].reason) == ("missing", "asked for, and not collected yet")
    assert (found[9].state, found[9].reason) == ("partial", "not covered: 23:00–24:00")


def test_days_end_today() -> None:
    assert list(drawn(state_of(ALL), {}, 9, 20)) == [9, 10]


def test_a_window_that_begins_within_a_day_leaves_it_partial() -> None:
    asked = {"file": [window(at(3, 10, 23), ALL_TIME)]}
    found = drawn(state_of(asked, {"file": [window(at(3, 10, 23), at(10, 9))]}), {3: 1})
    assert (found[3].state, found[3].reason) == ("partial", "not covered: 00:00–10:23")
    assert (found[2].state, found[2].reason) == ("missing", "never asked for")


def test_every_source_counts() -> None:
    asked = {**ALL, "archive": [window(at(1), ALL_TIME)]}
    covered = {"file": [window(at(1), at(8))], "archive": [window(at(2), at(5, 12))]}
    found = drawn(state_of(asked, covered), {1: 1, 5: 1, 6: 1, 9: 1})
    assert (found[1].state, found[1].reason) == ("partial", "not covered: archive")
    assert found[3].state == "empty"
    assert (found[5].state, found[5].reason) == ("partial", "not covered: archive 12:00–24:00")
    assert (found[6].state, found[6].reason) == ("partial", "not covered: archive")
    assert found[8].state == "missing"


def test_today_lags_where_one_source_was_collected_later_than_another() -> None:
    asked = {**ALL, "archive": [window(at(1), ALL_TIME)]}
    covered = {"file": [window(at(1), at(10, 9))], "archive": [window(at(1), at(10, 7))]}
    found = drawn(state_of(asked, covered), {10: 1})
    assert (found[10].state, found[10].reason) == ("partial", "not covered: archive 07:00–09:00")


def test_rows_of_a_run_that_never_ended_make_a_day_partial() -> None:
    found = drawn(state_of(ALL), {4: 7})
    assert (found[4].state, found[4].rows) == ("partial", 7)
    assert found[4].reason == "it has rows, but no run came to its end"
    assert found[3].state == "missing"


def test_what_failed_last_is_failed_whatever_is_there() -> None:
    covered = {"file": [window(at(1), at(4)), window(at(5), at(10, 9))]}
    state = state_of(
        ALL, covered, failures=(failure("2024-06-04", "disk full"), failure("/logs/x.gz", "no gzip"))
    )
    found = drawn(state, {4: 2})
    assert (found[4].state, found[4].rows, found[4].reason) == ("failed", 2, "disk full")
    assert [other.label for other in other_failures(state)] == ["/logs/x.gz"]


@pytest.mark.parametrize(
    ("facts", "day"),
    [
        ({"span": day_window(june(4)), "last": at(6)}, 4),
        ({"last": at(6, 12), "collected_at": at(8)}, 6),
        ({"collected_at": at(8)}, 8),
    ],
    ids=["its path", "its last row", "when it was read"],
)
def test_a_line_without_its_end_makes_its_day_partial(facts: dict[str, Any], day: int) -> None:
    covered = {"file": [window(at(1), at(10, 9))]}
    found = drawn(state_of(ALL, covered, artifacts=artifact(waiting_bytes=3, **facts)), {day: 1})
    partial = {number: each for number, each in found.items() if each.state == "partial"}
    assert list(partial) == [day]
    assert partial[day].is_stuck
    assert partial[day].reason == "waiting for the end of the last line: a.log"


def test_rejects_belong_to_the_day_of_the_path() -> None:
    state = state_of(
        ALL,
        {"file": [window(at(1), at(10, 9))]},
        artifacts=artifact(span=day_window(june(4)), rows=RowCounts(3, rejected=3)),
    )
    assert {day: found.rejected for day, found in drawn(state, {}).items() if found.rejected} == {4: 3}


def test_deleted_days_are_missing_again() -> None:
    windows = [window(at(1), at(4)), window(at(6), at(10, 9))]
    found = drawn(state_of({"file": windows}, {"file": windows}), {1: 1, 9: 1})
    assert [found[day].state for day in (3, 4, 5, 6)] == ["empty", "missing", "missing", "empty"]


def test_known_days_begin_with_whatever_is_known_first() -> None:
    end = day_window(NOW.date()).end
    assert known_days(PartitionState(), {}, NOW) is None
    assert known_days(PartitionState(), {june(20): 1}, NOW) is None
    assert known_days(PartitionState(), {june(4): 1}, NOW) == Window(at(4), end)
    assert known_days(state_of({"file": [window(at(3, 7), ALL_TIME)]}), {june(4): 1}, NOW) == Window(
        at(3), end
    )
    assert known_days(PartitionState(failures=(failure("2024-06-02"),)), {}, NOW) == Window(at(2), end)


moments = st.integers(0, 9 * 24).map(lambda hours: at(1) + timedelta(hours=hours))
windows = st.lists(
    st.tuples(moments, moments).map(lambda pair: Window(min(pair), max(pair))), max_size=4
).map(merge)


@given(windows, windows, st.sets(st.integers(1, 10)))
def test_a_day_is_whole_exactly_if_no_source_lacks_anything_of_it(
    first: tuple[Window, ...], second: tuple[Window, ...], with_rows: set[int]
) -> None:
    """Against the definition, for days before today."""
    state = PartitionState(asked={"a": first, "b": second}, claimed={"a": first, "b": second})
    for number, day in drawn(state, dict.fromkeys(with_rows, 1), 1, 9).items():
        whole = day_window(june(number))
        missing = [subtract(whole, covered) for covered in (first, second)]
        assert day.state in STATES
        if not any(missing):
            assert day.state == ("collected" if number in with_rows else "empty")
        elif all(parts == (whole,) for parts in missing) and number not in with_rows:
            assert day.state == "missing"
        else:
            assert day.state == "partial"


def test_days_that_expired_are_told_as_such_and_known_from_the_first_on() -> None:
    gone = window(at(2), at(5))
    state = state_of({"file": [window(at(5), ALL_TIME)]}, {"file": [window(at(5), NOW)]}, expired=(gone,))
    days = drawn(state, {6: 3})
    assert [day for day, each in days.items() if each.state == EXPIRED] == [2, 3, 4]
    assert (days[1].state, days[5].state, days[6].state) == (MISSING, EMPTY, COLLECTED)
    known = known_days(state, {june(6): 3}, NOW)
    assert known is not None
    assert known.start == at(2)


def test_a_day_of_which_a_part_was_asked_for_again_is_not_expired() -> None:
    state = state_of(
        {"file": [window(at(4, 12), ALL_TIME)]},
        {"file": [window(at(4, 12), NOW)]},
        expired=(window(at(2), at(4, 12)),),
    )
    assert drawn(state, {})[4].state == PARTIAL
    assert drawn(state, {3: 1})[3].state == PARTIAL
