"""Facts of tasks, added up per unit: what to commit, and what failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tailpipe.collect.outcome import Rows
from tailpipe.collect.plan import PlannedArtifact, Unit
from tailpipe.collect.target import Target
from tailpipe.lake.facts import ErrorFact, Fact, FileFact, ReadFact, RejectsFact, RowsFact
from tailpipe.lake.manifest import ArtifactRecord


@dataclass
class UnitTally:
    """`errors` holds a sentence per artifact that could not be read."""

    unit: Unit
    files: list[FileFact] = field(default_factory=list)
    rejects: list[RejectsFact] = field(default_factory=list)
    records: list[ArtifactRecord] = field(default_factory=list)
    errors: dict[tuple[int, str], str] = field(default_factory=dict)
    raw_bytes: int = 0

    @property
    def rows(self) -> Rows:
        return sum((_rows(record) for record in self.records), Rows())

    @property
    def written(self) -> list[str]:
        return [fact.path for fact in self.files] + [fact.path for fact in self.rejects]


def add_facts(
    tallies: dict[str, UnitTally],
    target: Target,
    slots: Sequence[tuple[Unit, PlannedArtifact]],
    facts: Iterable[Fact],
) -> None:
    """`slots` says which unit and artifact the numbers in the facts mean. Facts may come in any order."""
    reads: dict[int, ReadFact] = {}
    errors: dict[int, str] = {}
    stored: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for fact in facts:
        match fact:
            case FileFact():
                tallies[fact.unit].files.append(fact)
            case RejectsFact():
                tallies[fact.unit].rejects.append(fact)
            case ReadFact():
                reads[fact.slot] = fact
            case ErrorFact():
                errors[fact.slot] = fact.message
            case RowsFact():
                counts = (fact.stored, fact.outside, fact.rejected)
                stored[fact.slot] = [a + b for a, b in zip(stored[fact.slot], counts, strict=True)]
    for slot, (unit, planned) in enumerate(slots):
        tally = tallies[unit.key]
        if slot in errors:
            tally.errors[planned.key] = errors[slot]
        elif slot not in reads:
            tally.errors[planned.key] = f"{planned.artifact.location}: the engine did not read it to its end"
        else:
            tally.raw_bytes += reads[slot].size_bytes
            tally.records.append(_record(target, planned, reads[slot].rows, *stored[slot]))


def _record(
    target: Target, planned: PlannedArtifact, rows: int, stored: int, outside: int, rejected: int
) -> ArtifactRecord:
    artifact = planned.artifact
    return ArtifactRecord(
        source=target.feeds[planned.feed].source.name,
        location=artifact.location,
        version=artifact.version,
        size_bytes=artifact.size_bytes,
        span=artifact.span,
        kept=planned.keep,
        rows=rows,
        stored=stored,
        filtered=rows - stored - outside - rejected,
        outside=outside,
        rejected=rejected,
    )


def _rows(record: ArtifactRecord) -> Rows:
    return Rows(
        read=record.rows,
        stored=record.stored,
        filtered=record.filtered + record.outside,
        outside=record.outside,
        rejected=record.rejected,
    )
