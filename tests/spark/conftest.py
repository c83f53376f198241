from __future__ import annotations

from pathlib import Path

import pytest

from pipelines import Place
from tailpipe.engine.session import Session


@pytest.fixture
def place(tmp_path: Path, engine: Session) -> Place:
    return Place(tmp_path, engine)
