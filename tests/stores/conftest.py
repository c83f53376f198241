from __future__ import annotations

from pathlib import Path

import pytest

from lakes import BucketLake, FolderLake, StoredLake
from object_store import ObjectStore


@pytest.fixture(params=["folder", "bucket"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> StoredLake:
    """An empty lake, which homes can share: in a folder, and in a bucket."""
    if request.param == "folder":
        return FolderLake(tmp_path / "lake")
    store: ObjectStore = request.getfixturevalue("object_store")
    return BucketLake(store, store.new_uri())
