"""The values that sources exchange with the rest: artifacts, and what a listing saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from tailpipe.times import Window


@dataclass(frozen=True)
class Artifact:
    """One thing a source can hand over.

    `location` names it within its source, `version` changes when its content does (size and modification
    time, or an etag). `span` is the time its path claims; None means undated: rows go to their own days.
    `captures` are the layout's named fields.
    """

    location: str
    size_bytes: int
    version: str
    span: Window | None = None
    captures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Skipped:
    """A thing that was listed but not taken, and why (`layout`: it does not match the layout)."""

    location: str
    reason: str


class Source(Protocol):
    """A configured source. Frozen and picklable: `list` runs on the driver, `open` on executors."""

    @property
    def type(self) -> str: ...

    @property
    def name(self) -> str: ...

    def list(self, window: Window) -> Iterator[Artifact | Skipped]:
        """Every artifact whose span is unknown or overlaps the window; others may be left unlisted."""
        ...

    def open(self, artifact: Artifact) -> AbstractContextManager[BinaryIO]:
        """The artifact's bytes as they are stored, still compressed."""
        ...
