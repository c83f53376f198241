"""What came of tried rejects, added up by artifact: the files to commit, and what is known of artifacts then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from tailpipe.collect.outcome import Rows
from tailpipe.collect.retry_plan import RetriedArtifact
from tailpipe.collect.tally import first_of, last_of, moment
from tailpipe.lake.extent import is_untold
from tailpipe.lake.facts import Fact, FileFact, ReadFact, RejectsFact, RowsFact
from tailpipe.lake.manifest import KnownArtifact


@dataclass
class _Counts:
    read: int = 0
    stored: int = 0
    outside: int = 0
    rejected: int = 0
    times: list[int] = field(default_factory=list)
    all_times: list[int] = field(default_factory=list)

    @property
    def rows(self) -> Rows:
        filtered = self.read - self.stored - self.rejected
        return Rows(self.read, self.stored, filtered, self.outside, self.rejected)


@dataclass
class RetryTally:
    files: list[FileFact] = field(default_factory=list)
    rejects: list[RejectsFact] = field(default_factory=list)
    counts: dict[str, _Counts] = field(default_factory=lambda: defaultdict(_Counts))
    known: dict[str, KnownArtifact] = field(default_factory=dict)

    def add(self, artifacts: Sequence[RetriedArtifact], facts: Iterable[Fact]) -> None:
        """`artifacts` are what the numbers in the facts mean. An artifact may have several numbers."""
        self.known |= {item.prefix: item.record for item in artifacts}
        for fact in facts:
            match fact:
                case FileFact():
                    self.files.append(fact)
                case RejectsFact():
                    self.rejects.append(fact)
                case ReadFact():
                    self.counts[artifacts[fact.slot].prefix].read += fact.reading.rows
                case RowsFact():
                    self._add_rows(self.counts[artifacts[fact.slot].prefix], fact)

    def _add_rows(self, counts: _Counts, fact: RowsFact) -> None:
        counts.stored += fact.stored
        counts.outside += fact.outside
        counts.rejected += fact.rejected
        counts.times += [moment for moment in (fact.first, fact.last) if moment is not None]
        counts.all_times += [moment for moment in (fact.oldest, fact.newest) if moment is not None]

    @property
    def rows(self) -> Rows:
        return sum((counts.rows for counts in self.counts.values()), Rows())

    @property
    def records(self) -> tuple[KnownArtifact, ...]:
        return tuple(_updated(self.known[prefix], counts) for prefix, counts in self.counts.items())

    @property
    def written(self) -> list[str]:
        return [fact.path for fact in self.files] + [fact.path for fact in self.rejects]


def _updated(record: KnownArtifact, counts: _Counts) -> KnownArtifact:
    """Its records are the same ones; some of them are no longer rejected."""
    rows = counts.rows
    times, all_times = (
        [moment(microseconds) for microseconds in found] for found in (counts.times, counts.all_times)
    )
    return msgspec.structs.replace(
        record,
        stored=record.stored + rows.stored,
        filtered=record.filtered + rows.filtered - rows.outside,
        outside=record.outside + rows.outside,
        rejected=record.rejected - rows.read + rows.rejected,
        first=first_of(record.first, *times),
        last=last_of(record.last, *times),
        oldest=None if is_untold(record) else first_of(record.oldest, *all_times),
        newest=None if is_untold(record) else last_of(record.newest, *all_times),
    )
