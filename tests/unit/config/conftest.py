from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from config_catalog import FakeCatalog

from tailpipe.config import load
from tailpipe.config.values import Config
from tailpipe.errors import Problem

NOW = datetime(2024, 3, 5, 16, 7, 8, tzinfo=UTC)


@pytest.fixture
def load_text(tmp_path: Path) -> Callable[..., Config]:
    """Loads one file with the given text; it is called main.tpc."""

    def loaded(text: str | bytes, environment: Mapping[str, str] | None = None) -> Config:
        data = text.encode() if isinstance(text, str) else text
        (tmp_path / "main.tpc").write_bytes(data)
        return load([tmp_path], FakeCatalog(), environment=environment or {}, now=NOW)

    return loaded


@pytest.fixture
def problems_of(load_text: Callable[..., Config]) -> Callable[..., list[str]]:
    """What is wrong with a text, as `line:column message (hint)`."""

    def told(text: str | bytes, **given: Any) -> list[str]:
        return [_told(problem) for problem in load_text(text, **given).problems]

    return told


def _told(problem: Problem) -> str:
    place = f"{problem.position.line}:{problem.position.column} " if problem.position else ""
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"{place}{'warning: ' if problem.is_warning else ''}{problem.message}{hint}"
