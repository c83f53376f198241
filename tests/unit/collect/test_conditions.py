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


@pytest.mark.parametrize("filter_sql", ["status", "'x'", "http_user_agent"])
def test_a_filter_is_a_condition(tmp_path: Path, filter_sql: str) -> None:
    with pytest.raises(ConfigError, match=r"main.tpc:2:12: .*not a condition"):
        condition(tmp_path, filter_sql)


@pytest.mark.parametrize(
    ("type_", "transform", "is_good"),
    [
        ("int", "upper(x)", True),
        ("int[]", "[1, 2]", True),
        ("int", "null", True),
        ("int", "[x]", False),
        ("int[]", "x", False),
    ],
)
def test_what_a_transform_gives_must_fit_its_column(
    tmp_path: Path, type_: str, transform: str, is_good: bool
) -> None:
    (tmp_path / "main.tpc").write_text(
        f"""
        table "t" {{
          format = format.jsonl.default
          column "tp_timestamp" {{ source = "at" }}
          column "c" {{
            type      = "{type_}"
            transform = "{transform}"
          }}
        }}
        partition "t" "p" {{
          source "file" {{ paths = ["x"] }}
        }}
        """
    )
    registry = load_registry()
    config = load([tmp_path], registry, environment={}, now=datetime.now(UTC))
    if is_good:
        assert make_targets(config, registry)
    else:
        with pytest.raises(ConfigError, match=r'main.tpc:7:\d+: transform of column "c": .* cannot become'):
            make_targets(config, registry)
