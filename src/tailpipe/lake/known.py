"""What is known of the artifacts of a partition."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from tailpipe.lake.manifest import KnownArtifact

Key = tuple[str, str]


@dataclass(frozen=True)
class Artifacts:
    """Known artifacts, one for each source and identity, in the order in which they were last seen to change."""

    _by_key: Mapping[Key, KnownArtifact] = field(default_factory=dict)

    @classmethod
    def of_known(cls, known: Iterable[KnownArtifact]) -> Self:
        """Of several with the same key the last one counts."""
        return cls({each.key: each for each in known})

    def __len__(self) -> int:
        return len(self._by_key)

    def known(self) -> Iterator[KnownArtifact]:
        """All of them."""
        return iter(self._by_key.values())

    def of(self, source: str, identity: str) -> KnownArtifact | None:
        return self._by_key.get((source, identity))

    def of_sources(self, sources: Container[str]) -> Artifacts:
        return Artifacts({key: each for key, each in self._by_key.items() if key[0] in sources})

    @property
    def are_kept(self) -> bool:
        """Whether rows of any are kept."""
        return any(each.kept for each in self._by_key.values())

    def newest_end(self, source: str, now: datetime) -> datetime | None:
        """The last end of a span that has begun, of artifacts of the source of which rows are kept."""
        ends = (
            each.span.end
            for each in self._by_key.values()
            if each.source == source and each.kept and each.span and each.span.start <= now
        )
        return max(ends, default=None)
