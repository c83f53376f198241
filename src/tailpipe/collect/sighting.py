"""What was seen of one artifact, and of one source: all that is needed to decide what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import msgspec

from tailpipe.collect.listing import Listing
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.sources.artifact import Artifact


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
