"""Golden pairs: a folder of tests/golden/formats holds a format, an input, and what every engine makes of it.

With TAILPIPE_WRITE_GOLDEN set, Apache Spark writes the expected files first: read the diff before keeping it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tailpipe.config.values import FormatConfig
from tailpipe.formats import delimited, grok, json_document, jsonl, nginx, regex
from tailpipe.formats.format import Format

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GOLDEN = Path(__file__).parent.parent / "golden" / "formats"
CASES = sorted(folder.name for folder in GOLDEN.iterdir())
MAKE = {
    "csv": delimited.make_csv,
    "delimited": delimited.make,
    "grok": grok.make,
    "json": json_document.make,
    "jsonl": jsonl.make,
    "nginx_access_log": nginx.make,
    "regex": regex.make,
}


def planned(case: Path, data: bytes) -> Format:
    definition = json.loads((case / "format.json").read_text())
    format = MAKE[definition["type"]](FormatConfig(definition["type"], case.name, definition["arguments"]))
    return format.with_fields(format.field_names(data)) if format.needs_fields else format


@pytest.mark.parametrize("case", CASES)
def test_records_become_the_same_fields_on_every_engine(
    spark: SparkSession, request: pytest.FixtureRequest, case: str
) -> None:
    (source,) = (GOLDEN / case).glob("input.*")
    data = source.read_bytes()
    format = planned(GOLDEN / case, data)
    found = parsed(spark, format, data)
    expected = GOLDEN / case / "expected.json"
    if os.environ.get("TAILPIPE_WRITE_GOLDEN") and "[spark" in request.node.name:
        expected.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    assert found == json.loads(expected.read_text())


def parsed(spark: SparkSession, format: Format, data: bytes) -> list[dict[str, Any]]:
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, StringType, StructField, StructType

    names = [*format.field_names(data), "absent"]
    shapes = {"list": ArrayType(StringType())}
    nested = StructType([StructField(name, shapes.get(name, StringType())) for name in names])
    cuts = list(format.cut(iter([data])))
    rows = [
        row
        for cut in cuts
        for row in zip(cut.position.to_pylist(), cut.raw.to_pylist(), cut.reason.to_pylist(), strict=True)
    ]
    records = spark.createDataFrame(rows, "position long, raw string, reason string")
    fields = format.fields(F.col("raw"), names, nested).alias("fields")
    answer = records.select("position", "reason", fields).toArrow().to_pylist()
    return [_judged(row, format) for row in sorted(answer, key=lambda row: row["position"])]


def _judged(row: dict[str, Any], format: Format) -> dict[str, Any]:
    if row["reason"] or row["fields"] is None:
        return {"position": row["position"], "refused": row["reason"] or format.mismatch_reason}
    return {"position": row["position"], "fields": row["fields"]}


def test_a_value_with_very_many_quotes_does_not_exhaust_the_stack(spark: SparkSession) -> None:
    value = '{"a":1}' * 20_000
    quoted = value.replace('"', '""')
    data = f'a,b\n1,"{quoted}"\n'.encode()
    format = delimited.make_csv(FormatConfig("csv", "x", {})).with_fields(("a", "b"))
    assert parsed(spark, format, data) == [{"position": 2, "fields": {"a": "1", "b": value, "absent": None}}]
