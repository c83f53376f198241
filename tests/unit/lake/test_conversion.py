"""Stored values become values of another type, or are told."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tailpipe.lake.conversion import open_converter
from tailpipe.tables.types import arrow_type, parse_type


@pytest.mark.parametrize(
    ("old", "new", "values", "expected"),
    [
        ("integer", "double", [1, None, -3], [1.0, None, -3.0]),
        ("integer", "ubigint", [1, None], [Decimal(1), None]),
        ("integer", "decimal(12,2)", [1], [Decimal("1.00")]),
        ("bigint", "varchar", [2**62, None], [str(2**62), None]),
        ("varchar", "bigint", ["01", " 7 ", None], [1, 7, None]),
        (
            "varchar",
            "uuid",
            ["6ab3c2cc-0d2b-4b8a-9f0e-4dc2d2a7a1a3"],
            ["6ab3c2cc-0d2b-4b8a-9f0e-4dc2d2a7a1a3"],
        ),
        ("date", "timestamp", [date(2024, 6, 1)], [datetime(2024, 6, 1)]),  # noqa: DTZ001
        (
            "timestamp",
            "timestamptz",
            [datetime(2024, 6, 1, 10)],  # noqa: DTZ001
            [datetime(2024, 6, 1, 10, tzinfo=UTC)],
        ),
        ("json", "varchar", ['"text"', '{"a":1}', "3", "null", None], ["text", '{"a":1}', "3", "null", None]),
        ("varchar", "json", ["text", "1"], ["text", "1"]),
        ("integer", "json", [1], ["1"]),
        ("boolean", "varchar", [True], ["true"]),
        ("varchar", "struct(a integer, b varchar)", ['{"a": 1}', None], [{"a": 1, "b": None}, None]),
        ("struct(a integer)", "varchar", [{"a": 1}, None], ['{"a":1}', None]),
        ("struct(a integer)", "struct(a bigint, b date)", [{"a": 1}, None], [{"a": 1, "b": None}, None]),
        ("integer[]", "double[]", [[1, 2], [], None], [[1.0, 2.0], [], None]),
    ],
)
def test_values_that_can_be_converted(old: str, new: str, values: list[Any], expected: list[Any]) -> None:
    stored = pa.chunked_array([pa.array(values, arrow_type(old))])
    with open_converter() as converter:
        converted = converter.convert(stored, parse_type(old), parse_type(new))
    assert converted.values.to_pylist() == expected
    assert converted.values.type == arrow_type(new)
    assert converted.lost == 0


@pytest.mark.parametrize(
    ("old", "new", "values", "expected"),
    [
        ("varchar", "bigint", ["1", "abc"], [1, None]),
        ("double", "integer", [1.5, 2.0], [None, 2]),
        ("bigint", "double", [2**53 + 1, 5], [None, 5.0]),
        ("bigint", "integer", [2**40, 5], [None, 5]),
        ("bigint", "uinteger", [-1, 5], [None, 5]),
        ("timestamp", "date", [datetime(2024, 6, 1, 10), datetime(2024, 6, 1)], [None, date(2024, 6, 1)]),  # noqa: DTZ001
        ("varchar", "uuid", ["no", None], [None, None]),
        ("varchar", "struct(a integer)", ["no", '{"a": 1}'], [None, {"a": 1}]),
        (
            "struct(a integer, b date)",
            "struct(a integer)",
            [{"a": 1, "b": date(2024, 6, 1)}, {"a": 1}],
            [None, {"a": 1}],
        ),
    ],
)
def test_values_that_cannot_are_counted_and_null(
    old: str, new: str, values: list[Any], expected: list[Any]
) -> None:
    stored = pa.chunked_array([pa.array(values, arrow_type(old))])
    with open_converter() as converter:
        converted = converter.convert(stored, parse_type(old), parse_type(new))
    assert converted.values.to_pylist() == expected
    assert converted.lost == 1
    assert converted.example
