"""Limits of rejects: how they are written, and when they are exceeded."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.config.reject_limit import RejectLimit, reject_limit


def limit_of(text: str) -> RejectLimit:
    limit = reject_limit(text)
    assert limit is not None
    return limit


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("0", RejectLimit(count=0), "0"),
        (" 0100 ", RejectLimit(count=100), "100"),
        ("5%", RejectLimit(share=Decimal("0.05")), "5%"),
        ("00.50%", RejectLimit(share=Decimal("0.005")), "0.5%"),
        ("10%", RejectLimit(share=Decimal("0.1")), "10%"),
        ("100.0%", RejectLimit(share=Decimal(1)), "100%"),
        ("0%", RejectLimit(share=Decimal(0)), "0%"),
    ],
)
def test_limits_as_people_write_them(text: str, limit: RejectLimit, shown: str) -> None:
    assert reject_limit(text) == limit
    assert str(limit) == shown
    assert reject_limit(shown) == limit


@pytest.mark.parametrize("text", ["", "-1", "1.5", "100.1%", "-5%", "%", "5 percent", "1e3", "٣", "5%%"])
def test_what_is_no_limit(text: str) -> None:
    assert reject_limit(text) is None


@pytest.mark.parametrize(
    ("text", "rejected", "rows", "is_exceeded"),
    [
        ("0", 0, 10, False),
        ("0", 1, 10, True),
        ("3", 3, 3, False),
        ("3", 4, 1000, True),
        ("0%", 0, 0, False),
        ("0.5%", 1, 200, False),
        ("0.5%", 1, 199, True),
        ("100%", 7, 7, False),
    ],
)
def test_as_many_as_the_limit_are_allowed(text: str, rejected: int, rows: int, is_exceeded: bool) -> None:
    assert limit_of(text).is_exceeded(rejected, rows) is is_exceeded


@given(st.integers(0, 100), st.integers(0, 10**12))
def test_shares_are_exact(percent: int, hundreds: int) -> None:
    """Binary fractions are not: 29 of 100 are more than 0.29 * 100."""
    limit = limit_of(f"{percent}%")
    assert not limit.is_exceeded(percent * hundreds, 100 * hundreds)
    assert limit.is_exceeded(percent * hundreds + 1, 100 * hundreds)
