"""Known content in what a source shows now: unchanged, grown, moved, or changed for good.

Content is known again by its beginning and by what stood before the point up to which it was read. That speaks only
for a file that left its old place: equal files at two living places are two artifacts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tailpipe.arrow import np
from tailpipe.collect.candidates import Candidates, Departed
from tailpipe.collect.listing import Relation, Sighting
from tailpipe.collect.target import Feed
from tailpipe.errors import ArtifactError
from tailpipe.formats.format import DOCUMENT, LINES
from tailpipe.lake.columns import Numbers
from tailpipe.lake.known import Artifacts, Key
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.sources.artifact import Artifact
from tailpipe.sources.decompress import is_archive
from tailpipe.sources.fingerprint import HEAD_BYTES, can_read_on, digest
from tailpipe.times import Window

# A last line that may be half written waits while the file was written to so short a time ago.
QUIET = timedelta(seconds=10)
# A packed file beside its original is taken for a second one when nobody has written to it for this long.
PACKING = timedelta(minutes=10)
_PACKED = frozenset({"gz", "bz2", "xz", "zst"})


def recognise(
    feed: Feed,
    artifacts: Artifacts,
    found: Sequence[Artifact],
    listed: Window,
    now: datetime,
    settled: Numbers | None = None,
    orphans: Numbers | None = None,
) -> list[Sighting]:
    """One sighting per artifact, in the order in which they were listed.

    Masks of known artifacts: `settled` were found at their places, and are not among these; `orphans` are of sources
    that no longer show them, and may lie in this one now.
    """
    nothing = np.zeros(len(artifacts), bool)
    orphans, settled = (nothing if mask is None else mask for mask in (orphans, settled))
    candidates = Candidates(artifacts, feed.source.name, orphans, settled)
    return _Recogniser(feed, candidates, found, listed, now).run()


@dataclass
class _Recogniser:
    feed: Feed
    candidates: Candidates
    found: Sequence[Artifact]
    listed: Window
    now: datetime
    seen: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        source = self.feed.source
        self.recognising = source if source.can_recognise else None
        self.framing = self.feed.format.framing

    def run(self) -> list[Sighting]:
        places = [artifact.location for artifact in self.found]
        self.at = self.candidates.at(places)
        in_place = [self._in_place(artifact) for artifact in self.found]
        pairs = list(zip(self.found, in_place, strict=True))
        unplaced = [artifact for artifact, sighting in pairs if sighting is None]
        elsewhere = dict(self._elsewhere(unplaced, places))
        left = [artifact for artifact in unplaced if artifact.location not in elsewhere]
        self.packed = self.candidates.at([*filter(None, map(self._original, left))])
        self.taken = self.candidates.identities([artifact.location for artifact in left])
        return [
            sighting or elsewhere.get(artifact.location) or self._leftover(artifact)
            for artifact, sighting in pairs
        ]

    def _sighting(
        self, artifact: Artifact, relation: Relation, identity: str, known: KnownArtifact | None = None
    ) -> Sighting:
        goes_on = relation is Relation.GROWN and known is not None and self._can_read_on(artifact, known)
        is_open = self.framing != DOCUMENT and self._is_fresh(artifact)
        return Sighting(artifact, relation, identity, known, goes_on, is_open)

    def _can_read_on(self, artifact: Artifact, known: KnownArtifact) -> bool:
        if self.framing != LINES or self.recognising is None or known.mark.offset == 0:
            return False
        head = self.recognising.head(artifact.location)
        if head is None or not can_read_on(head):
            return False
        return known.mark.open_bytes > 0 or self.recognising.goes_on_at_line_end(
            artifact.location, known.mark
        )

    def _is_fresh(self, artifact: Artifact) -> bool:
        """Whether somebody may be in the middle of a line. Times far in the future are of another clock and say
        nothing.
        """
        return artifact.modified is not None and abs(self.now - artifact.modified) < QUIET

    def _in_place(self, artifact: Artifact) -> Sighting | None:
        """None where the place is new, or holds something else than it did."""
        known = self.at.get(artifact.location)
        if known is None:
            return None
        relation = self._relation(artifact, known)
        if relation is None:
            return None
        self.seen.add(known.key)
        return self._sighting(artifact, relation, known.identity, known)

    def _relation(self, artifact: Artifact, known: KnownArtifact) -> Relation | None:
        if known.version == artifact.version:
            is_ready = known.waiting_bytes and not self._is_fresh(artifact)
            return Relation.GROWN if is_ready else Relation.SAME
        if self.recognising is None:
            return Relation.CHANGED
        if known.mark.offset == 0:
            return Relation.GROWN
        if not self.recognising.holds(artifact.location, known.mark):
            return None
        if artifact.size_bytes == known.size_bytes and not known.waiting_bytes:
            return Relation.SAME
        return self._more

    def _elsewhere(
        self, unplaced: Sequence[Artifact], places: Sequence[str]
    ) -> Iterator[tuple[str, Sighting]]:
        """Content that left its old place and lies at a new one."""
        if self.recognising is None or not unplaced:
            return
        departed = self.candidates.departed(self.listed, places)
        begun = (
            {each.location: self._beginnings(each, departed) for each in unplaced} if departed.heads else {}
        )
        begun = {location: heads for location, heads in begun.items() if heads}
        known = departed.beginning_with({head for heads in begun.values() for _, head in heads})
        shown = {*places, *self.candidates.settled_at([each.location for each in known])}
        by_head = _by_head(each for each in known if self._may_have_left(each, shown))
        for artifact in unplaced:
            heads = begun.get(artifact.location, ())
            moved = self._first_held(
                artifact, [each for key in heads for each in by_head.get(key, ())], shown
            )
            if moved is not None:
                self.seen.add(moved.key)
                relation = Relation.SAME if self._is_whole(artifact, moved) else self._more
                yield artifact.location, self._sighting(artifact, relation, moved.identity, moved)

    def _beginnings(self, artifact: Artifact, departed: Departed) -> list[tuple[int, str]]:
        """Lengths and hashes of its beginning that departed content has too."""
        assert self.recognising is not None
        head = self.recognising.head(artifact.location) or b""
        heads = ((length, digest(head[:length])) for length in departed.lengths if length <= len(head))
        return [(length, hashed) for length, hashed in heads if hashed in departed.heads]

    @property
    def _more(self) -> Relation:
        """What content is that holds what was read, and may hold more."""
        return Relation.GROWN if self.framing != DOCUMENT else Relation.CHANGED

    def _is_whole(self, artifact: Artifact, known: KnownArtifact) -> bool:
        """Whether content that moved is known to end where it was read to. The size of a packed file alone says
        nothing of that: it may be that of the plain one by chance.
        """
        if artifact.size_bytes != known.mark.offset:
            return artifact.size_bytes == known.size_bytes and not known.waiting_bytes
        head = (self.recognising.head(artifact.location) if self.recognising else None) or b""
        with suppress(OSError, ArtifactError), self.feed.source.open(artifact) as stored:
            return stored.read(len(head)) == head
        return False

    def _may_have_left(self, known: KnownArtifact, places: set[str]) -> bool:
        is_expected = known.span is None or known.span.overlaps(self.listed)
        return known.key not in self.seen and (is_expected or known.location in places)

    def _first_held(
        self, artifact: Artifact, candidates: Iterable[KnownArtifact], places: set[str]
    ) -> KnownArtifact | None:
        assert self.recognising is not None
        for known in sorted(candidates, key=lambda known: -known.mark.offset):
            if known.key in self.seen:
                continue
            mark = known.mark
            has_left = known.location in places or not self.recognising.holds(known.location, mark)
            if has_left and self.recognising.holds(artifact.location, mark):
                return known
        return None

    def _leftover(self, artifact: Artifact) -> Sighting:
        """A new place, or new content in a known one whose old content is nowhere to be seen.

        Lines without a date are a log that was rotated away or emptied: what was collected of it stays. Documents,
        archives and what has a date are new versions of what they were.
        """
        known = self.at.get(artifact.location)
        if self._original(artifact) in self.packed:
            return self._sighting(artifact, Relation.WAITING, artifact.location)
        is_replaced = known is not None and known.key not in self.seen
        if known is not None and is_replaced and self._is_a_version(artifact):
            return self._sighting(artifact, Relation.CHANGED, known.identity, known)
        return self._sighting(artifact, Relation.NEW, self._new_identity(artifact))

    def _is_a_version(self, artifact: Artifact) -> bool:
        """Whether new content means the old one in other words, and does not go on after it."""
        if artifact.span is not None or self.framing == DOCUMENT or self.recognising is None:
            return True
        return is_archive(self.recognising.head(artifact.location) or b"")

    def _original(self, artifact: Artifact) -> str | None:
        """`app.log.1.gz` is written beside `app.log.1`, which goes when it is whole: both hold the same lines."""
        original, _, extension = artifact.location.rpartition(".")
        is_recent = artifact.modified is not None and self.now - artifact.modified < PACKING
        return original if extension in _PACKED and is_recent else None

    def _new_identity(self, artifact: Artifact) -> str:
        if artifact.location not in self.taken:
            return artifact.location
        head = (self.recognising.head(artifact.location) if self.recognising else None) or b""
        identity = f"{artifact.location}#{digest(head)}"
        return f"{identity}-{artifact.version}" if self.candidates.identities([identity]) else identity


def _by_head(artifacts: Iterable[KnownArtifact]) -> dict[tuple[int, str], list[KnownArtifact]]:
    by_head: dict[tuple[int, str], list[KnownArtifact]] = {}
    for known in artifacts:
        by_head.setdefault((min(known.mark.offset, HEAD_BYTES), known.mark.head), []).append(known)
    return by_head
