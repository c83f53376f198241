"""Collection gives what DuckDB gives, for every expression of expressions.sql, on both engines."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from pipelines import NOW, Place
from tailpipe.tables.expressions.check import check_expression
from tailpipe.tables.expressions.scope import Scope
from tailpipe.tables.types import duckdb_type

COLUMNS = {
    "number": "integer",
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
    """('Jul  1 ', 'x', '7', 'Jul  1 09:05:01 ', 'Jul  1 09:05:01 24', 1, 1, 1, 1.0, 1.00, true,
       '2024-07-01 09:05:01', '2024-07-01 09:05:01+00', '2024-07-01', '"text"', ['a'], [1],
       {'type':'a','accountId':'b','session':{'mfa':true,'level':1}}, MAP {'k':'v'})""",
    f"({', '.join(['NULL'] * (len(COLUMNS) - 1))})",
]
TEXTS = [
    line
    for line in Path(__file__).with_name("expressions.sql").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("-- ")
]


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    columns = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
    connection.execute(f"CREATE TABLE row_values ({columns})")
    for number, row in enumerate(ROWS):
        connection.execute(f"INSERT INTO row_values SELECT {number}, * FROM (VALUES {row})")
    return connection


def test_values_are_those_of_duckdb(place: Place, duck: duckdb.DuckDBPyConnection) -> None:
    types = [_value_type(text) for text in TEXTS]
    lines = [row[0] for row in duck.execute("SELECT to_json(row_values) FROM row_values").fetchall()]
    place.write("rows.jsonl", "".join(line + "\n" for line in lines))
    place.configure(_configuration(types))
    outcome = place.collect(start="2024-01-01")
    assert (outcome.rows.stored, outcome.rows.rejected) == (len(ROWS), 0), place.rejects("t")
    stored = DeltaTable(str(place.data / "t")).to_pyarrow_table().sort_by("tp_timestamp").to_pylist()
    differences = []
    for index, (text, type_) in enumerate(zip(TEXTS, types, strict=True)):
        expected = [_expected(duck, text, type_, number) for number in range(len(ROWS))]
        actual = [_comparable(row[f"c{index}"]) for row in stored]
        if actual != expected:
            differences.append(f"{text} ({type_})\n  duckdb {expected}\n  stored {actual}")
    assert not differences, "\n".join(differences)


def test_a_filter_keeps_what_duckdb_keeps(place: Place, duck: duckdb.DuckDBPyConnection) -> None:
    """Null and error keep nothing. One partition per condition, all in one run."""
    conditions = [text for text in TEXTS if _value_type(text) == "BOOLEAN"][::7]
    lines = [row[0] for row in duck.execute("SELECT to_json(row_values) FROM row_values").fetchall()]
    place.write("rows.jsonl", "".join(line + "\n" for line in lines))
    partitions = "".join(
        f'partition "t" "p{k}" {{\n  filter = {_hcl(text)}\n  source "file" {{ paths = ["LOGS"] }}\n}}\n'
        for k, text in enumerate(conditions)
    )
    place.configure(_table([]) + partitions)
    place.collect(start="2024-01-01")
    kept: dict[str, list[int]] = {f"p{k}": [] for k in range(len(conditions))}
    for row in DeltaTable(str(place.data / "t")).to_pyarrow_table().sort_by("tp_timestamp").to_pylist():
        kept[row["tp_partition"]].append(row["number"])
    expected = {
        f"p{k}": [n for n in range(len(ROWS)) if _expected(duck, text, "BOOLEAN", n) is True]
        for k, text in enumerate(conditions)
    }
    assert kept == expected


def _configuration(types: list[str]) -> str:
    return _table(types) + 'partition "t" "p" {\n  source "file" { paths = ["LOGS"] }\n}\n'


def _table(types: list[str]) -> str:
    declared = [f'  column "{name}" {{ type = {_hcl(type_)} }}\n' for name, type_ in COLUMNS.items()]
    computed = [
        f'  column "c{k}" {{\n    type = {_hcl(type_)}\n    transform = {_hcl(text)}\n  }}\n'
        for k, (text, type_) in enumerate(zip(TEXTS, types, strict=False))
    ]
    moment = "TIMESTAMP '2024-06-01' + to_minutes(number)"
    inside = "".join([*declared, *computed, f'  column "tp_timestamp" {{ transform = "{moment}" }}\n'])
    return f'table "t" {{\n  format = format.jsonl.default\n{inside}}}\n'


def _hcl(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("${", "$${").replace("%{", "%%{")
    return f'"{escaped}"'


def _value_type(text: str) -> str:
    scope = Scope({name: duckdb_type(type_) for name, type_ in COLUMNS.items()})
    type_ = check_expression(text, scope, what=text).type
    return "VARCHAR" if type_ in ("NULL", "UNKNOWN") else type_


def _expected(duck: duckdb.DuckDBPyConnection, text: str, type_: str, number: int) -> Any:
    try:
        query = f"SELECT CAST(({text}) AS {type_}) FROM row_values WHERE number = {number}"
        if type_ in ("INTERVAL", "TIME", "UUID"):
            query = query.replace("SELECT ", "SELECT CAST(", 1).replace(
                " FROM row_values", " AS VARCHAR) FROM row_values"
            )
        row = duck.execute(query).fetchone()
    except duckdb.Error:
        return None
    return _comparable(row[0] if row else None)


def _comparable(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        case date() | str() | bool() | None:
            return value
        case float():
            return "NaN" if math.isnan(value) else value
        case int() | Decimal():
            return Decimal(value)
        case dict():
            members = {key: _comparable(item) for key, item in value.items()}
            return members if any(item is not None for item in members.values()) else None
        case list() if value and isinstance(value[0], tuple):
            return {key: _comparable(item) for key, item in value}
        case list():
            return [_comparable(item) for item in value]
        case _:
            return value


def test_the_clock_stands_still(place: Place) -> None:
    place.write("a.jsonl", '{"at":"2024-06-10T00:00:00Z"}\n')
    place.configure(
        """
        table "t" {
          format = format.jsonl.default
          column "tp_timestamp" { source = "at" }
          column "run" {
            type      = "timestamp"
            transform = "now()"
          }
          column "day" { transform = "current_date" }
        }
        partition "t" "p" {
          source "file" { paths = ["LOGS"] }
        }
        """
    )
    place.collect(start="2024-01-01")
    (row,) = place.rows("t")
    assert (row["run"], row["day"]) == (NOW.replace(tzinfo=None).isoformat(), NOW.date().isoformat())
