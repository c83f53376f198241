"""The ways people write a point in time."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.errors import UsageError
from tailpipe.times import parse_lookback, parse_moment

NOW = datetime(2024, 3, 31, 12, 30, tzinfo=UTC)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-01", utc(2024, 1, 1)),
        (" 2024-01-01 ", utc(2024, 1, 1)),
        ("1/31/2024", utc(2024, 1, 31)),
        ("01/02/2024", utc(2024, 1, 2)),
        ("2024-01-01T10:00:00Z", utc(2024, 1, 1, 10)),
        ("2024-01-01T10:00:00z", utc(2024, 1, 1, 10)),
        ("2024-01-01t10:00", utc(2024, 1, 1, 10)),
        ("2024-01-01 10:00:00", utc(2024, 1, 1, 10)),
        ("2024-01-01 10:00:00 Z", utc(2024, 1, 1, 10)),
        ("2024-01-01T10:00:00+02:00", utc(2024, 1, 1, 8)),
        ("2024-01-01T10:00:00-0530", utc(2024, 1, 1, 15, 30)),
        ("2024-01-01T10:00:00+02", utc(2024, 1, 1, 8)),
        ("2024-01-01T10:00:00.5Z", utc(2024, 1, 1, 10, 0, 0, 500_000)),
        ("2024-01-01T10:00:00.123456789Z", utc(2024, 1, 1, 10, 0, 0, 123_456)),
        ("T-180d", utc(2023, 10, 3)),
        ("t-2W", utc(2024, 3, 17)),
        ("T-36H", NOW - timedelta(hours=36)),
        ("T-90M", NOW - timedelta(minutes=90)),
        ("T-1m", utc(2024, 2, 29)),
        ("T-13m", utc(2023, 2, 28)),
        ("T-3m", utc(2023, 12, 31)),
        ("T-1Y", utc(2023, 3, 31)),
        ("T-0d", utc(2024, 3, 31)),
        ("T-0H", NOW),
    ],
)
def test_moment(text: str, expected: datetime) -> None:
    assert parse_moment(text, now=NOW) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-31", utc(2024, 2, 1)),
        ("12/31/2023", utc(2024, 1, 1)),
        ("2024-01-31T00:00:00Z", utc(2024, 1, 31)),
        ("T-1d", utc(2024, 3, 31)),
        ("T-0d", utc(2024, 4, 1)),
        ("T-2W", utc(2024, 3, 18)),
        ("T-1m", utc(2024, 3, 1)),
        ("T-1Y", utc(2023, 4, 1)),
        ("T-24H", utc(2024, 3, 30, 12, 30)),
    ],
)
def test_what_names_a_day_includes_it_as_an_end(text: str, expected: datetime) -> None:
    assert parse_moment(text, now=NOW, is_end=True) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "T-30d means 30 days ago"),
        ("yesterday", "T-30d means 30 days ago"),
        ("2024-02-30", "T-30d means 30 days ago"),
        ("2024-01-01T25:00:00Z", "T-30d means 30 days ago"),
        ("20240101", "T-30d means 30 days ago"),
        ("31/1/2024", "month/day/year"),
        ("30d", "did you mean T-30d?"),
        ("-30d", "did you mean T-30d?"),
        ("T-5h", "did you mean T-5H?"),
        ("T-5D", "did you mean T-5d?"),
        ("T-1y", "did you mean T-1Y?"),
        ("T-d", "m is months, M is minutes"),
        ("T-", "m is months, M is minutes"),
        ("T-99999Y", "smaller number"),
        ("T-999999999W", "smaller number"),
    ],
)
def test_what_is_not_a_moment_is_named_with_a_hint(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_moment(text, now=NOW)
    assert hint in str(caught.value)


def test_the_text_and_the_accepted_forms_are_in_the_message() -> None:
    with pytest.raises(UsageError) as caught:
        parse_moment("yesterday", now=NOW)
    assert str(caught.value) == (
        '"yesterday" is not a point in time. '
        "Accepted: 2024-01-31, 2024-01-31T10:00:00Z, 1/31/2024, or T-30d.\n"
        "hint: times without a zone are UTC; T-30d means 30 days ago"
    )


@pytest.mark.parametrize("text", ["30", "d30", "30 d", "1.5d", "30x", "", "T-30d"])
def test_what_is_not_a_lookback(text: str) -> None:
    with pytest.raises(UsageError, match="is not a length of time"):
        parse_lookback(text)


def test_lookback_is_subtracted_from_a_moment() -> None:
    assert NOW - parse_lookback("36H") == NOW - timedelta(hours=36)
    assert NOW - parse_lookback("30d") == utc(2024, 3, 1)
    assert NOW - parse_lookback("1m") == utc(2024, 2, 29)


@given(
    st.datetimes(
        min_value=datetime(1000, 1, 1),  # noqa: DTZ001
        max_value=datetime(9998, 12, 31),  # noqa: DTZ001
        timezones=st.just(UTC),
    ),
    st.integers(-14 * 60, 14 * 60),
)
def test_an_iso_moment_reads_back_in_any_zone(moment: datetime, offset_minutes: int) -> None:
    local = moment.astimezone(timezone(timedelta(minutes=offset_minutes)))
    assert parse_moment(local.isoformat(), now=NOW) == moment


@given(st.datetimes(min_value=datetime(1900, 1, 1)), st.integers(0, 99), st.sampled_from("dWmY"))  # noqa: DTZ001
def test_days_and_longer_units_name_a_whole_day(moment: datetime, amount: int, unit: str) -> None:
    """Whatever the time of the day; --from and --to of one text are that day."""
    now = moment.replace(tzinfo=UTC)
    start, end = (parse_moment(f"T-{amount}{unit}", now=now, is_end=is_end) for is_end in (False, True))
    assert start.time() == time()
    assert end - start == timedelta(days=1)
    assert start == now.replace(hour=0, minute=0, second=0, microsecond=0) - parse_lookback(f"{amount}{unit}")


@given(st.datetimes(min_value=datetime(1900, 1, 1)), st.integers(0, 1200))  # noqa: DTZ001
def test_months_back_land_in_the_month_counted(moment: datetime, months: int) -> None:
    now = moment.replace(tzinfo=UTC)
    earlier = now - parse_lookback(f"{months}m")
    assert (now.year * 12 + now.month) - (earlier.year * 12 + earlier.month) == months
    assert earlier.day <= now.day
