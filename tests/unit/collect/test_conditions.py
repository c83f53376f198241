"""Which columns a partition's filter may use, and what they become in the engine."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.collect.target import make_targets, recipe
from tailpipe.config import load
from tailpipe.errors import ConfigError
from tailpipe.plugins.registry import load_registry


def condition(folder: Path, filter_sql: str) -> str | None:
    source = 'source "file" { paths = ["x"] }'
    block = f'partition "nginx_access_log" "web" {{\n  filter = "{filter_sql}"\n  {source}\n}}'
    (folder / "main.tpc").write_text(block)
    registry = load_registry()
    config = load([folder], registry, environment={}, now=datetime.now(UTC))
    (target,) = make_targets(config, registry).values()
    return recipe(target, target.feeds[0].format, None).condition


@pytest.mark.parametrize(
    ("filter_sql", "part"),
    [
        ("status >= 500", "status"),
        ("tp_partition = 'web'", "'web'"),
        ("tp_table <> 'x'", "'nginx_access_log'"),
        ("tp_date >= '2024-01-01'", "CAST(tp_timestamp AS date)"),
    ],
)
def test_columns_that_a_filter_may_use(tmp_path: Path, filter_sql: str, part: str) -> None:
    assert part in (condition(tmp_path, filter_sql) or "")


@pytest.mark.parametrize("name", ["tp_id", "tp_source_location", "tp_ingest_timestamp", "no_such_column"])
def test_columns_that_the_writer_fills_cannot_be_used(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f'main.tpc:2:12: .*there is no column "{name}"'):
        condition(tmp_path, f"{name} is not null")
