"""Logs that nobody here wrote, collected on each engine and read by everyone who can read Delta.

The samples lie beside the repository and are no part of it.
"""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from installed import Home
from pipelines import Place

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
CLOUDTRAIL = SAMPLES / "aws_cloudtrail" / "invictus-ir-aws_dataset" / "CloudTrail"
APACHE = SAMPLES / "apache_access_log" / "elastic-examples"

needs_cloudtrail = pytest.mark.skipif(not CLOUDTRAIL.is_dir(), reason=f"no samples at {CLOUDTRAIL}")
needs_apache = pytest.mark.skipif(not APACHE.is_dir(), reason=f"no samples at {APACHE}")

APACHE_TABLE = r"""
format "regex" "apache" {
  layout = join(" ", [
    `^(?P<client>\S+) \S+ (?P<user>\S+) \[(?P<time>[^\]]+)\] "(?P<request>[^"]*)"`,
    `(?P<status>\d{3}) (?P<size>\S+) "(?P<referrer>[^"]*)" "(?P<agent>[^"]*)"$`,
  ])
}
table "apache_log" {
  format  = format.regex.apache
  null_if = "-"
  column "tp_timestamp" { transform = "strptime(time, '%d/%b/%Y:%H:%M:%S %z')" }
  column "status" { type = "int" }
  column "size" { type = "bigint" }
}
partition "apache_log" "elastic" {
  source "file" { paths = ["SAMPLES"] }
}
"""


@needs_cloudtrail
def test_cloudtrail_is_stored_whole_and_everyone_reads_the_same_rows(place: Place) -> None:
    place.configure(
        f'partition "aws_cloudtrail_log" "lab" {{ source "file" {{ paths = ["{CLOUDTRAIL}"] }} }}\n'
        f'workspace "default" {{ data_dir = "{place.data}" }}'
    )
    outcome = place.collect(start="2023-01-01")
    assert outcome.failed == ()
    assert (outcome.rows.read, outcome.rows.stored, outcome.rows.rejected) == (2900, 2900, 0)
    assert place.collect(start="2023-01-01").rows.read == 0

    location = place.data / "aws_cloudtrail_log"
    sql = """
        select count(*)::int as rows, count(distinct event_id)::int as ids, count(error_code)::int as errors,
               strftime(min(tp_timestamp), '%Y-%m-%d %H:%M') as first,
               strftime(max(tp_timestamp), '%Y-%m-%d %H:%M') as last
        from {0}
    """
    wanted = (2900, 2900, 300, "2023-07-10 11:42", "2023-07-10 12:37")
    client = delta_client()
    assert client.sql(sql.format(f"delta_scan('{location}')")).fetchone() == wanted
    assert tuple(tailpipe_query(place, sql.format("aws_cloudtrail_log"))[0].values()) == wanted

    frame = DeltaTable(str(location)).to_pandas()
    assert (len(frame), frame["event_id"].nunique(), frame["error_code"].notna().sum()) == wanted[:3]
    columns = "tp_id, event_id, event_name, user_identity.arn as arn"
    seen_by_duckdb = client.sql(f"select {columns} from delta_scan('{location}') order by 1").fetchall()
    asked = tailpipe_query(place, f"select {columns} from aws_cloudtrail_log order by 1")
    assert [tuple(row.values()) for row in asked] == seen_by_duckdb
    ordered = frame.sort_values("tp_id")
    arns = [identity and identity["arn"] for identity in ordered["user_identity"]]
    seen_by_pandas = zip(ordered["tp_id"], ordered["event_id"], ordered["event_name"], arns, strict=True)
    assert list(seen_by_pandas) == seen_by_duckdb


@needs_apache
def test_apache_lines_are_stored_or_quarantined(place: Place) -> None:
    place.configure(APACHE_TABLE.replace("SAMPLES", str(APACHE)))
    outcome = place.collect(start="2015-01-01")
    assert outcome.failed == ()
    assert (outcome.rows.read, outcome.rows.filtered) == (10_000, 0)
    rows = place.rows("apache_log")
    rejects = place.rejects("apache_log")
    assert len(rows) + len(rejects) == 10_000
    assert [reject["reason"] for reject in rejects] == ["line does not match the layout"]
    statuses = Counter(row["status"] for row in rows)
    assert {status: statuses[status] for status in (200, 304, 404, 301)} == {
        200: 9125,
        304: 445,
        404: 213,
        301: 164,
    }
    assert {row["tp_date"][:7] for row in rows} == {"2015-05"}


def delta_client() -> duckdb.DuckDBPyConnection:
    """DuckDB as anyone may use it, with the extension from the wheel: nothing is downloaded."""
    spec = find_spec("duckdb_extension_delta")
    assert spec
    assert spec.submodule_search_locations
    (folder,) = spec.submodule_search_locations
    path = Path(folder) / "extensions" / f"v{duckdb.__version__}" / "delta.duckdb_extension"
    client = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    client.execute(f"LOAD '{path}'")
    return client


def tailpipe_query(place: Place, sql: str) -> list[dict[str, Any]]:
    home = Home(place.folder, {"TAILPIPE_CONFIG_PATH": str(place.folder / "config")})
    return home.query(sql)
