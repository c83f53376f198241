from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.sources.layout import LayoutError, parse_layout
from tailpipe.times import Window

CLOUDTRAIL = (
    "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/CloudTrail/%{DATA:region}/"
    "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.json.gz"
)


def day(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def test_optional_groups_take_part_or_not() -> None:
    layout = parse_layout(CLOUDTRAIL, {})
    path = "AWSLogs/o-1/123456789012/CloudTrail/us-east-1/2024/03/05/x.json.gz"
    assert layout.match(path) == {
        "org_id": "o-1",
        "account_id": "123456789012",
        "region": "us-east-1",
        "year": "2024",
        "month": "03",
        "day": "05",
    }
    without = layout.match(path.replace("o-1/", ""))
    assert without is not None
    assert "org_id" not in without
    assert layout.match("AWSLogs/1/CloudTrail-Digest/us-east-1/2024/03/05/x.json.gz") is None


@pytest.mark.parametrize(
    ("layout", "path", "captures"),
    [
        (".json.gz", "a/b.json.gz", {}),
        ("%{DATA}.log", "x.log.gz", {}),
        ("%{DATA}.log$", "x.log.gz", None),
        ("^b/%{DATA:rest}$", "a/b/c", None),
        ("(?:%{WORD:env}/)?%{WORD:app}.log", "prod/web.log", {"env": "prod", "app": "web"}),
        ("%{WORD:a}-%{WORD:a}", "x-y", {"a": "y"}),
        ("%{WORD:a}(-%{WORD:a})?.log", "x.log", {"a": "x"}),
        ("%{OWN:name}", "name=abc", {"name": "name=abc", "v": "abc"}),
    ],
)
def test_paths_are_searched(layout: str, path: str, captures: dict[str, str] | None) -> None:
    assert parse_layout(layout, {"OWN": "name=%{WORD:v}"}).match(path) == captures


DATED = parse_layout(
    "%{YEAR:year}(-%{MONTHNUM:month})?(-%{MONTHDAY:day})?(T%{HOUR:hour})?(:%{MINUTE:minute})?(:%{SECOND:second})?",
    {},
)


@pytest.mark.parametrize(
    ("captures", "start", "end"),
    [
        ({"year": "2024"}, day(2024, 1, 1), day(2025, 1, 1)),
        ({"year": "24"}, day(2024, 1, 1), day(2025, 1, 1)),
        ({"year": "2024", "month": "02"}, day(2024, 2, 1), day(2024, 3, 1)),
        ({"year": "2024", "month": "12"}, day(2024, 12, 1), day(2025, 1, 1)),
        ({"year": "2024", "month": "02", "day": "29"}, day(2024, 2, 29), day(2024, 3, 1)),
        (
            {"year": "2024", "month": "2", "day": "3", "hour": "23"},
            day(2024, 2, 3) + timedelta(hours=23),
            day(2024, 2, 4),
        ),
        (
            {"year": "2024", "month": "2", "day": "3", "hour": "1", "minute": "59"},
            day(2024, 2, 3) + timedelta(hours=1, minutes=59),
            day(2024, 2, 3) + timedelta(hours=2),
        ),
        (
            {"year": "2024", "month": "2", "day": "3", "hour": "1", "minute": "2", "second": "03.5"},
            day(2024, 2, 3) + timedelta(hours=1, minutes=2, seconds=3),
            day(2024, 2, 3) + timedelta(hours=1, minutes=2, seconds=4),
        ),
        ({"year": "2024", "day": "29"}, day(2024, 1, 1), day(2025, 1, 1)),
    ],
)
def test_spans_are_as_wide_as_the_finest_field(
    captures: dict[str, str], start: datetime, end: datetime
) -> None:
    assert DATED.span(captures) == Window(start, end)


@pytest.mark.parametrize(
    "captures",
    [{}, {"month": "02"}, {"year": "2024", "month": "02", "day": "30"}, {"year": "9999"}, {"year": "x"}],
)
def test_what_is_no_date_has_no_span(captures: dict[str, str]) -> None:
    assert DATED.span(captures) is None


def test_dates_inside_custom_patterns_do_not_count() -> None:
    layout = parse_layout("%{PLACE}/x", {"PLACE": "%{YEAR:year}"})
    captures = layout.match("2024/x")
    assert captures == {"year": "2024"}
    assert layout.span(captures) is None


def test_folders_whose_date_is_complete_and_outside_are_not_entered() -> None:
    layout = parse_layout(CLOUDTRAIL, {})
    window = Window(day(2024, 3, 1), day(2024, 3, 8))
    base = "AWSLogs/123/CloudTrail/us-east-1"
    entered = ["AWSLogs", "other", base, f"{base}/2023", f"{base}/2024/03", f"{base}/2024/03/07"]
    assert [folder for folder in entered if not layout.may_contain(folder, window)] == []
    assert not layout.may_contain(f"{base}/2024/03/08", window)
    assert not layout.may_contain(f"{base}/2023/03/05", window)


@pytest.mark.parametrize(
    "layout",
    [
        "%{DATA}/%{DATA:name}-%{YEAR:year}.log",
        "%{YEAR:year}/x|y/%{DATA}",
        "%{YEAR:year}/%{DATA}-%{YEAR:year}.log",
    ],
)
def test_folders_are_entered_where_their_date_is_not_the_files(layout: str) -> None:
    assert parse_layout(layout, {}).may_contain("2019", Window(day(2024, 1, 1), day(2024, 1, 2)))


LAYOUTS = [
    CLOUDTRAIL,
    "%{YEAR:year}/%{MONTHNUM:month}/%{DATA}.log",
    "%{WORD:app}/%{YEAR:year}(/%{MONTHNUM:month})?/%{MONTHDAY:day}/%{DATA}",
    "logs/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{HOUR:hour}/%{DATA}.json",
    "year=%{YEAR:year}/month=%{MONTHNUM:month}/%{DATA}",
    "%{DATA:app}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}",
    ".log",
]
segments = st.sampled_from(
    [
        "AWSLogs",
        "123",
        "CloudTrail",
        "eu",
        "logs",
        "web",
        "2023",
        "2024",
        "01",
        "06",
        "31",
        "year=2024",
        "month=06",
    ]
)
files = st.sampled_from(["x.log", "x.json", "x.json.gz", "2024.log"])


@given(st.sampled_from(LAYOUTS), st.lists(segments, max_size=6), files, st.integers(0, 730))
def test_no_folder_is_passed_over_that_holds_a_wanted_file(
    text: str, folders: list[str], file: str, offset_days: int
) -> None:
    layout = parse_layout(text, {})
    start = day(2023, 1, 1) + timedelta(days=offset_days)
    window = Window(start, start + timedelta(days=40))
    captures = layout.match("/".join([*folders, file]))
    span = layout.span(captures) if captures is not None else None
    if span and span.overlaps(window):
        for depth in range(1, len(folders) + 1):
            assert layout.may_contain("/".join(folders[:depth]), window)


def test_an_unknown_pattern_points_at_the_nearest() -> None:
    with pytest.raises(LayoutError) as caught:
        parse_layout("%{MONTHNUMBER:month}", {})
    assert str(caught.value) == "grok pattern MONTHNUMBER is not known"
    assert caught.value.hint == "did you mean MONTHNUM?"
