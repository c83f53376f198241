"""The reference page names everything there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tailpipe.config.blocks.partition import PARTITION
from tailpipe.config.blocks.table import COLUMN, TABLE
from tailpipe.config.blocks.workspace import PLUGIN, WORKSPACE
from tailpipe.config.functions.registry import FUNCTION_NAMES
from tailpipe.config.schema import BlockSchema

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(FUNCTION_NAMES))
def test_function_is_documented(name: str) -> None:
    assert f"`{name}(" in PAGE


def test_no_function_is_documented_that_does_not_exist() -> None:
    tables = PAGE.partition("\n## Functions")[2]
    assert set(re.findall(r"`(\w+)\(", tables)) == FUNCTION_NAMES


@pytest.mark.parametrize("schema", [PARTITION, TABLE, COLUMN, WORKSPACE, PLUGIN])
def test_arguments_are_documented(schema: BlockSchema) -> None:
    missing = [argument.name for argument in schema.arguments if f"`{argument.name}`" not in PAGE]
    assert missing == []
