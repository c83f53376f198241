"""Every configuration that the documentation shows is right, with what is installed: nothing in it is a promise."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from documents import ROOT, Block, blocks, documents

from tailpipe.collect.check import find_problems
from tailpipe.config import load
from tailpipe.plugins.registry import load_registry

# Its configuration is for a plugin of its own, which `test_plugin_example` installs and collects with.
_PLUGIN_PAGE = ROOT / "docs/reference/plugins.md"
EXAMPLES = [
    pytest.param(block, id=f"{path.relative_to(ROOT)}:{block.line}")
    for path in documents()
    for block in blocks(path)
    if block.language == "hcl" and path != _PLUGIN_PAGE
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_has_no_problems(example: Block, tmp_path: Path) -> None:
    (tmp_path / "example.tpc").write_text(example.text, encoding="utf-8")
    registry = load_registry()
    config = load([tmp_path], registry, environment={"HOME": "/home/ann"}, now=datetime.now(UTC))
    assert find_problems(config, registry) == ()
    assert config.broken == {}
