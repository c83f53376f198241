"""What is wrong costs its block and what uses it; all else can be used."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from config_catalog import FakeCatalog

from tailpipe.config import load
from tailpipe.config.values import Config

LoadText = Callable[..., Config]

GOOD = """
partition "nginx_access_log" "good" {
  source "file" {
    paths = ["a"]
  }
}
workspace "good" {
  data_dir = "/data"
}
"""
# A text, and the blocks that it costs; each stands before and behind the good ones.
BROKEN = [
    ('connection "aws" "x" {\n  profil = "p"\n}', ["connection aws.x"]),
    ('connection "nope" "x" {\n}', ["connection nope.x"]),
    ('format "grok" "x" {\n}', ["format grok.x"]),
    ('format "x" {\n  type = "nope"\n}', ["format x"]),
    ('source "file" "x" {\n}', ["source file.x"]),
    ('table "x" {\n  column "a" {\n    tipe = "int"\n  }\n}', ["table x"]),
    ('table "nginx_access_log" {\n}', ["table nginx_access_log", "partition nginx_access_log.good"]),
    ('workspace "w" {\n  cores = 0.5\n}', ["workspace w"]),
    ('partition "nginx_access_log" "x" {\n}', ["partition nginx_access_log.x"]),
    ('partition "nope" "x" {\n  source "file" {\n    paths = ["a"]\n  }\n}', ["partition nope.x"]),
    ('partition "x" {\n}', ["partition x"]),
    (
        'partition "nginx_access_log" "x" {\n  filter: "x"\n  source "file" {\n    paths = ["a"]\n  }\n}',
        ["partition nginx_access_log.x"],
    ),
    (
        'partition "nginx_access_log" "x" {\n  filter = "x\n  source "file" {\n    paths = ["a"]\n  }\n}',
        ["partition nginx_access_log.x"],
    ),
    (
        'partition "nginx_access_log" "x" {\n  source "file" {\n    paths = ["a"]\n  }\n',
        ["partition nginx_access_log.x"],
    ),
    ('partition "nginx_access_log" "x" {\n  filter = <<EOT\n a\n', ["partition nginx_access_log.x"]),
    (
        'partition "nginx_access_log" "x" {\n  filter = ' + "(" * 3000 + ")" * 3000 + "\n}",
        ["partition nginx_access_log.x"],
    ),
    (
        'partition "nginx_access_log" "x" {\n  source "file" {\n    paths = ["\xff"]\n  }\n}',
        ["partition nginx_access_log.x"],
    ),
    ('locals {\n  bad = 1 / 0\n}\nsource "file" "x" {\n  paths = [local.bad]\n}', ["source file.x"]),
    (
        'locals {\n  twice = "a"\n}\nlocals {\n  twice = "b"\n}\nsource "file" "x" {\n  paths = [local.twice]\n}',
        ["source file.x"],
    ),
    ("this is no block !!\n", []),
    ("nope {\n}\n", []),
]


@pytest.mark.parametrize(("text", "cost"), BROKEN)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_broken_block_costs_itself(load_text: LoadText, text: str, cost: list[str], is_first: bool) -> None:
    written = f"{text}\n{GOOD}" if is_first else f"{GOOD}\n{text}\n"
    config = load_text(written.encode("latin-1"))
    assert config.errors
    assert sorted(f"{kind} {'.'.join(labels)}" for kind, labels in config.broken) == sorted(cost)
    assert config.workspaces["good"].data_dir == "/data"
    is_spared = "partition nginx_access_log.good" not in cost
    assert (("nginx_access_log", "good") in config.partitions) == is_spared


USERS = [
    ('connection "aws" "x" {\n  profil = "p"\n}', "connection = connection.aws.x"),
    ('connection "aws" "x" {\n  profil = "p"\n}', 'connection = "aws.x"'),
    ('format "grok" "x" {\n}', "format = format.grok.x"),
    ('format "grok" "x" {\n}', 'format = "grok.x"'),
    ('format "x" {\n  type = "nope"\n}', "format = format.x"),
    ('format "csv" "x" {\n}\nformat "csv" "x" {\n}', "format = format.csv.x"),
]


@pytest.mark.parametrize(("text", "use"), USERS)
def test_what_uses_a_broken_block_is_broken(load_text: LoadText, text: str, use: str) -> None:
    partition = (
        f'partition "nginx_access_log" "x" {{\n  source "file" {{\n    paths = ["a"]\n    {use}\n  }}\n}}\n'
    )
    config = load_text(f"{text}\n{partition}{GOOD}")
    assert len(config.errors) == 1
    assert config.broken["partition", ("nginx_access_log", "x")] == ()
    assert list(config.partitions) == [("nginx_access_log", "good")]


def test_a_partition_of_a_broken_table_or_source_is_broken(load_text: LoadText) -> None:
    config = load_text(
        'table "t" {\n  nope = 1\n}\nsource "file" "s" {\n}\n'
        'partition "t" "a" {\n  source "file" {\n    paths = ["a"]\n  }\n}\n'
        'partition "nginx_access_log" "b" {\n  source = source.file.s\n}\n'
    )
    assert len(config.errors) == 2
    assert config.partitions == {}


def test_a_value_that_try_replaces_costs_nothing_but_itself(load_text: LoadText) -> None:
    config = load_text(
        'locals {\n  bad = 1 / 0\n}\nsource "file" "x" {\n  paths = [try(local.bad, "a")]\n}\n'
    )
    assert len(config.errors) == 1
    assert config.sources["file", "x"].arguments == {"paths": ["a"]}


def test_a_chain_of_locals_without_end_costs_itself(load_text: LoadText) -> None:
    chain = "".join(f"  l{n} = local.l{n + 1}\n" for n in range(3000))
    config = load_text(
        f'locals {{\n{chain}  l3000 = "a"\n}}\nsource "file" "x" {{\n  paths = [local.l0]\n}}\n{GOOD}'
    )
    assert {problem.message for problem in config.errors} == {
        "this value is nested too deeply, or depends on others over too many steps"
    }
    assert config.sources == {}
    assert config.partitions


@pytest.mark.parametrize("content", [b"\xff\xfe" * 500, b"\x89PNG\r\n" + bytes(range(256)) * 50])
def test_a_file_that_is_no_text_costs_itself(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tpc").write_bytes(content)
    (tmp_path / "b.tpc").write_text(GOOD)
    config = load([tmp_path], FakeCatalog(), environment={}, now=datetime(2024, 1, 1, tzinfo=UTC))
    assert [problem.position.file for problem in config.errors if problem.position] == [
        str(tmp_path / "a.tpc")
    ]
    assert list(config.partitions) == [("nginx_access_log", "good")]
    assert config.lost_texts


def test_a_file_that_is_too_large_costs_itself(tmp_path: Path) -> None:
    (tmp_path / "a.tpc").write_bytes(b"# a comment\n" * 400_000)
    (tmp_path / "b.tpc").write_text(GOOD)
    config = load([tmp_path], FakeCatalog(), environment={}, now=datetime(2024, 1, 1, tzinfo=UTC))
    (problem,) = config.errors
    assert problem.message == "the file is larger than 1 MiB, the limit of a configuration file"
    assert list(config.partitions) == [("nginx_access_log", "good")]


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "gone.tpc").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.tpc").mkdir()
    (tmp_path / "b.tpc").write_text(GOOD)
    config = load([tmp_path], FakeCatalog(), environment={}, now=datetime(2024, 1, 1, tzinfo=UTC))
    assert [(Path(p.position.file).name, p.message) for p in config.errors if p.position] == [
        ("folder.tpc", "cannot read the file: Is a directory"),
        ("gone.tpc", "cannot read the file: No such file or directory"),
    ]
    assert list(config.partitions) == [("nginx_access_log", "good")]
