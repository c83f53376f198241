"""Where a test keeps its lake: in a folder or in a bucket, looked at by other ways than the code under test."""

from __future__ import annotations

import json
import os
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from object_store import ObjectStore

ENTRY = re.compile(r"_delta_log/\d{20}\.(json|checkpoint\.parquet)")


class StoredLake(ABC):
    """Paths are relative to the lake, so they begin with the name of a table."""

    @property
    @abstractmethod
    def uri(self) -> str:
        """As `data_dir` names it."""

    @property
    def options(self) -> dict[str, str] | None:
        """For the Delta library."""
        return None

    @property
    def environment(self) -> Mapping[str, str]:
        """What a command needs to reach it."""
        return {}

    @abstractmethod
    def paths(self) -> list[str]:
        """Of all files, in order."""

    @abstractmethod
    def read(self, path: str) -> bytes: ...

    @abstractmethod
    def new(self) -> StoredLake:
        """An empty one in the same store."""

    @abstractmethod
    def copy(self) -> StoredLake:
        """Another one with the same files."""

    def delta(self, table: str, version: int | None = None) -> DeltaTable | None:
        """None where there is no such table yet."""
        if not any(ENTRY.fullmatch(path.removeprefix(f"{table}/")) for path in self.paths()):
            return None
        return DeltaTable(f"{self.uri}/{table}", version=version, storage_options=self.options)

    def entry(self, table: str, version: int) -> list[dict[str, Any]]:
        """What a commit did."""
        text = self.read(f"{table}/_delta_log/{version:020d}.json").decode()
        return [json.loads(line) for line in text.splitlines()]

    def has_entry(self, table: str, version: int) -> bool:
        return f"{table}/_delta_log/{version:020d}.json" in self.paths()


@dataclass(frozen=True)
class FolderLake(StoredLake):
    folder: Path

    @property
    def uri(self) -> str:
        return str(self.folder)

    def paths(self) -> list[str]:
        """Folders may go while they are walked."""
        return sorted(
            os.path.relpath(os.path.join(folder, name), self.folder)
            for folder, _, names in os.walk(self.folder)
            for name in names
        )

    def read(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()

    def new(self) -> FolderLake:
        count = sum(1 for _ in self.folder.parent.glob(f"{self.folder.name}*"))
        return FolderLake(self.folder.with_name(f"{self.folder.name}-{count}"))

    def copy(self) -> FolderLake:
        copy = self.new()
        shutil.copytree(self.folder, copy.folder)
        return copy


@dataclass(frozen=True)
class BucketLake(StoredLake):
    store: ObjectStore
    place: str

    @property
    def uri(self) -> str:
        return self.place

    @property
    def options(self) -> dict[str, str]:
        return {**self.store.environment, "AWS_ALLOW_HTTP": "true", "conditional_put": "etag"}

    @property
    def environment(self) -> Mapping[str, str]:
        return self.store.environment

    def paths(self) -> list[str]:
        return self.store.paths(self.place)

    def read(self, path: str) -> bytes:
        return bytes(self.store.client(self.place).get(path).bytes())

    def new(self) -> BucketLake:
        return replace(self, place=self.store.new_uri())

    def copy(self) -> BucketLake:
        copy = self.new()
        old, new = self.store.client(self.place), self.store.client(copy.place)
        for path in self.paths():
            new.put(path, old.get(path).bytes())
        return copy
