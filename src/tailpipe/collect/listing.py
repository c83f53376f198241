"""What was seen of a source and of its artifacts: all that is needed to decide what to do, and to tell of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import msgspec

from tailpipe.lake.manifest import KnownArtifact
from tailpipe.sources.artifact import Artifact, SkipReason


@dataclass(frozen=True)
class ListingFailure:
    """`place` is a location, or `source …` where nothing of the source could be listed."""

    place: str
    message: str


@dataclass(frozen=True)
class Listing:
    """What one source showed, and why things were left alone. Texts are examples.

    `matched` are those that could be logs of this source: they fit the layout, and can be read. `twice` are new to
    this source and were collected by another one of the partition. `skip_examples` and `skip_hints` are by reason,
    as `skipped` is. `folders_outside` were not looked into. `failures` tell what could not be listed. `unended` are
    known but for a last line that still waits for its end. `lost` have rows of the window that are not kept, and are
    not in the source any more. `doubted` is a time after now up to which an earlier run says it looked, `edge` the one
    where the window begins because rows before it expire.
    """

    source: str
    type: str
    listed: int = 0
    matched: int = 0
    planned: int = 0
    known: int = 0
    skipped: Mapping[SkipReason, int] = field(default_factory=dict)
    skip_examples: Mapping[SkipReason, str] = field(default_factory=dict)
    skip_hints: Mapping[SkipReason, str] = field(default_factory=dict)
    folders_outside: int = 0
    failures: tuple[ListingFailure, ...] = ()
    grown: int = 0
    replaced: int = 0
    moved: int = 0
    gone: int = 0
    twice: int = 0
    twice_example: str | None = None
    late_example: str | None = None
    waiting_example: str | None = None
    unended: int = 0
    unended_example: str | None = None
    replaced_example: str | None = None
    newest: str | None = None
    lost: int = 0
    lost_example: str | None = None
    doubted: str | None = None
    edge: str | None = None


class Relation(Enum):
    NEW = "new"
    SAME = "same"
    GROWN = "grown"
    CHANGED = "changed"
    WAITING = "waiting"


class Sighting(msgspec.Struct, frozen=True, gc=False):
    """An artifact as listed, and the content it is known as. `identity` names the content for good.

    `can_read_on`: what follows the known part can be read without it. `may_be_half_written`: its last line may still
    be on its way.
    """

    artifact: Artifact
    relation: Relation
    identity: str
    known: KnownArtifact | None = None
    can_read_on: bool = False
    may_be_half_written: bool = False

    @property
    def is_moved(self) -> bool:
        return self.known is not None and self.known.location != self.artifact.location

    @property
    def is_renamed(self) -> bool:
        """Nothing new in it, but it lies elsewhere or has another version than is known."""
        known = self.known
        return (
            self.relation is Relation.SAME
            and known is not None
            and (known.location, known.version) != (self.artifact.location, self.artifact.version)
        )


@dataclass(frozen=True)
class Observation:
    """What one source showed. The listing tells what was left out while listing, nothing yet of what will be done.

    `settled` counts artifacts with which nothing is to do; `sightings` are of all others.
    """

    listing: Listing
    sightings: tuple[Sighting, ...] = ()
    settled: int = 0
