"""Known content in what a source shows now: unchanged, grown, moved, or changed for good.

Content is known again by its beginning and by what stood before the point up to which it was read. That speaks only
for a file that left its old place: equal files at two living places are two artifacts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

import msgspec

from tailpipe.errors import ArtifactError
from tailpipe.formats.format import DOCUMENT
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.records import Mark
from tailpipe.sources.artifact import Artifact, Recognising, Source
from tailpipe.sources.decompress import is_archive
from tailpipe.sources.fingerprint import HEAD_BYTES, digest
from tailpipe.times import Window

# A last line that may be half written waits while the file was written to so short a time ago.
QUIET = timedelta(seconds=10)
# A packed file beside its original is taken for a second one when nobody has written to it for this long.
PACKING = timedelta(minutes=10)
_PACKED = frozenset({"gz", "bz2", "xz", "zst"})


class Relation(Enum):
    NEW = "new"
    SAME = "same"
    GROWN = "grown"
    CHANGED = "changed"
    WAITING = "waiting"


class Sighting(msgspec.Struct, frozen=True, gc=False):
    """An artifact as listed, and the content it is known as. `identity` names the content for good."""

    artifact: Artifact
    relation: Relation
    identity: str
    record: KnownArtifact | None = None

    @property
    def is_renamed(self) -> bool:
        """Nothing new in it, but it lies elsewhere or has another version than its record says."""
        record = self.record
        return (
            self.relation is Relation.SAME
            and record is not None
            and (record.location, record.version) != (self.artifact.location, self.artifact.version)
        )


def mark_of(record: KnownArtifact) -> Mark:
    return Mark(record.offset, record.position, record.head, record.tail, record.open_bytes)


def is_fresh(artifact: Artifact, now: datetime) -> bool:
    """Whether somebody may be in the middle of a line. Times far in the future are of another clock and say nothing."""
    return artifact.modified is not None and abs(now - artifact.modified) < QUIET


def recognise(
    source: Source,
    shape: str,
    records: Iterable[KnownArtifact],
    found: Sequence[Artifact],
    listed: Window,
    now: datetime,
    orphans: Iterable[KnownArtifact] = (),
) -> list[Sighting]:
    """One sighting per artifact, in the order in which they were listed.

    `orphans` are records of sources that no longer show what they are of: it may lie in this one now.
    """
    return _Recogniser(source, shape, records, listed, now, tuple(orphans)).run(found)


@dataclass
class _Recogniser:
    source: Source
    shape: str
    records: Iterable[KnownArtifact]
    listed: Window
    now: datetime
    orphans: tuple[KnownArtifact, ...] = ()
    seen: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        own = [record for record in self.records if record.source == self.source.name]
        self.own = {record.key: record for record in (*self.orphans, *own)}
        self.at = {record.location: record for record in (*self.orphans, *own)}
        self.recognising = self.source if isinstance(self.source, Recognising) else None

    def run(self, found: Sequence[Artifact]) -> list[Sighting]:
        in_place = [self._in_place(artifact) for artifact in found]
        pairs = list(zip(found, in_place, strict=True))
        unplaced = [artifact for artifact, sighting in pairs if sighting is None]
        elsewhere = dict(self._elsewhere(unplaced, found))
        return [
            sighting or elsewhere.get(artifact.location) or self._leftover(artifact)
            for artifact, sighting in pairs
        ]

    def _in_place(self, artifact: Artifact) -> Sighting | None:
        """None where the place is new, or holds something else than it did."""
        record = self.at.get(artifact.location)
        if record is None:
            return None
        relation = self._relation(artifact, record)
        if relation is None:
            return None
        self.seen.add(record.key)
        return Sighting(artifact, relation, record.identity, record)

    def _relation(self, artifact: Artifact, record: KnownArtifact) -> Relation | None:
        if record.version == artifact.version:
            is_ready = record.waiting_bytes and not is_fresh(artifact, self.now)
            return Relation.GROWN if is_ready else Relation.SAME
        if self.recognising is None:
            return Relation.CHANGED
        if record.offset == 0:
            return Relation.GROWN
        if not self.recognising.holds(artifact.location, mark_of(record)):
            return None
        if artifact.size_bytes == record.size_bytes and not record.waiting_bytes:
            return Relation.SAME
        return self._more

    def _elsewhere(
        self, unplaced: Sequence[Artifact], found: Sequence[Artifact]
    ) -> Iterator[tuple[str, Sighting]]:
        """Content that left its old place and lies at a new one."""
        if self.recognising is None or not unplaced:
            return
        places = {artifact.location for artifact in found}
        departed = [record for record in self.own.values() if self._may_have_left(record, places)]
        by_head = _by_head(departed)
        lengths = sorted({length for length, _ in by_head}, reverse=True)
        for artifact in unplaced if by_head else ():
            head = self.recognising.head(artifact.location) or b""
            heads = ((length, digest(head[:length])) for length in lengths if length <= len(head))
            candidates = [record for key in heads for record in by_head.get(key, ())]
            record = self._first_held(artifact, candidates, places)
            if record is not None:
                self.seen.add(record.key)
                relation = Relation.SAME if self._is_whole(artifact, record, head) else self._more
                yield artifact.location, Sighting(artifact, relation, record.identity, record)

    @property
    def _more(self) -> Relation:
        """What content is that holds what was read, and may hold more."""
        return Relation.GROWN if self.shape != DOCUMENT else Relation.CHANGED

    def _is_whole(self, artifact: Artifact, record: KnownArtifact, head: bytes) -> bool:
        """Whether content that moved is known to end where it was read to. The size of a packed file alone says
        nothing of that: it may be that of the plain one by chance.
        """
        if artifact.size_bytes != record.offset:
            return artifact.size_bytes == record.size_bytes and not record.waiting_bytes
        with suppress(OSError, ArtifactError), self.source.open(artifact) as stored:
            return stored.read(len(head)) == head
        return False

    def _may_have_left(self, record: KnownArtifact, places: set[str]) -> bool:
        """Cheap to say: whether it left is asked of those whose beginning turned up elsewhere."""
        is_expected = record.span is None or record.span.overlaps(self.listed)
        return (
            record.key not in self.seen and record.offset > 0 and (is_expected or record.location in places)
        )

    def _first_held(
        self, artifact: Artifact, candidates: Iterable[KnownArtifact], places: set[str]
    ) -> KnownArtifact | None:
        assert self.recognising is not None
        for record in sorted(candidates, key=lambda record: -record.offset):
            if record.key in self.seen:
                continue
            mark = mark_of(record)
            has_left = record.location in places or not self.recognising.holds(record.location, mark)
            if has_left and self.recognising.holds(artifact.location, mark):
                return record
        return None

    def _leftover(self, artifact: Artifact) -> Sighting:
        """A new place, or new content in a known one whose old content is nowhere to be seen.

        Lines without a date are a log that was rotated away or emptied: what was collected of it stays. Documents,
        archives and what has a date are new versions of what they were.
        """
        record = self.at.get(artifact.location)
        if self._is_being_packed(artifact):
            return Sighting(artifact, Relation.WAITING, artifact.location)
        is_replaced = record is not None and record.key not in self.seen
        if record is not None and is_replaced and self._is_a_version(artifact):
            return Sighting(artifact, Relation.CHANGED, record.identity, record)
        return Sighting(artifact, Relation.NEW, self._new_identity(artifact))

    def _is_a_version(self, artifact: Artifact) -> bool:
        """Whether new content means the old one in other words, and does not go on after it."""
        if artifact.span is not None or self.shape == DOCUMENT or self.recognising is None:
            return True
        return is_archive(self.recognising.head(artifact.location) or b"")

    def _is_being_packed(self, artifact: Artifact) -> bool:
        """`app.log.1.gz` is written beside `app.log.1`, which goes when it is whole: both hold the same lines."""
        original, _, extension = artifact.location.rpartition(".")
        is_recent = artifact.modified is not None and self.now - artifact.modified < PACKING
        return extension in _PACKED and original in self.at and is_recent

    def _new_identity(self, artifact: Artifact) -> str:
        name = self.source.name
        if (name, artifact.location) not in self.own:
            return artifact.location
        head = (self.recognising.head(artifact.location) if self.recognising else None) or b""
        identity = f"{artifact.location}#{digest(head)}"
        return identity if (name, identity) not in self.own else f"{identity}-{artifact.version}"


def _by_head(records: Iterable[KnownArtifact]) -> dict[tuple[int, str], list[KnownArtifact]]:
    by_head: dict[tuple[int, str], list[KnownArtifact]] = {}
    for record in records:
        by_head.setdefault((min(record.offset, HEAD_BYTES), record.head), []).append(record)
    return by_head
