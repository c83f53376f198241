"""What a partition's filter, tp_index and its table's transforms may use, and what is said of what they may not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.collect.target import Target
from tailpipe.config import load
from tailpipe.config.values import PartitionConfig
from tailpipe.errors import ConfigError
from tailpipe.plugins.registry import load_registry
from tailpipe.tables.computing import Computing
from tailpipe.tables.expressions.partition_expressions import Expressions
from tailpipe.tables.recipe import declared_fields, make_recipe
from tailpipe.tables.table import Column, Table
from targets import make_targets


def targets(folder: Path, text: str) -> list[Target]:
    (folder / "main.tpc").write_text(text)
    registry = load_registry()
    config = load([folder], registry, environment={}, now=datetime.now(UTC))
    return list(make_targets(config, registry).values())


def computing(folder: Path, text: str) -> Computing:
    (target,) = targets(folder, text)
    feed = target.feeds[0]
    fields = declared_fields(feed.format)
    return make_recipe(target.config, target.table, feed.format, fields, captures=feed.captures).computing


def nginx(filter_sql: str) -> str:
    source = 'source "file" { paths = ["x"] }'
    return f'partition "nginx_access_log" "web" {{\n  filter = "{filter_sql}"\n  {source}\n}}'


@pytest.mark.parametrize(
    ("filter_sql", "names"),
    [
        ("status >= 500", {"status"}),
        ("tp_partition = 'web'", {"tp_partition"}),
        ("tp_table <> 'x'", {"tp_table"}),
        ("tp_date >= '2024-01-01'", {"tp_date"}),
        ("tp_source_location like '%x%' and tp_ingest_timestamp > tp_timestamp", {"tp_source_location"}),
        ("tp_id is not null", {"tp_id"}),
        ("time_local is not null", {"time_local"}),
    ],
)
def test_columns_that_a_filter_may_use(tmp_path: Path, filter_sql: str, names: set[str]) -> None:
    (calculation,) = computing(tmp_path, nginx(filter_sql)).rows
    assert names <= {entry.name for entry in calculation.inputs}


@pytest.mark.parametrize("name", ["tp_index", "no_such_column"])
def test_an_unknown_name_is_told_with_all_that_there_are(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f'main.tpc:2:12: .*there is no field or column "{name}"') as caught:
        targets(tmp_path, nginx(f"{name} is not null"))
    assert "http_user_agent" in str(caught.value)
    assert "tp_source_location" in str(caught.value)


def test_a_plugins_table_has_only_its_columns_where_fields_are_open(tmp_path: Path) -> None:
    source = 'source "file" { paths = ["x"] }'
    text = f'partition "aws_cloudtrail_log" "p" {{\n  filter = "eventName = \'x\'"\n  {source}\n}}'
    with pytest.raises(ConfigError, match='did you mean "event_name"') as caught:
        targets(tmp_path, text)
    assert "user_identity" in str(caught.value)


@pytest.mark.parametrize("filter_sql", ["status", "'x'", "http_user_agent"])
def test_a_filter_is_a_condition(tmp_path: Path, filter_sql: str) -> None:
    with pytest.raises(ConfigError, match=r"main.tpc:2:12: .*not a condition"):
        targets(tmp_path, nginx(filter_sql))


TABLE = """
table "t" {{
  format = format.{format}
  column "tp_timestamp" {{ source = "when" }}
{columns}
}}
format "regex" "r" {{ layout = "^(?P<when>[^ ]+) (?P<raw_value>.*)$" }}
partition "t" "p" {{
{partition}
  source "file" {{
    paths       = ["x"]
    file_layout = "%{{YEAR:year}}/%{{WORD:host}}.log"
  }}
}}
"""


def custom(columns: str = "", partition: str = "", format: str = "jsonl.default") -> str:
    return TABLE.format(columns=columns, partition=partition, format=format)


@pytest.mark.parametrize(
    ("type_", "transform", "is_good"),
    [
        ("int", "upper(x)", True),
        ("int[]", "[1, 2]", True),
        ("int", "null", True),
        ("int[]", "x", True),
        ("int", "[x]", False),
        ("int[]", "1", False),
        ("timestamp", "1", False),
    ],
)
def test_what_a_transform_gives_must_fit_its_column(
    tmp_path: Path, type_: str, transform: str, is_good: bool
) -> None:
    column = f'column "c" {{\n    type      = "{type_}"\n    transform = "{transform}"\n  }}'
    if is_good:
        assert targets(tmp_path, custom(column))
    else:
        with pytest.raises(ConfigError, match=r'main.tpc:7:\d+: transform of column "c": .* cannot become'):
            targets(tmp_path, custom(column))


@pytest.mark.parametrize("format", ["jsonl.default", "regex.r"])
def test_a_transform_sees_declared_types_fields_captures_and_the_place(tmp_path: Path, format: str) -> None:
    columns = """
      column "raw_value" { type = "integer" }
      column "a" {
        type      = "bigint"
        transform = "raw_value * 2"
      }
      column "b" { transform = "year || host || tp_source_location || tp_partition" }
    """
    (calculation,) = computing(tmp_path, custom(columns, format=format)).columns
    inputs = {entry.name: entry for entry in calculation.inputs}
    assert inputs["raw_value"].type == "INTEGER"
    assert inputs["year"].capture == "year"
    assert inputs["tp_source_location"].is_column


def test_a_transform_sees_the_field_of_a_column_that_is_computed(tmp_path: Path) -> None:
    columns = 'column "raw_value" { transform = "upper(raw_value)" }'
    (calculation,) = computing(tmp_path, custom(columns, format="regex.r")).columns
    assert [(entry.name, entry.is_field) for entry in calculation.inputs] == [("raw_value", True)]


@pytest.mark.parametrize(
    ("partition", "format", "is_good"),
    [
        ("filter = \"level = 'x'\"", "jsonl.default", True),
        ("filter = \"level = 'x'\"", "regex.r", False),
        ("filter = \"raw_value = 'x' and host = 'y'\"", "regex.r", True),
        ('tp_index = "level"', "jsonl.default", True),
        ('tp_index = "level"', "regex.r", False),
        ('tp_index = "raw_value"', "regex.r", True),
        ('tp_index = "host"', "regex.r", True),
        ('tp_index = "tp_id"', "regex.r", False),
        ('tp_index = "current_date"', "regex.r", False),
    ],
)
def test_a_filter_and_tp_index_see_fields_without_a_column_block(
    tmp_path: Path, partition: str, format: str, is_good: bool
) -> None:
    text = custom(partition=partition, format=format)
    if is_good:
        assert targets(tmp_path, text)
    else:
        with pytest.raises(ConfigError, match=r"raw_value.*from the path: host, year"):
            targets(tmp_path, text)


def test_every_problem_of_every_expression_is_told_at_once(tmp_path: Path) -> None:
    columns = """
      column "a" { transform = "lowerr(raw_value)" }
      column "b" { transform = "strptime(raw_value, '%Q')" }
      column "c" { transform = "raw_value +" }
    """
    partition = 'filter = "nothing = 1"\n  tp_index = "nobody"'
    with pytest.raises(ConfigError) as caught:
        targets(tmp_path, custom(columns, partition, "regex.r"))
    told = str(caught.value)
    for part in ("lowerr", "%Q", "ends too early", '"nothing"', 'tp_index "nobody"'):
        assert part in told


def test_tp_date_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is always the UTC day of tp_timestamp") as caught:
        targets(tmp_path, custom('column "tp_date" { source = "when" }'))
    assert 'column "tp_timestamp"' in str(caught.value)


def test_a_plugins_common_column_cannot_wait_for_a_transform() -> None:
    columns = (Column("day", "timestamp", transform="now()"), Column("host", transform="'x'"))
    standard = {"tp_timestamp": "`day`", "tp_domains": "array(host)"}
    table = Table("t", columns, standard)
    with pytest.raises(ConfigError, match='tp_domains is made of column "host", which has a transform'):
        Expressions(PartitionConfig("t", "p"), table, ()).computing()
    computed = Expressions(PartitionConfig("t", "p"), replace(table, standard={"tp_timestamp": "`day`"}), ())
    assert computed.computing().required == ("tp_timestamp",)
