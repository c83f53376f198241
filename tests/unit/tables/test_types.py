"""Type texts: what is understood, what it becomes elsewhere, and what is said of the rest."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from tailpipe.errors import ConfigError, Position
from tailpipe.tables.types import arrow_type, duckdb_type, parse_type, spark_type

SPELLINGS = [
    ("varchar", "VARCHAR", "string", pa.string()),
    ("Text", "VARCHAR", "string", pa.string()),
    ("varchar(20)", "VARCHAR", "string", pa.string()),
    ("int", "INTEGER", "int", pa.int32()),
    ("BIGINT", "BIGINT", "bigint", pa.int64()),
    ("smallint", "SMALLINT", "smallint", pa.int16()),
    ("tinyint", "TINYINT", "tinyint", pa.int8()),
    ("utinyint", "UTINYINT", "smallint", pa.int16()),
    ("usmallint", "USMALLINT", "int", pa.int32()),
    ("uinteger", "UINTEGER", "bigint", pa.int64()),
    ("ubigint", "UBIGINT", "decimal(20,0)", pa.decimal128(20, 0)),
    ("hugeint", "HUGEINT", "decimal(38,0)", pa.decimal128(38, 0)),
    ("float", "FLOAT", "float", pa.float32()),
    ("double", "DOUBLE", "double", pa.float64()),
    ("decimal", "DECIMAL(18,3)", "decimal(18,3)", pa.decimal128(18, 3)),
    ("numeric(10)", "DECIMAL(10,0)", "decimal(10,0)", pa.decimal128(10, 0)),
    ("decimal( 10 , 2 )", "DECIMAL(10,2)", "decimal(10,2)", pa.decimal128(10, 2)),
    ("boolean", "BOOLEAN", "boolean", pa.bool_()),
    ("datetime", "TIMESTAMP", "timestamp", pa.timestamp("us")),
    ("timestamp_ms", "TIMESTAMP", "timestamp", pa.timestamp("us")),
    ("timestamp with time zone", "TIMESTAMPTZ", "timestamp", pa.timestamp("us", tz="UTC")),
    ("date", "DATE", "date", pa.date32()),
    ("time", "TIME", "string", pa.string()),
    ("json", "JSON", "string", pa.string()),
    ("inet", "INET", "string", pa.string()),
    ("cidr", "VARCHAR", "string", pa.string()),
    ("uuid", "UUID", "string", pa.string()),
    ("blob", "BLOB", "binary", pa.binary()),
    ("interval", "INTERVAL", "string", pa.string()),
    ("json[]", "JSON[]", "array<string>", pa.list_(pa.string())),
    ("int[][]", "INTEGER[][]", "array<array<int>>", pa.list_(pa.list_(pa.int32()))),
    ("map(varchar, int)", "MAP(VARCHAR, INTEGER)", "map<string,int>", pa.map_(pa.string(), pa.int32())),
    (
        'struct(a varchar, "clientIp" struct(c bigint)[], "odd name" date)',
        'STRUCT(a VARCHAR, "clientIp" STRUCT(c BIGINT)[], "odd name" DATE)',
        "struct<a:string,clientIp:array<struct<c:bigint>>,`odd name`:date>",
        pa.struct(
            [
                ("a", pa.string()),
                ("clientIp", pa.list_(pa.struct([("c", pa.int64())]))),
                ("odd name", pa.date32()),
            ]
        ),
    ),
]


@pytest.mark.parametrize(("text", "duck", "spark", "arrow"), SPELLINGS)
def test_spellings(text: str, duck: str, spark: str, arrow: pa.DataType) -> None:
    assert (duckdb_type(text), spark_type(text), arrow_type(text)) == (duck, spark, arrow)


@pytest.mark.parametrize("duck", [duck for _, duck, _, _ in SPELLINGS if duck != "INET"])
def test_canonical_spelling_is_duckdbs_and_reads_back(duck: str) -> None:
    duckdb.sql(f"SELECT CAST(NULL AS {duck})")
    assert duckdb_type(parse_type(duck)) == duck


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("varchr", 'type "varchr": "varchr" is not a known type.\nhint: did you mean "varchar"?'),
        ("timestmp", 'hint: did you mean "timestamp"?'),
        ("zzzz", "hint: use DuckDB's names"),
        ("", "a type name is missing at the end"),
        ("struct(a)", 'a type name is expected where ")" stands'),
        ("struct(a int", '")" is expected at the end'),
        ("struct(a int, A int)", 'member "a" is there twice'),
        ("map(int, int)", "the keys of a map are text"),
        ("map(int)", '"," is expected where ")" stands'),
        ("int[3]", '"]" is expected where "3" stands'),
        ("int int", '"int" is not expected there'),
        ("date(3)", "date takes no numbers in parentheses"),
        ("decimal(39,0)", "precision is 1 to 38"),
        ("decimal(3,4)", "scale at most the precision"),
        ("decimal(1,2,3)", "takes a precision and a scale"),
    ],
)
def test_errors_name_the_type_and_the_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_type(text, Position("x.tpc", 4, 12))
    assert message in str(caught.value)
    assert str(caught.value).startswith(f'x.tpc:4:12: type "{text}": ')
