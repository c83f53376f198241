"""Which of the artifacts that a source shows need no further look: all that is wanted of them is in the lake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailpipe.arrow import np
from tailpipe.collect.windows import ALWAYS, Wanted
from tailpipe.lake.columns import Numbers
from tailpipe.lake.known import Artifacts
from tailpipe.sources.artifact import Artifact


@dataclass(frozen=True)
class Settling:
    """An artifact is settled where it lies where it lay, in the same version, no last line of it waits, and what is
    kept of it is what is wanted: all of one with a date, of others all that was ever asked for.

    `decide_artifact` finds nothing to do with such an artifact. Most are settled in most runs, and there may be
    millions: they are told from the others by columns.
    """

    artifacts: Artifacts
    own: Numbers
    if_dated: Numbers
    if_undated: Numbers

    @classmethod
    def of(cls, artifacts: Artifacts, source: str, wanted: Wanted) -> Settling:
        own = artifacts.is_of((source,))
        may_be = own & ~artifacts.is_waiting & (not wanted.is_overwrite)
        return cls(
            artifacts, own, may_be & artifacts.keeps((ALWAYS,)), may_be & artifacts.keeps(wanted.asked)
        )

    def rows(self, found: Sequence[Artifact]) -> Numbers:
        """For each artifact the row of the known one by which it is settled; -1 where it is not."""
        if not (self.if_dated.any() or self.if_undated.any()):
            return np.full(len(found), -1)
        rows = self.artifacts.at([each.location for each in found], self.own)
        is_same = self.artifacts.has_versions(rows, [each.version for each in found])
        is_dated = np.fromiter((each.span is not None for each in found), bool, len(found))
        is_kept = np.where(is_dated, self.if_dated[rows], self.if_undated[rows])
        return np.where(is_same & is_kept, rows, -1)
