"""The known artifacts that a source may show: those that are settled, and others by place, by identity, and by how
their content begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tailpipe.arrow import np, pa, pc
from tailpipe.collect.windows import Wanted
from tailpipe.lake.columns import Numbers
from tailpipe.lake.known import Artifacts
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.sources.artifact import Artifact
from tailpipe.sources.fingerprint import HEAD_BYTES
from tailpipe.times import Window

_AT_ONCE = 50_000


@dataclass(frozen=True)
class Settling:
    """An artifact is settled where it lies where it lay, in the same version, no last line of it waits, and all that
    was ever asked for is kept of it.

    `decide_artifact` finds nothing to do with such an artifact. Most are settled in most runs, and there may be
    millions: they are told from the others by columns.
    """

    artifacts: Artifacts
    own: Numbers
    may_be: Numbers

    @classmethod
    def of(cls, artifacts: Artifacts, source: str, wanted: Wanted) -> Settling:
        own = artifacts.is_of((source,))
        may_be = own & ~artifacts.is_waiting & artifacts.keeps_all(wanted.asked)
        return cls(artifacts, own, may_be & (not wanted.is_overwrite))

    def rows(self, found: Sequence[Artifact]) -> Numbers:
        """For each artifact the row of the known one by which it is settled; -1 where it is not."""
        if not self.may_be.any():
            return np.full(len(found), -1)
        rows = self.artifacts.at([each.location for each in found], self.own)
        is_same = self.artifacts.has_versions(rows, [each.version for each in found])
        return np.where(is_same & self.may_be[rows], rows, -1)


@dataclass(frozen=True)
class Departed:
    """Artifacts that may have left their places, with the lengths and hashes of their beginnings."""

    artifacts: Artifacts
    rows: Numbers

    @cached_property
    def lengths(self) -> list[int]:
        """The longest first."""
        lengths = np.minimum(self._column("offset").to_numpy(), HEAD_BYTES)
        return sorted(np.unique(lengths).tolist(), reverse=True)

    @cached_property
    def heads(self) -> set[str]:
        return set(self._column("head").to_pylist())

    def beginning_with(self, heads: Iterable[str]) -> list[KnownArtifact]:
        is_one = pc.is_in(self._column("head"), value_set=pa.array(heads, pa.string())).to_numpy()
        return self.artifacts.known(self.rows[is_one])

    def _column(self, name: str) -> pa.ChunkedArray:
        return self.artifacts.select([name]).column(0).take(pa.array(self.rows))


@dataclass(frozen=True)
class Candidates:
    """Masks of known artifacts: those of the source, orphans of other sources, and those that were found in place."""

    artifacts: Artifacts
    source: str
    orphans: Numbers
    settled: Numbers

    @cached_property
    def own(self) -> Numbers:
        return self.artifacts.is_of((self.source,))

    def at(self, locations: Sequence[str]) -> dict[str, KnownArtifact]:
        """What was last known to lie at these places, where anything was: the source's own, else an orphan."""
        found: dict[str, KnownArtifact] = {}
        for which in (self.orphans, self.own):
            for start in range(0, len(locations) if which.any() else 0, _AT_ONCE):
                part = locations[start : start + _AT_ONCE]
                rows = self.artifacts.at(part, which)
                places = np.flatnonzero(rows >= 0)
                known = self.artifacts.known(rows[places])
                found |= zip((part[place] for place in places.tolist()), known, strict=True)
        return found

    def identities(self, names: Sequence[str]) -> set[str]:
        """Those of the names by which the source's own artifacts are known."""
        rows = self.artifacts.named(self.source, names) if self.own.any() else np.empty(0)
        return {names[number] for number in np.flatnonzero(rows >= 0).tolist()}

    def settled_at(self, locations: Sequence[str]) -> set[str]:
        rows = self.artifacts.at(locations, self.settled) if self.settled.any() else np.empty(0)
        return {locations[number] for number in np.flatnonzero(rows >= 0).tolist()}

    def departed(self, listed: Window, places: Sequence[str]) -> Departed:
        """Those that should have been listed, or at whose places something else may be; orphans first.

        Cheap to say: whether they left is asked of those whose beginning turns up elsewhere.
        """
        may_be = self.artifacts.where(lambda known: known.span is None or known.span.overlaps(listed))
        may_be |= self.artifacts.shares_place | self.artifacts.all_at(places)
        may_be &= (self.own | self.orphans) & ~self.settled
        rows = np.concatenate([np.flatnonzero(may_be & which) for which in (self.orphans, self.own)])
        if len(rows):
            rows = rows[self.artifacts.select(["offset"]).column(0).to_numpy()[rows] > 0]
        return Departed(self.artifacts, rows)
