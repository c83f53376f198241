"""Every supported expression gives the same values on DuckDB and on both engines."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tailpipe.tables.expressions import translate
from tailpipe.tables.expressions.operand import text_literal
from tailpipe.tables.types import spark_type

VIEW = "expression_rows"
COLUMNS = {
    "name": "varchar",
    "pattern": "varchar",
    "digits": "varchar",
    "stamp": "varchar",
    "request": "varchar",
    "small": "integer",
    "big": "bigint",
    "port": "uinteger",
    "ratio": "double",
    "price": "decimal(10,2)",
    "ok": "boolean",
    "seen": "timestamp",
    "zoned": "timestamptz",
    "day": "date",
    "doc": "json",
    "tags": "varchar[]",
    "codes": "integer[]",
    "who": 'struct(type varchar, "accountId" varchar, session struct(mfa boolean, level integer))',
    "labels": "map(varchar, varchar)",
}

ROWS = [
    """('Alice_Smith', 'A%', '404', '2026-10-12T03:04:05Z', 'GET /a/b.html?x=1&y=2 HTTP/1.1', 5, 7000000000,
       443, 1.5, 12.34, true, '2026-10-12 03:04:05.678901', '2026-10-12 03:04:05.678901+00', '2026-10-12',
       '{"a":{"b":[1,2,"x"],"c d":"y"},"n":null,"t":true,"k.l":"dot","num":42}', ['x','y','x'], [3,1,2],
       {'type':'IAMUser','accountId':'123','session':{'mfa':true,'level':3}}, MAP {'env':'prod'})""",
    """('bob\\it''s 50% ${HOME}', '%\\%', '1.5', '12/Oct/2026:13:55:36 +0200', '', 0, -7, 0,
       -2.5, -0.05, false, '1969-12-31 23:59:59.5', '1969-12-31 23:59:59.5+00', '2024-02-29',
       '[{"a":1},{"a":2}]', [], [], {'type':NULL,'accountId':'9','session':NULL}, MAP {})""",
    """('Ünïcode Strase', '_n%', '-17', '2026-02-30', 'POST /é?q=ü', -2147483648,
       -9223372036854775808, 4294967295, 0.0, 0.00, NULL, '2024-12-30 00:00:00', '2024-12-30 00:00:00+00',
       '2024-12-30', '{"a":"text","n":1}', [NULL,'z'], [NULL,7], NULL, NULL)""",
    """('', '', ' 42 ', '', E'line\\nbreak\\ttab', 2147483647, 9223372036854775807, 1,
       2.5, 99999999.99, true, '2026-01-31 23:59:59.999999', '2026-01-31 23:59:59.999999+00', '2026-01-31',
       '{}', ['a,b'], [0], {'type':'Root','accountId':'','session':{'mfa':false,'level':NULL}},
       MAP {'a':NULL})""",
    f"({', '.join(['NULL'] * len(COLUMNS))})",
]


def _groups() -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    lines = Path(__file__).with_name("expressions.sql").read_text(encoding="utf-8").splitlines()
    name = ""
    for line in lines:
        if line.startswith("-- "):
            name = line.removeprefix("-- ")
        elif line:
            groups.setdefault(name, []).append(line)
    return groups


GROUPS = _groups()


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    columns = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
    connection.execute(f"CREATE TABLE row_values (number INTEGER, {columns})")
    for number, row in enumerate(ROWS):
        connection.execute(f"INSERT INTO row_values SELECT {number}, * FROM (VALUES {row})")
    return connection


@pytest.fixture(scope="module")
def rows(spark: Any, duck: duckdb.DuckDBPyConnection) -> Any:
    """The same rows in the engine, handed over as text."""
    selects = [_row_sql(duck, number) for number in range(len(ROWS))]
    spark.sql(f"CREATE OR REPLACE TEMP VIEW {VIEW} AS {' UNION ALL '.join(selects)}")
    return spark


def _row_sql(duck: duckdb.DuckDBPyConnection, number: int) -> str:
    fields = [f"{number} AS number"]
    for name, type_ in COLUMNS.items():
        query = f"SELECT {name}::VARCHAR, to_json({name})::VARCHAR FROM row_values WHERE number = {number}"
        text, document = duck.execute(query).fetchone() or (None, None)
        fields.append(f"{_value_sql(text, document, spark_type(type_))} AS `{name}`")
    return f"SELECT {', '.join(fields)}"


def _value_sql(text: str | None, document: str | None, spark_name: str) -> str:
    if text is None or document is None:
        return f"CAST(NULL AS {spark_name})"
    if spark_name.startswith(("struct", "array", "map")):
        return f"from_json({text_literal(document)}, '{spark_name}')"
    return f"CAST({text_literal(text)} AS {spark_name})"


@pytest.mark.parametrize("group", GROUPS)
def test_values_are_those_of_duckdb(rows: Any, duck: duckdb.DuckDBPyConnection, group: str) -> None:
    texts = GROUPS[group]
    expressions = [translate(text, COLUMNS, what=text).sql for text in texts]
    listing = ", ".join(f"{sql} AS c{index}" for index, sql in enumerate(expressions))
    found = rows.sql(f"SELECT {listing} FROM {VIEW} ORDER BY number").collect()
    differences = []
    for index, text in enumerate(texts):
        expected = [_expected(duck, text, number) for number in range(len(ROWS))]
        actual = [_comparable(row[index]) for row in found]
        if actual != expected:
            differences.append(f"{text}\n  duckdb {expected}\n  engine {actual}\n  {expressions[index]}")
    assert not differences, "\n".join(differences)


def _expected(duck: duckdb.DuckDBPyConnection, text: str, number: int) -> Any:
    try:
        row = duck.execute(f"SELECT ({text}) FROM row_values WHERE number = {number}").fetchone()
    except duckdb.Error:
        return None
    value = _comparable(row[0] if row else None)
    return sorted(value) if value and text.startswith("list_distinct") else value


def _comparable(value: Any) -> Any:
    match value:
        case datetime():
            return value.replace(tzinfo=None)
        case float():
            return "NaN" if math.isnan(value) else round(value, 9)
        case Decimal():
            return round(float(value), 9)
        case list():
            return [_comparable(item) for item in value]
        case _:
            return value
