"""However a file is damaged, the answer is a list of problems, soon."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from config_catalog import FakeCatalog
from hypothesis import given, settings
from hypothesis import strategies as st
from test_config_seeds import FLOW_LOGS, NETWORK_LOGS

from tailpipe.config import load

TEXTS = st.sampled_from([NETWORK_LOGS, FLOW_LOGS])
PIECES = st.sampled_from(
    ['"', "`", "'", "{", "}", "[", "]", "(", ")", "=", ".", "${", "<<EOT\n", "\n", "é", "/*", "$"]
)
EDITS = st.lists(
    st.tuples(st.floats(0, 0.999), st.integers(0, 6), PIECES | st.just("")), min_size=1, max_size=4
)


def outcome(directory: Path, text: str) -> tuple[str, ...]:
    (directory / "main.tpc").write_text(text, encoding="utf-8")
    config = load([directory], FakeCatalog(), environment={}, now=datetime(2024, 3, 5, tzinfo=UTC))
    if config.broken and not config.errors:
        return ("nothing is told",)
    return tuple(str(problem) for problem in config.problems)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@settings(deadline=2000, max_examples=150)
@given(text=TEXTS, edits=EDITS)
def test_damaged_files_give_problems(directory: Path, text: str, edits: list[tuple[float, int, str]]) -> None:
    for place, removed, inserted in edits:
        at = int(place * len(text))
        text = text[:at] + inserted + text[at + removed :]
    assert "nothing is told" not in outcome(directory, text)


def test_a_quote_at_the_end_of_a_line(directory: Path) -> None:
    for line in ('a = "', 'a = local."', "a = local.'", "a = `"):
        (problem,) = outcome(directory, f"locals {{\n  {line}\n}}\n")
        assert "not closed" in problem or "never closed" in problem or "double quotes" in problem


def test_a_bracket_missing_before_an_empty_node(directory: Path) -> None:
    assert outcome(
        directory, 'collection "my-stuff" {\n source {\n paths = ["a" \n }\n (}\n}\n  connection "'
    )
