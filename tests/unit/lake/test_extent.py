"""Which times an artifact's rows have, and which of them are not kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.collect.tally import moment
from tailpipe.lake.extent import extent, lacking, lacks, may_hold
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.records import RowCounts
from tailpipe.times import Window, merge, subtract

START = datetime(2024, 6, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def record(**facts: Any) -> KnownArtifact:
    counts = {name: facts.pop(name) for name in RowCounts.__struct_fields__ if name in facts}
    span, kept = facts.pop("span", None), facts.pop("kept", ())
    return KnownArtifact("file", "a", "a", "1", 1, span, kept, rows=RowCounts(**counts), **facts)


def hours(first: int, last: int) -> Window:
    return Window(START + first * HOUR, START + last * HOUR)


numbers = st.integers(0, 40)
windows = st.lists(st.tuples(numbers, numbers).map(lambda pair: hours(min(pair), max(pair))), max_size=3)


@given(rows=st.lists(st.integers(0, 40 * 60), min_size=1), kept=windows, wanted=windows)
def test_rows_that_are_wanted_and_not_kept_are_lacking(
    rows: list[int], kept: list[Window], wanted: list[Window]
) -> None:
    times = [START + timedelta(minutes=minute) for minute in rows]
    known = record(kept=merge(kept), oldest=min(times), newest=max(times), stored=len(rows), read=len(rows))
    missing = [at for at in times if not any(window.contains(at) for window in kept)]
    assert all(any(part.contains(at) for part in lacking(known)) for at in missing)
    is_missed = any(window.contains(at) for window in wanted for at in missing)
    assert lacks(known, wanted) or not is_missed
    parts = [part for window in wanted for part in subtract(window, kept)]
    assert lacks(known, wanted) == may_hold(known, parts)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, False),
        ({"rejected": 3}, False),
        ({"filtered": 1}, True),
        ({"stored": 1}, True),
        ({"outside": 1}, True),
        ({"filtered": 1, "span": hours(48, 72)}, False),
        ({"filtered": 1, "span": hours(0, 24)}, True),
    ],
    ids=["no row", "rejects", "filtered", "untold", "untold outside", "of another day", "of this day"],
)
def test_rows_whose_times_nobody_noted_may_lie_where_their_path_allows(
    facts: dict[str, Any], expected: bool
) -> None:
    assert may_hold(record(**facts), [hours(3, 5)]) is expected
    assert not may_hold(record(**facts), [])


def test_times_at_the_ends_of_the_calendar_and_beyond_are_times() -> None:
    """A row outside the window may claim a year that no calendar has."""
    far = record(oldest=moment(-(2**62) * 2 + 1), newest=moment(2**62 * 2 - 1), outside=2)
    whole = extent(far)
    assert whole is not None
    assert (whole.start.year, whole.end.year) == (1, 9999)
    assert lacks(far, [hours(0, 1)])
