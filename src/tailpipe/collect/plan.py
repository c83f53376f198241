"""What a run will do, as a list of small values: a dry run prints it, a run executes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum
from typing import NamedTuple, TypeVar

from tailpipe.collect.listing import Listing
from tailpipe.collect.target import Target
from tailpipe.collect.windows import ALWAYS
from tailpipe.lake.columns import id_prefix
from tailpipe.lake.manifest import KnownArtifact, Windows
from tailpipe.lake.state import PartitionState
from tailpipe.sources.artifact import Artifact
from tailpipe.times import Window

UNDATED_UNIT_BYTES = 512 * 1024 * 1024

Item = TypeVar("Item")


class Action(Enum):
    """How an artifact is read: for the first time, on from its mark, again for windows that are missing, or again
    from its start instead of all that came of it. Or it is not read, and its rejects are tried again.
    """

    TAKE = "take"
    READ_ON = "read on"
    WIDEN = "widen"
    REPLACE = "replace"
    RETRY = "retry"


class ArtifactKey(NamedTuple):
    """Which artifact of a plan: its content by identity, and where that lies, or lay when its records were rejected."""

    feed: int
    location: str
    identity: str


@dataclass(frozen=True)
class PlannedArtifact:
    """`keep` are the windows of time whose rows this reading stores, `kept` all that are in the lake after it."""

    feed: int
    artifact: Artifact
    action: Action = Action.TAKE
    identity: str = ""
    keep: Windows = (ALWAYS,)
    kept: Windows = (ALWAYS,)
    known: KnownArtifact | None = None

    @property
    def key(self) -> ArtifactKey:
        return ArtifactKey(self.feed, self.artifact.location, self.identity)

    def source(self, target: Target) -> str:
        """The name of the source that it is known by: the one that showed it first."""
        return self.known.source if self.known else target.feeds[self.feed].source.name

    def prefix(self, target: Target) -> bytes:
        """What the ids of all its rows and rejects begin with."""
        return id_prefix(target.name, self.source(target), self.identity)

    @property
    def size_bytes(self) -> int:
        """What is left to read, as stored; little can be said of the rest of a packed file."""
        read_before = self.artifact.start.offset if self.artifact.start else 0
        return max(0, self.artifact.size_bytes - read_before)


@dataclass(frozen=True)
class Rejects:
    """Records in quarantine that are tried again: in these files, rejected within the window, `counts` by feed."""

    files: tuple[str, ...]
    counts: Mapping[int, int]
    window: Window | None = None


@dataclass(frozen=True)
class Unit:
    """Artifacts that commit together: those of one day, or some that have no date in their path.

    With `rejects`, the records of the artifacts do not come from their sources but from quarantine.
    """

    day: date | None
    number: int
    artifacts: tuple[PlannedArtifact, ...]
    rejects: Rejects | None = None

    @property
    def key(self) -> str:
        return self.day.isoformat() if self.day else f"undated-{self.number}"

    @property
    def label(self) -> str:
        return self.day.isoformat() if self.day else f"undated files {self.number}"

    @property
    def is_whole(self) -> bool:
        """Whether it is committed whole or not at all; else its artifacts may be committed apart."""
        return self.day is not None or self.rejects is not None

    @property
    def size_bytes(self) -> int:
        return sum(planned.size_bytes for planned in self.artifacts)


@dataclass(frozen=True)
class PartitionPlan:
    """Units in the order in which they run. `renamed` are artifacts whose content only lies elsewhere now, or nowhere.

    `asked` are, by source, the windows that this run wants. Rows before the `edge`, if there is one, expire.
    """

    target: Target
    window: Window
    state: PartitionState
    units: tuple[Unit, ...]
    listings: tuple[Listing, ...]
    asked: Mapping[str, Windows] = field(default_factory=dict)
    renamed: tuple[KnownArtifact, ...] = ()
    is_overwrite: bool = False
    edge: datetime | None = None

    @property
    def unlisted(self) -> frozenset[str]:
        """Names of sources of which not everything could be listed: this run covers nothing of them."""
        return frozenset(listing.source for listing in self.listings if listing.failures)

    @property
    def artifact_count(self) -> int:
        return sum(len(unit.artifacts) for unit in self.units)

    @property
    def size_bytes(self) -> int:
        return sum(unit.size_bytes for unit in self.units)


def make_units(planned: Iterable[PlannedArtifact], newest_first: bool) -> Iterator[Unit]:
    """One unit per day; undated artifacts share units of bounded size, behind the days."""
    by_day: dict[date, list[PlannedArtifact]] = {}
    undated: list[PlannedArtifact] = []
    for item in planned:
        if item.artifact.span is None:
            undated.append(item)
        else:
            by_day.setdefault(item.artifact.span.start.date(), []).append(item)
    for day in sorted(by_day, reverse=newest_first):
        yield Unit(day, 1, tuple(by_day[day]))
    groups = grouped(undated, lambda item: item.artifact.size_bytes, UNDATED_UNIT_BYTES)
    yield from (Unit(None, number, group) for number, group in enumerate(groups, start=1))


def grouped(
    items: Iterable[Item], size_bytes: Callable[[Item], int], most_bytes: int
) -> Iterator[tuple[Item, ...]]:
    """Neighbours that are together at most so large; one that is larger is alone."""
    together: list[Item] = []
    together_bytes = 0
    for item in items:
        size = size_bytes(item)
        if together and together_bytes + size > most_bytes:
            yield tuple(together)
            together, together_bytes = [], 0
        together.append(item)
        together_bytes += size
    if together:
        yield tuple(together)
