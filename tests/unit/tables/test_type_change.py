"""Which types a column may take on while values of it are stored."""

from __future__ import annotations

import pytest

from tailpipe.tables.type_change import changes_values, merged_type
from tailpipe.tables.types import duckdb_type, parse_type

NUMBERS = ("tinyint", "smallint", "integer", "bigint", "hugeint")

WIDER = [
    *[(a, b, b.upper()) for k, a in enumerate(NUMBERS) for b in NUMBERS[k:]],
    ("utinyint", "smallint", "SMALLINT"),
    ("uinteger", "bigint", "BIGINT"),
    ("ubigint", "hugeint", "HUGEINT"),
    ("integer", "double", "DOUBLE"),
    ("smallint", "float", "FLOAT"),
    ("uinteger", "double", "DOUBLE"),
    ("integer", "decimal(12,2)", "DECIMAL(12,2)"),
    ("decimal(10,0)", "bigint", "BIGINT"),
    ("decimal(10,2)", "decimal(12,4)", "DECIMAL(12,4)"),
    ("float", "double", "DOUBLE"),
    ("date", "timestamp", "TIMESTAMP"),
    ("timestamp", "timestamptz", "TIMESTAMPTZ"),
    ("uuid", "varchar", "VARCHAR"),
    ("varchar", "json", "JSON"),
    ("cidr", "varchar", "VARCHAR"),
    ("integer[]", "bigint[]", "BIGINT[]"),
    ("map(varchar, integer)", "map(varchar, double)", "MAP(VARCHAR, DOUBLE)"),
    ("struct(a integer, B varchar)", "struct(b varchar, c date)", 'STRUCT(a INTEGER, "B" VARCHAR, c DATE)'),
    ("struct(a integer)[]", "struct(a double, b date)[]", "STRUCT(a DOUBLE, b DATE)[]"),
]
NOT_WIDER = [
    ("bigint", "integer"),
    ("bigint", "uinteger"),
    ("integer", "uinteger"),
    ("bigint", "double"),
    ("integer", "float"),
    ("integer", "decimal(10,2)"),
    ("decimal(10,2)", "decimal(10,4)"),
    ("decimal(10,2)", "double"),
    ("double", "float"),
    ("double", "integer"),
    ("bigint", "varchar"),
    ("varchar", "bigint"),
    ("varchar", "uuid"),
    ("json", "varchar"),
    ("boolean", "integer"),
    ("timestamptz", "timestamp"),
    ("timestamp", "date"),
    ("varchar", "struct(a varchar)"),
    ("struct(a varchar)", "json"),
    ("varchar", "varchar[]"),
    ("struct(a varchar)", "struct(a integer)"),
    ("varchar[]", "integer[]"),
]


@pytest.mark.parametrize(("stored", "declared", "merged"), WIDER)
def test_types_that_hold_the_values_of_both(stored: str, declared: str, merged: str) -> None:
    found = merged_type(parse_type(stored), parse_type(declared))
    assert found is not None
    assert duckdb_type(found) == merged
    assert merged_type(found, parse_type(declared)) == found


@pytest.mark.parametrize(("stored", "declared"), NOT_WIDER)
def test_types_that_do_not(stored: str, declared: str) -> None:
    assert merged_type(parse_type(stored), parse_type(declared)) is None


@pytest.mark.parametrize(
    ("stored", "merged", "changes"),
    [
        ("integer", "bigint", True),
        ("uinteger", "bigint", False),
        ("varchar", "json", False),
        ("struct(a integer)", "struct(a integer, b date)", False),
        ("struct(a integer)[]", "struct(a bigint, b date)[]", True),
        ("map(varchar, struct(a date))", "map(varchar, struct(a date, b date))", False),
    ],
)
def test_files_are_written_anew_only_where_values_change(stored: str, merged: str, changes: bool) -> None:
    assert changes_values(parse_type(stored), parse_type(merged)) is changes
