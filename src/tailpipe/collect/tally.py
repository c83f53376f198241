"""Facts of tasks, added up per unit: what to commit, and what failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from tailpipe.collect.jobs import Slots, artifact_constants
from tailpipe.collect.outcome import UnitDone
from tailpipe.collect.plan import Action, ArtifactKey, PlannedArtifact, Unit
from tailpipe.collect.replacement import Replacement, open_line_id
from tailpipe.collect.target import Target
from tailpipe.lake.extent import is_untold
from tailpipe.lake.facts import ErrorFact, Fact, FileFact, ReadFact, RejectsFact, RowsFact
from tailpipe.lake.known import Key
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.records import Reading, RowCounts

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MIN = datetime.min.replace(tzinfo=UTC) - _EPOCH
_MAX = datetime.max.replace(tzinfo=UTC) - _EPOCH


@dataclass
class UnitTally:
    """`errors` holds a sentence per artifact that could not be read. `known` is what is known of artifacts after a
    commit. `restarted` are those whose last line went on since it was taken: what it gave then goes with `replacement`.
    """

    target: Target
    unit: Unit
    run: str
    now: datetime
    files: list[FileFact] = field(default_factory=list)
    rejects: list[RejectsFact] = field(default_factory=list)
    known: dict[Key, KnownArtifact] = field(default_factory=dict)
    errors: dict[ArtifactKey, str] = field(default_factory=dict)
    by_artifact: dict[ArtifactKey, RowCounts] = field(default_factory=dict)
    raw_bytes: int = 0
    rows: RowCounts = field(default_factory=RowCounts)
    restarted: list[PlannedArtifact] = field(default_factory=list)
    replacement: Replacement = field(default_factory=Replacement)

    def add(self, planned: PlannedArtifact, read: Reading, counts: RowsFact) -> None:
        """One artifact that was read to its end, or of which all rejects of one place were tried."""
        before = planned.known.rows.stored if planned.known and planned.action is Action.WIDEN else 0
        rows = RowCounts(
            read=read.rows,
            stored=counts.stored,
            filtered=read.rows - counts.stored - counts.outside - counts.rejected,
            outside=counts.outside,
            rejected=counts.rejected,
            stored_before=min(before, counts.outside),
        )
        self.rows += rows
        self.by_artifact[planned.key] = rows
        self.raw_bytes += read.size_bytes
        self._know(planned, read, rows, counts)
        if read.is_restarted:
            self.restarted.append(planned)

    def _know(self, planned: PlannedArtifact, read: Reading, rows: RowCounts, counts: RowsFact) -> None:
        key = planned.source(self.target), planned.identity
        if planned.action is Action.RETRY and planned.known is not None:
            # Its rejects may be of several places.
            self.known[key] = _retried(self.known.get(key, planned.known), rows, counts)
        else:
            self.known[key] = _known(key, planned, read, rows, counts, self.run, self.now)

    def known_of(self, planned: PlannedArtifact) -> KnownArtifact:
        return self.known[planned.source(self.target), planned.identity]

    def left(self) -> tuple[PlannedArtifact, ...]:
        """Artifacts of the unit that nobody began to read."""
        return tuple(
            item
            for item in self.unit.artifacts
            if item.key not in self.by_artifact and item.key not in self.errors
        )

    @property
    def can_be_committed(self) -> bool:
        """Whether there is anything to commit: artifacts of a day all or none, others those that were read."""
        return not self.errors and (bool(self.by_artifact) if not self.unit.is_whole else not self.left())

    @property
    def read(self) -> Unit:
        """The unit with the artifacts that were read."""
        read = tuple(item for item in self.unit.artifacts if item.key in self.by_artifact)
        return replace(self.unit, artifacts=read)

    def done(self) -> UnitDone:
        """What to tell when it is committed."""
        unit = self.read
        return UnitDone(
            unit=unit,
            rows=self.rows,
            size_bytes=unit.size_bytes,
            raw_bytes=self.raw_bytes,
            stored_bytes=sum(fact.size_bytes for fact in self.files),
            files=len(self.files),
            days=frozenset(fact.partition_values["tp_date"] for fact in self.files),
            waiting=tuple(known.location for known in self.known.values() if known.waiting_bytes),
            went_on=len(self.restarted),
        )

    def replace(self, replacement: Replacement) -> None:
        """Takes out what was stored, and counts no line twice that went on."""
        self.replacement = replacement
        for planned in self.restarted:
            known = self.known_of(planned)
            self.known[known.key] = _without_line(known, planned, self.target, replacement)

    @property
    def written(self) -> list[str]:
        files = (*self.files, *self.replacement.files)
        rejects = (*self.rejects, *self.replacement.rejects)
        return [fact.path for fact in files] + [fact.path for fact in rejects]


def add_facts(
    tallies: dict[str, UnitTally],
    slots: Slots,
    facts: Iterable[Fact],
    is_stopped: bool = False,
) -> None:
    """`slots` says which unit and artifact the numbers in the facts mean. Facts may come in any order.

    A job that was stopped has left artifacts out.
    """
    reads: dict[int, Reading] = {}
    errors: dict[int, str] = {}
    counts: dict[int, RowsFact] = {}
    for fact in facts:
        match fact:
            case FileFact():
                tallies[fact.unit].files.append(fact)
            case RejectsFact():
                tallies[fact.unit].rejects.append(fact)
            case ReadFact():
                reads[fact.slot] = _sum_reads(reads.get(fact.slot), fact.reading)
            case ErrorFact():
                errors[fact.slot] = fact.message
            case RowsFact():
                counts[fact.slot] = _sum_rows(counts.get(fact.slot), fact)
    for slot, (unit, planned) in enumerate(slots):
        tally = tallies[unit.key]
        if slot in errors:
            name, text = planned.artifact.location, errors[slot]
            tally.errors[planned.key] = text if name in text else f"{name}: {text}"
        elif slot not in reads and is_stopped:
            continue
        elif slot not in reads:
            tally.errors[planned.key] = f"{planned.artifact.location}: the engine did not read it to its end"
        else:
            tally.add(planned, reads[slot], counts.get(slot) or RowsFact(slot, 0, 0, 0))


def _sum_reads(a: Reading | None, b: Reading) -> Reading:
    """Rejects of one artifact may lie in files that several tasks read."""
    if a is None:
        return b
    return msgspec.structs.replace(b, rows=a.rows + b.rows, size_bytes=a.size_bytes + b.size_bytes)


def _sum_rows(a: RowsFact | None, b: RowsFact) -> RowsFact:
    if a is None:
        return b
    return RowsFact(
        b.slot,
        a.stored + b.stored,
        a.outside + b.outside,
        a.rejected + b.rejected,
        first_of(a.first, b.first),
        last_of(a.last, b.last),
        first_of(a.oldest, b.oldest),
        last_of(a.newest, b.newest),
    )


def _known(
    key: Key,
    planned: PlannedArtifact,
    read: Reading,
    rows: RowCounts,
    span: RowsFact,
    run: str,
    now: datetime,
) -> KnownArtifact:
    """What is known of the artifact after this reading, together with what was known before."""
    artifact, known = planned.artifact, planned.known
    total, first, last = rows, moment(span.first), moment(span.last)
    oldest, newest = moment(span.oldest), moment(span.newest)
    if known is not None and planned.action in (Action.READ_ON, Action.WIDEN):
        total = _total(known.rows, rows, is_reread=planned.action is Action.WIDEN)
        first, last = first_of(known.first, first), last_of(known.last, last)
        if planned.action is Action.READ_ON and is_untold(known):
            oldest = newest = None
        else:
            oldest, newest = first_of(known.oldest, first, oldest), last_of(known.newest, last, newest)
    return KnownArtifact(
        source=key[0],
        identity=key[1],
        location=artifact.location,
        version=artifact.version,
        size_bytes=artifact.size_bytes,
        span=artifact.span,
        kept=planned.kept,
        mark=read.mark,
        waiting_bytes=read.waiting_bytes,
        constants=artifact_constants(artifact),
        rows=total,
        first=first,
        last=last,
        collected_at=now,
        run=run,
        oldest=oldest,
        newest=newest,
    )


def _retried(known: KnownArtifact, rows: RowCounts, span: RowsFact) -> KnownArtifact:
    """Its records are the same ones; some of them are no longer rejected."""
    return msgspec.structs.replace(
        known,
        rows=known.rows + rows + RowCounts(read=-rows.read, rejected=-rows.read),
        first=first_of(known.first, moment(span.first)),
        last=last_of(known.last, moment(span.last)),
        oldest=None if is_untold(known) else first_of(known.oldest, moment(span.oldest)),
        newest=None if is_untold(known) else last_of(known.newest, moment(span.newest)),
    )


def _total(known: RowCounts, rows: RowCounts, is_reread: bool) -> RowCounts:
    """Records that were read again are the same ones: only what was stored of them is more."""
    if not is_reread:
        return known + rows
    # Of what was deleted since, the known artifact may still count some.
    stored = min(known.stored + rows.stored, rows.read - known.rejected)
    left_out = rows.read - stored - known.rejected
    filtered = min(known.filtered, left_out)
    return RowCounts(rows.read, stored, filtered, left_out - filtered, known.rejected)


def _without_line(
    record: KnownArtifact, planned: PlannedArtifact, target: Target, replacement: Replacement
) -> KnownArtifact:
    """The record without what its last line counted for when it was taken the first time."""
    known, id = planned.known, open_line_id(target, planned)
    assert known is not None
    # What is neither in the table nor in quarantine was dropped then, or was deleted since.
    if id in replacement.rejects_found:
        line = RowCounts(-1, rejected=-1)
    elif id in replacement.rows_found:
        line = RowCounts(-1, stored=-1)
    else:
        counted = [
            (known.rows.filtered, "filtered"),
            (known.rows.outside, "outside"),
            (known.rows.stored, "stored"),
        ]
        line = RowCounts(-1, **{next((name for count, name in counted if count), "rejected"): -1})
    return msgspec.structs.replace(record, rows=record.rows + line)


def first_of(*times: Any) -> Any:
    """The least of moments, or of numbers; None counts for nothing."""
    return min((time for time in times if time is not None), default=None)


def last_of(*times: Any) -> Any:
    return max((time for time in times if time is not None), default=None)


def moment(microseconds: int | None) -> datetime | None:
    """Since 1970. Rows outside the window may be of times that no calendar has: they count as its first or last."""
    if microseconds is None:
        return None
    return _EPOCH + min(max(timedelta(microseconds=1) * microseconds, _MIN), _MAX)
