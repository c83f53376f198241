"""Text read as a typed value: the same on both engines, null exactly where it is no such value."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tailpipe.tables.fields import record_shape
from tailpipe.tables.reading import scalar_from_text
from tailpipe.tables.sql import text_literal
from tailpipe.tables.table import Column
from tailpipe.tables.values import column_value

MOMENT = datetime.fromisoformat("2026-10-12T03:04:05")
READINGS: dict[str, dict[str, Any]] = {
    "varchar": {"": "", " a ": " a "},
    "json": {'{"a": 1}': '{"a": 1}'},
    "integer": {
        "42": 42,
        " -7 ": -7,
        "+5": 5,
        "1.5": None,
        "1e3": None,
        "2147483648": None,
        "": None,
        "٣": None,
    },
    "tinyint": {"127": 127, "128": None},
    "utinyint": {"255": 255, "256": None, "-1": None},
    "ubigint": {"18446744073709551615": Decimal(2**64 - 1), "18446744073709551616": None, "1.5": None},
    "hugeint": {"-170141183460469231731687303715884105": Decimal("-170141183460469231731687303715884105")},
    "double": {
        "1.5": 1.5,
        "1e3": 1000.0,
        ".5": 0.5,
        "-inf": float("-inf"),
        "1.5f": None,
        "0x1": None,
        "": None,
    },
    "decimal(6,2)": {"1.255": Decimal("1.26"), "1e2": Decimal("100.00"), "12345.6": None, "abc": None},
    "boolean": {
        "true": True,
        "T": True,
        "YES": True,
        "1": True,
        "f": False,
        "No": False,
        "0": False,
        "on": None,
    },
    "date": {
        "2026-10-12": date(2026, 10, 12),
        "2026-10-12T23:00:00Z": date(2026, 10, 12),
        "2026-02-30": None,
    },
    "timestamp": {
        "2026-10-12T03:04:05Z": MOMENT,
        "2026-10-12 03:04:05": MOMENT,
        "2026-10-12T05:04:05+02:00": MOMENT,
        "2026-10-12T05:04:05+0200": MOMENT,
        "2026-10-12 03:04:05.5 UTC": MOMENT.replace(microsecond=500_000),
        "2026-10-12 03:04:05,678": MOMENT.replace(microsecond=678_000),
        "2026-10-12T03:04:05.123456789Z": MOMENT.replace(microsecond=123_456),
        "2026-10-12": datetime.fromisoformat("2026-10-12"),
        "1791774245": MOMENT,
        "1791774245.25": MOMENT.replace(microsecond=250_000),
        "1791774245123": MOMENT.replace(microsecond=123_000),
        "1791774245123456": MOMENT.replace(microsecond=123_456),
        "1791774245123456789": MOMENT.replace(microsecond=123_456),
        "179177424": None,
        "20261012": None,
        "2026-02-30T00:00:00Z": None,
        "2026-10-12T24:00:00Z": None,
        "T10:00": None,
        "2026": None,
        "12/Oct/2026:03:04:05 +0000": None,
        "": None,
    },
    "uuid": {
        "A987FBC9-4BED-3078-CF07-9141BA07C9F3": "a987fbc9-4bed-3078-cf07-9141ba07c9f3",
        "A987FBC9": None,
    },
    "inet": {"10.0.0.1": "10.0.0.1", "10.0.0.0/8": "10.0.0.0/8", "::1": "::1", "fe80::1/64": "fe80::1/64"},
    "cidr": {"10.0.0.256": None, "10.0.0.1/33": None, "host": None, "::ffff:10.0.0.1": "::ffff:10.0.0.1"},
    "INET": {
        "12:34:56": None,
        "1::2::3": None,
        ":::": None,
        "1:2:3:4:5:6:7:8": "1:2:3:4:5:6:7:8",
        "::": "::",
    },
    "time": {"03:04:05": "03:04:05", "23:59": "23:59", "24:00": None},
    "interval": {"1 day": "1 day", "2 hours 30 minutes": "2 hours 30 minutes", "soon": None, "+3 days": None},
    "blob": {"a": bytearray(b"a")},
}


def test_values(spark: Any) -> None:
    cases = [(type_, text, value) for type_, values in READINGS.items() for text, value in values.items()]
    columns = [
        f"{scalar_from_text(f't{index}', type_)} AS v{index}" for index, (type_, _, _) in enumerate(cases)
    ]
    texts = [f"{text_literal(text)} AS t{index}" for index, (_, text, _) in enumerate(cases)]
    row = spark.sql(f"SELECT {', '.join(columns)} FROM (SELECT {', '.join(texts)})").collect()[0]
    wrong = [(*case, found) for case, found in zip(cases, row, strict=True) if found != case[2]]
    assert not wrong


def test_missing_stays_missing(spark: Any) -> None:
    columns = [f"{scalar_from_text('CAST(NULL AS string)', type_)} IS NULL" for type_ in READINGS]
    assert all(spark.sql(f"SELECT {', '.join(columns)}").collect()[0])


def test_anchors_in_expressions_of_columns_are_anchors(spark: Any) -> None:
    column = Column("is_word", "boolean", source="a", expression="$ rlike '^[a-z]+$'")
    sql = column_value(column, record_shape((column,))).sql
    texts = ["word", "two words", "word\n1"]
    values = ", ".join(
        f"({number}, named_struct('a', {text_literal(text)}))" for number, text in enumerate(texts)
    )
    rows = spark.sql(f"SELECT n, {sql} AS is_word FROM VALUES {values} AS t(n, f)").toArrow().to_pylist()
    assert [row["is_word"] for row in sorted(rows, key=lambda row: row["n"])] == [True, False, False]
