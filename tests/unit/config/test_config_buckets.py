"""A workspace whose tables live in a bucket: where, and with which connection."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.config import load
from tailpipe.config.data_dir import bucket_uri, is_bucket
from tailpipe.config.values import Config
from tailpipe.plugins.registry import load_registry

REFUSED = {
    "s3://": "names no bucket (name a folder, or a bucket as s3://bucket/prefix)",
    "s3:///lake": "names no bucket (name a folder, or a bucket as s3://bucket/prefix)",
    "s3://ab": 'has a bucket that cannot be: "ab"',
    "s3://Bucket": 'has a bucket that cannot be: "Bucket"',
    "s3://10.0.0.1/x": 'has a bucket that cannot be: "10.0.0.1"',
    "s3://a..b/x": 'has a bucket that cannot be: "a..b"',
    "s3://-ab": 'has a bucket that cannot be: "-ab"',
    "s3://lake/100% ours": "has % in its prefix, which not every reader takes as it is (choose another prefix)",
    "s3://lake:80/x": 'has a bucket that cannot be: "lake:80"',
    "s3://key:hunter2@lake/x": 'has a bucket that cannot be: "…@lake/x" (keys do not belong here',
    "s3://key:hun/ter/2@lake/x": 'has a bucket that cannot be: "…@lake/x" (keys do not belong here',
    "s3a://key:hun/ter2@lake/x": 'is named as Hadoop does: "s3a://…@lake/x"',
    "s3://lake//x": "has an empty part",
    "s3://lake/a/../b": "has an empty part",
    "s3://lake/./b": "has an empty part",
    "s3://lake/a /b": "has space at an end of a part",
    "s3://lake/a*b": "has * in its prefix",
    "s3://lake/a?versionId=1": "has ? in its prefix",
    "s3://lake/a#b": "has # in its prefix",
    "s3://lake/a%20b": "has %20 in its prefix",
    "s3://lake/[a]": "has [ in its prefix",
    "s3://lake/a\\u0007b": "has \\u0007 in its prefix",
    "s3://lake/" + "x" * 301: "has a prefix of more than 300 bytes",
    "s3a://lake/x": 'is named as Hadoop does: "s3a://lake/x" (write s3://lake/x)',
    "gs://lake/x": 'is a place that tables cannot live in: "gs://lake/x"',
    "az://lake/x": 'is a place that tables cannot live in: "az://lake/x"',
    "abfss://c@account/x": 'is a place that tables cannot live in: "abfss://…@account/x"',
    "https://key:hunter2@host/x": 'is a place that tables cannot live in: "https://…@host/x"',
}


@pytest.mark.parametrize("place", REFUSED)
def test_a_place_that_is_refused(problems_of: Callable[..., list[str]], place: str) -> None:
    (told,) = problems_of(f'workspace "w" {{\n  data_dir = "{place}"\n}}\n')
    assert told.startswith(f'2:14 argument "data_dir" of workspace "w" {REFUSED[place]}')
    assert "hunter2" not in told


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("s3://lake", "s3://lake"),
        ("S3://lake/", "s3://lake"),
        ("s3://my.logs-1/a/b c/ü=1/", "s3://my.logs-1/a/b c/ü=1"),
    ],
)
def test_a_bucket(problems_of: Callable[..., list[str]], text: str, uri: str) -> None:
    assert problems_of(f'workspace "w" {{\n  data_dir = "{text}"\n}}\n') == []
    assert is_bucket(text)
    assert bucket_uri(text) == uri


@pytest.fixture
def config_of(tmp_path: Path) -> Callable[[str], Config]:
    """With what is installed."""

    def read(text: str) -> Config:
        (tmp_path / "main.tpc").write_text(text)
        return load([tmp_path], load_registry(), environment={}, now=datetime(2024, 1, 1, tzinfo=UTC))

    return read


CONNECTIONS = """
connection "aws" "prod" {
  access_key = "AKIAEXAMPLE"
  secret_key = "hunter2"
  region     = "eu-west-1"
}
connection "aws" "default" {
  profile = "logs"
}
"""


def test_the_connection_of_a_workspace(config_of: Callable[[str], Config]) -> None:
    config = config_of(
        CONNECTIONS
        + """
workspace "named" {
  data_dir   = "s3://lake/x"
  connection = connection.aws.prod
}
workspace "silent" {
  data_dir = "s3://lake/x"
}
workspace "based" {
  base     = workspace.named
  data_dir = "s3://other"
}
workspace "folder" {
  base     = workspace.named
  data_dir = "/lake"
}
"""
    )
    assert config.problems == ()
    connections = {name: workspace.connection for name, workspace in config.workspaces.items()}
    assert {name: each and each.name for name, each in connections.items()} == {
        "named": "prod",
        "silent": "default",
        "based": "prod",
        "folder": None,
    }
    assert "hunter2" not in f"{config!r}"
    assert "AKIAEXAMPLE" not in f"{config!r}"


WRONG = {
    'connection "aws" "c" {\n  access_key = "a"\n}': '2:16: argument "access_key" of connection "aws" needs the '
    'argument "secret_key"',
    'connection "aws" "c" {\n  session_token = "a"\n}': '2:19: argument "session_token" of connection "aws" needs '
    'the argument "access_key"',
    'connection "aws" "c" {\n  profile = ""\n}': '2:13: argument "profile" of connection "aws" is empty',
    'connection "aws" "c" {\n  endpoint_url = "host:1"\n}': '2:18: argument "endpoint_url" of connection "aws" is '
    "not an address",
    'connection "aws" "d" {\n}': '5:16: there is no connection "aws.c"',
}


@pytest.mark.parametrize("text", WRONG)
def test_a_connection_that_cannot_be_used(config_of: Callable[[str], Config], text: str) -> None:
    place = 'workspace "w" {\n  data_dir = "s3://lake"\n  connection = "aws.c"\n}\n'
    config = config_of(f"{text}\n{place}")
    (problem,) = config.problems
    assert f":{WRONG[text]}" in str(problem)
    assert "w" not in config.workspaces


def test_a_connection_that_has_no_effect(config_of: Callable[[str], Config]) -> None:
    config = config_of('workspace "w" {\n  data_dir = "/lake"\n  connection = connection.aws.default\n}\n')
    (problem,) = config.problems
    assert ':3:16: warning: argument "connection" of workspace "w" has no effect' in str(problem)
    assert config.workspaces["w"].connection is None
