from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from config_catalog import FakeCatalog

from tailpipe.config import load
from tailpipe.config.values import Config

LoadText = Callable[..., Config]
NOW = datetime(2024, 3, 5, tzinfo=UTC)


def in_directories(*directories: Path) -> Config:
    return load(directories, FakeCatalog(), environment={}, now=NOW)


def write(directory: Path, **files: str) -> Path:
    directory.mkdir(exist_ok=True)
    for name, text in files.items():
        (directory / f"{name}.tpc").write_text(text)
    return directory


def test_partition_with_everything(load_text: LoadText) -> None:
    config = load_text("""
connection "aws" "prod" {
  profile = "p"
}
format "grok" "app" {
  layout = `%{TIMESTAMP_ISO8601:ts} %{GREEDYDATA:message}`
}
partition "aws_cloudtrail_log" "prod" {
  description = "all of it"
  filter      = "event_name != 'Decrypt'"
  tp_index    = "account_id"
  lookback    = "90d"
  lateness    = "3d"
  max_rejects = 100
  source "aws_s3_bucket" {
    connection = connection.aws.prod
    bucket     = "logs"
  }
  source "file" {
    connection = "aws.default"
    format     = format.grok.app
    paths      = ["a"]
    file_layout = null
  }
  source "file" {
    paths  = ["b"]
    format = format.nginx_access_log.combined
  }
}
""")
    partition = config.partitions["aws_cloudtrail_log", "prod"]
    assert partition.full_name == "aws_cloudtrail_log.prod"
    assert (partition.filter, partition.tp_index, str(partition.lookback)) == (
        "event_name != 'Decrypt'",
        "account_id",
        "90d",
    )
    assert (str(partition.lateness), str(partition.max_rejects)) == ("3d", "100")
    assert partition.description == "all of it"
    assert partition.argument_positions["filter"].line == 10
    bucket, first, second = partition.sources
    assert [source.name for source in partition.sources] == ["aws_s3_bucket", "file", "file_2"]
    assert bucket.connection is config.connections["aws", "prod"]
    assert bucket.arguments == {"bucket": "logs"}
    assert first.connection is not None
    assert (first.connection.name, dict(first.connection.arguments)) == ("default", {})
    assert first.format is config.formats["grok", "app"]
    assert first.format.arguments["layout"] == "%{TIMESTAMP_ISO8601:ts} %{GREEDYDATA:message}"
    assert first.arguments == {"paths": ["a"]}
    assert second.format is not None
    assert second.format.arguments == {"layout": "$remote_addr"}


def test_table_with_columns(load_text: LoadText) -> None:
    config = load_text("""
table "app" {
  description = "our application"
  format      = format.jsonl.default
  map_fields  = ["a*"]
  null_if     = ["-", ""]
  columns     = { level = "varchar", code = { type = "int", null_if = "0" } }
  column "tp_timestamp" {
    source   = "ts"
    type     = "timestamp"
    required = true
  }
  column "user" {
    transform = "lower(user)"
    null_if   = "none"
  }
}
""")
    table = config.tables["app"]
    assert [column.name for column in table.columns] == ["level", "code", "tp_timestamp", "user"]
    assert table.format is not None
    assert (table.format.type, table.map_fields, table.null_if) == ("jsonl", ("a*",), ("-", ""))
    level, code, timestamp, user = table.columns
    assert (level.type, code.type, code.null_if) == ("varchar", "int", ("0",))
    assert (timestamp.source, timestamp.required) == ("ts", True)
    assert (user.transform, user.null_if, user.argument_positions["transform"].line) == (
        "lower(user)",
        ("none",),
        14,
    )


def test_workspace_and_plugin(load_text: LoadText) -> None:
    config = load_text("""
workspace "big" {
  data_dir      = "/data"
  remote        = "sc://spark:15002"
  memory_max_mb = 4 * 1024
  cores         = 2
  spark_config  = { "spark.sql.ansi.enabled" = true, "spark.x" = 3 }
  lateness      = "12H"
  max_rejects   = "0.50%"
  update_check  = false
}
plugin "aws" {
  version  = "1.2"
  priority = 3
}
""")
    workspace = config.workspaces["big"]
    assert (workspace.memory_max_mb, workspace.cores, workspace.engine) == (4096, 2, None)
    assert (workspace.lookback, str(workspace.lateness), str(workspace.max_rejects)) == (None, "12H", "0.5%")
    assert workspace.spark_config == {"spark.sql.ansi.enabled": "true", "spark.x": "3"}
    assert [str(problem).partition(": ")[2] for problem in config.problems] == [
        'warning: argument "priority" of plugin "aws" has no effect\nhint: remove it',
    ]


SOURCE_FORMS = [
    'source "file" {\n paths = ["a"]\n }',
    'source {\n type = "file"\n paths = ["a"]\n }',
    "source = source.file.shared",
    "source = [source.file.shared]",
]


@pytest.mark.parametrize("written", SOURCE_FORMS)
def test_ways_to_write_a_source(load_text: LoadText, written: str) -> None:
    shared = 'source "file" "shared" {\n paths = ["a"]\n}\n'
    config = load_text(f'{shared}partition "nginx_access_log" "web" {{\n {written}\n}}\n')
    (source,) = config.partitions["nginx_access_log", "web"].sources
    assert (source.type, source.arguments) == ("file", {"paths": ["a"]})


PARTITION_FORMS = [
    'partition "nginx_access_log" "web" {',
    'collection "nginx_access_log" "web" {',
    'partition "web" {\n type = "nginx_access_log"',
    'partition "web" {\n table = table.nginx_access_log',
    'collection "web" {\n type = local.table',
]


@pytest.mark.parametrize("opening", PARTITION_FORMS)
def test_ways_to_write_a_partition(load_text: LoadText, opening: str) -> None:
    config = load_text(
        f'locals {{\n table = "nginx_access_log"\n}}\n{opening}\n source "file" {{\n paths = ["a"]\n }}\n}}\n'
    )
    assert list(config.partitions) == [("nginx_access_log", "web")]


def test_locals_in_any_order_and_references_through_them(load_text: LoadText) -> None:
    config = load_text("""
locals {
  formats = { web = format.csv.mine }
  paths   = [for name in local.names : "${local.root}/${name}"]
  names   = ["a", "b"]
}
locals {
  root = "/logs"
}
format "csv" "mine" {
  header = true
}
partition "nginx_access_log" "web" {
  source "file" {
    paths  = local.paths
    format = local.formats.web
  }
}
""")
    (source,) = config.partitions["nginx_access_log", "web"].sources
    assert source.arguments["paths"] == ["/logs/a", "/logs/b"]
    assert source.format is config.formats["csv", "mine"]


VARIABLES = [
    ("type = number\ndefault = 1", {}, 1),
    ("type = number\ndefault = 1", {"TP_VAR_v": "2"}, 2),
    ("type = number\ndefault = 1", {"TAILPIPE_VAR_v": "3"}, 3),
    ("type = number", {"TP_VAR_v": "5", "TAILPIPE_VAR_v": "3"}, 5),
    ("type = string", {"TP_VAR_v": "007"}, "007"),
    ("", {"TP_VAR_v": "true"}, "true"),
    ('type = "bool"', {"TP_VAR_v": "true"}, True),
    ("type = list(string)", {"TP_VAR_v": '["a", "b"]'}, ["a", "b"]),
    ("type = map(number)", {"TP_VAR_v": "{a = 1}"}, {"a": 1}),
    ("default = null", {}, None),
]


@pytest.mark.parametrize(("block", "environment", "expected"), VARIABLES)
def test_variable(load_text: LoadText, block: str, environment: dict[str, str], expected: Any) -> None:
    text = f'variable "v" {{\n{block}\n}}\nformat "jsonl" "f" {{\n extra = [var.v]\n}}\n'
    config = load_text(text, environment=environment)
    assert config.formats["jsonl", "f"].arguments["extra"] == [expected]


def test_later_directories_win(tmp_path: Path) -> None:
    first = write(
        tmp_path / "first",
        a='connection "aws" "x" {\n profile = "1"\n}\nlocals {\n p = "1"\n}\n',
        b='connection "aws" "y" {\n profile = local.p\n}\n',
    )
    second = write(
        tmp_path / "second", z='connection "aws" "x" {\n profile = "2"\n}\nlocals {\n p = "2"\n}\n'
    )
    config = in_directories(first, second)
    assert config.connections["aws", "x"].arguments == {"profile": "2"}
    assert config.connections["aws", "y"].arguments == {"profile": "2"}
    assert [Path(file).name for file in config.files] == ["a.tpc", "b.tpc", "z.tpc"]
    assert in_directories(second, first).connections["aws", "x"].arguments == {"profile": "1"}


def test_what_a_later_directory_replaces_is_not_checked(tmp_path: Path) -> None:
    first = write(tmp_path / "first", a='connection "aws" "x" {\n profle = "1"\n}\n')
    second = write(tmp_path / "second", a='connection "aws" "x" {\n}\n')
    assert in_directories(first, second).connections["aws", "x"].arguments == {}


def test_twice_in_one_directory_names_both_places(tmp_path: Path) -> None:
    both = write(tmp_path, a='\n connection "aws" "x" {}\n', b='connection "aws" "x" {}\n')
    config = in_directories(both)
    (problem,) = config.problems
    assert str(problem) == (
        f'{tmp_path}/b.tpc:1:1: connection "aws.x" is defined twice; first at {tmp_path}/a.tpc:2:2\n'
        "hint: remove or rename one of them"
    )
    assert ("aws", "x") not in config.connections


def test_one_label_and_two_label_forms_are_the_same_block(problems_of: Callable[..., list[str]]) -> None:
    source = 'source "file" {\n paths = ["a"]\n }'
    told = problems_of(
        f'partition "nginx_access_log" "web" {{\n {source}\n}}\n'
        f'collection "web" {{\n type = "nginx_access_log"\n {source}\n}}\n'
    )
    assert len(told) == 1
    assert told[0].startswith('6:1 partition "nginx_access_log.web" is defined twice; first at ')


def test_a_single_file_can_be_given(tmp_path: Path) -> None:
    write(tmp_path, a='workspace "a" {}\n', b='workspace "b" {}\n')
    assert list(in_directories(tmp_path / "b.tpc").workspaces) == ["b"]


def test_loading_needs_no_engine() -> None:
    code = (
        "import sys, tailpipe.config.resolve, tailpipe.config.read\n"
        "heavy = {'pyspark', 'pyarrow', 'duckdb', 'pandas', 'deltalake'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_is_cheap_to_import() -> None:
    code = "import sys, tailpipe.config; assert 'tree_sitter' not in sys.modules; tailpipe.config.load"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rows_expire_as_the_nearest_block_says(load_text: LoadText) -> None:
    config = load_text(
        """
table "app_log" {
  expire_after = "90d"
  column "tp_timestamp" {}
}
partition "app_log" "table_says" {
  source "file" {
    paths = ["a"]
  }
}
partition "app_log" "own" {
  expire_after = "2Y"
  source "file" {
    paths = ["a"]
  }
}
partition "nginx_access_log" "nobody" {
  source "file" {
    paths = ["a"]
  }
}
workspace "default" {
  expire_after = "24H"
}
workspace "other" {
  base = workspace.default
}
"""
    )
    found = {key[1]: partition.expire_after for key, partition in config.partitions.items()}
    assert {name: span and str(span) for name, span in found.items()} == {
        "table_says": "90d",
        "own": "2Y",
        "nobody": None,
    }
    assert [str(each.expire_after) for each in config.workspaces.values()] == ["24H", "24H"]
