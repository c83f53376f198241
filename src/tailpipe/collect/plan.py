"""What a run will do, as a list of small values: a dry run prints it, a run executes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import msgspec

from tailpipe.collect.listing import Listing, ListingFailure
from tailpipe.collect.messages import listing_message
from tailpipe.collect.recognise import Relation, Sighting, is_fresh, mark_of, recognise
from tailpipe.collect.target import Feed, Target
from tailpipe.collect.windows import ALWAYS, AskedWindow, Horizons, Wanted, wanted_windows
from tailpipe.formats.format import DOCUMENT, LINES
from tailpipe.lake.columns import id_prefix
from tailpipe.lake.extent import may_hold
from tailpipe.lake.known import Key
from tailpipe.lake.manifest import KnownArtifact, Windows
from tailpipe.lake.state import PartitionState, without
from tailpipe.sources.artifact import FOLDER_OUTSIDE, Artifact, Listed, Recognising, Skipped, Unlisted
from tailpipe.sources.fingerprint import can_read_on
from tailpipe.times import Window, merge

UNDATED_UNIT_BYTES = 512 * 1024 * 1024
_ALL = (ALWAYS,)


class Action(Enum):
    """How an artifact is read: for the first time, on from its mark, again for windows that are missing, or again
    from its start instead of all that came of it.
    """

    TAKE = "take"
    READ_ON = "read on"
    WIDEN = "widen"
    REPLACE = "replace"


class ArtifactKey(NamedTuple):
    """Which artifact of a plan, by the number of its feed and where it lies."""

    feed: int
    location: str


@dataclass(frozen=True)
class PlannedArtifact:
    """`keep` are the windows of time whose rows this reading stores, `kept` all that are in the lake after it."""

    feed: int
    artifact: Artifact
    action: Action = Action.TAKE
    identity: str = ""
    keep: Windows = (ALWAYS,)
    kept: Windows = (ALWAYS,)
    record: KnownArtifact | None = None

    @property
    def key(self) -> ArtifactKey:
        return ArtifactKey(self.feed, self.artifact.location)

    def source(self, target: Target) -> str:
        """The name of the source that it is known by: the one that showed it first."""
        return self.record.source if self.record else target.feeds[self.feed].source.name

    @property
    def size_bytes(self) -> int:
        """What is left to read, as stored; little can be said of the rest of a packed file."""
        read_before = self.artifact.start.offset if self.artifact.start else 0
        return max(0, self.artifact.size_bytes - read_before)


@dataclass(frozen=True)
class Unit:
    """Artifacts that commit together: those of one day, or some that have no date in their path."""

    day: date | None
    number: int
    artifacts: tuple[PlannedArtifact, ...]

    @property
    def key(self) -> str:
        return self.day.isoformat() if self.day else f"undated-{self.number}"

    @property
    def label(self) -> str:
        return self.day.isoformat() if self.day else f"undated files {self.number}"

    @property
    def is_whole(self) -> bool:
        """Whether it is committed whole or not at all; else its artifacts may be committed apart."""
        return self.day is not None

    @property
    def size_bytes(self) -> int:
        return sum(planned.size_bytes for planned in self.artifacts)


@dataclass(frozen=True)
class PartitionPlan:
    """Units in the order in which they run. `renamed` are records of content that only lies elsewhere now, or nowhere.

    `asked` are, by source, the windows that this run wants.
    """

    target: Target
    window: Window
    state: PartitionState
    units: tuple[Unit, ...]
    listings: tuple[Listing, ...]
    asked: Mapping[str, Windows] = field(default_factory=dict)
    renamed: tuple[KnownArtifact, ...] = ()
    is_overwrite: bool = False

    @property
    def unlisted(self) -> frozenset[str]:
        """Names of sources of which not everything could be listed: this run covers nothing of them."""
        return frozenset(listing.source for listing in self.listings if listing.failures)

    @property
    def artifact_count(self) -> int:
        return sum(len(unit.artifacts) for unit in self.units)

    @property
    def size_bytes(self) -> int:
        return sum(unit.size_bytes for unit in self.units)


def plan_partition(
    target: Target,
    state: PartitionState,
    asked: AskedWindow,
    horizons: Horizons,
    now: datetime,
    is_overwrite: bool = False,
) -> PartitionPlan:
    """Lists the sources and leaves out what the lake has. Reads no log content but the beginnings of changed files."""
    plans = [
        _FeedPlan(
            number,
            feed,
            state,
            wanted_windows(state, feed.source.name, asked, horizons, now, is_overwrite),
            now,
            is_overwrite,
        )
        for number, feed in enumerate(target.feeds)
    ]
    configured = {source.name for source in target.config.sources}
    for plan in plans:
        plan.look(configured)
    orphans = _orphans(configured, state, plans)
    found = [plan.run(orphans) for plan in plans]
    seen = {key for plan in plans for key in plan.seen}
    listings = tuple(plan.lose(listing, seen) for plan, listing in zip(plans, found, strict=True))
    planned = [item for plan in plans for item in plan.planned]
    windows = [window for plan in plans for window in plan.wanted.windows]
    return PartitionPlan(
        target,
        Window(min(window.start for window in windows), max(window.end for window in windows)),
        state,
        tuple(_units(planned, newest_first=state.is_new)),
        listings,
        {plan.feed.source.name: plan.wanted.windows for plan in plans},
        tuple(record for plan in plans for record in plan.renamed),
        is_overwrite,
    )


def _orphans(
    configured: set[str], state: PartitionState, plans: Sequence[_FeedPlan]
) -> dict[Key, KnownArtifact]:
    """Records of sources that are not there any more, or no longer show what the records are of.

    A source without a label is named by its number: one that is put before it takes its name. What is shown by another
    source now is still the same artifact. Sources that this run leaves alone keep theirs.
    """
    records = [record for record in state.artifacts.known() if record.kept]
    if len(configured) == 1 and all(record.source in configured for record in records):
        return {}
    # A source that could not be listed to its end may still have what it did not show.
    shown = {
        plan.feed.source.name: {artifact.location for artifact in plan.found}
        for plan in plans
        if not plan.failures
    }
    return {
        record.key: record
        for record in records
        if record.source not in configured
        or (record.source in shown and record.location not in shown[record.source])
    }


def stream_prefix(target: Target, source: str, identity: str) -> str:
    """What the ids of all rows and rejects of an artifact begin with."""
    return id_prefix(target.name, source, identity).decode()


@dataclass
class _FeedPlan:
    """What is to do with one source."""

    number: int
    feed: Feed
    state: PartitionState
    wanted: Wanted
    now: datetime
    is_overwrite: bool
    found: list[Artifact] = field(default_factory=list)
    newest_outside: str | None = None
    planned: list[PlannedArtifact] = field(default_factory=list)
    renamed: list[KnownArtifact] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    hints: dict[str, str] = field(default_factory=dict)
    failures: list[ListingFailure] = field(default_factory=list)
    folders_outside: int = 0
    seen: set[Key] = field(default_factory=set)
    known: int = 0
    moved: int = 0
    twice: int = 0
    unended: int = 0

    def __post_init__(self) -> None:
        self.listed = self.wanted.listed

    def look(self, configured: set[str]) -> None:
        """Lists the source, also where artifacts lie that are to be read for rows of another day than their own.

        Whatever breaks in it costs this source alone. Records of sources that are not configured any more may be of
        what this one shows.
        """
        name = self.feed.source.name
        self.listed = self.wanted.listed_with(
            record.span
            for record in self.state.artifacts.known()
            if record.span is not None
            and (record.source == name or record.source not in configured)
            and self.wanted.reaches(record)
        )
        try:
            for item in self.feed.source.list(self.listed):
                self._see(item)
        except Exception as error:
            self._give_up(error)

    def _see(self, item: Listed) -> None:
        if isinstance(item, Artifact):
            self.found.append(item)
        elif isinstance(item, Unlisted):
            hint = f"\nhint: {item.hint}" if item.hint else ""
            self.failures.append(ListingFailure(item.location, f"{item.error}{hint}"))
        elif item.reason == FOLDER_OUTSIDE:
            self.folders_outside += 1
            self.newest_outside = max(self.newest_outside or "", item.location)
        else:
            self._skip(item.reason, item)
            if item.hint:
                self.hints.setdefault(item.reason, item.hint)
            if item.reason == "outside window":
                self.newest_outside = max(self.newest_outside or "", item.location)

    def _give_up(self, error: Exception) -> None:
        """Half a listing says nothing about the other half: nothing of the source is planned."""
        self.found.clear()
        self.planned.clear()
        self.renamed.clear()
        self.failures.append(ListingFailure(f"source {self.feed.source.name}", listing_message(error)))

    def run(self, orphans: dict[Key, KnownArtifact]) -> Listing:
        """Takes what it recognises out of the orphans."""
        try:
            return self._run(orphans)
        except Exception as error:
            self._give_up(error)
            return Listing(self.feed.source.name, self.feed.source.type, failures=tuple(self.failures))

    def _run(self, orphans: dict[Key, KnownArtifact]) -> Listing:
        found = self.found
        listed = len(found) + sum(self.skipped.values())
        unfit = listed - len(found) - self.skipped["outside window"]
        shape = getattr(self.feed.format, "shape", DOCUMENT)
        foreign = [record for record in orphans.values() if record.source != self.feed.source.name]
        sightings = recognise(
            self.feed.source, shape, self.state.artifacts.known(), found, self.listed, self.now, foreign
        )
        for sighting in sightings:
            self._consider(sighting, shape)
            if sighting.record is not None:
                self.seen.add(sighting.record.key)
                orphans.pop(sighting.record.key, None)
        newest = max(found, key=_recency, default=None)
        actions = Counter(item.action for item in self.planned)
        return Listing(
            source=self.feed.source.name,
            type=self.feed.source.type,
            listed=listed,
            matched=listed - unfit,
            planned=len(self.planned),
            known=self.known,
            skipped=dict(+self.skipped),
            skip_examples={reason: self.examples[reason] for reason in self.skipped},
            skip_hints=self.hints,
            folders_outside=self.folders_outside,
            failures=tuple(self.failures),
            grown=actions[Action.READ_ON],
            replaced=actions[Action.REPLACE],
            moved=self.moved,
            gone=self._gone(sightings) if self.is_overwrite and not self.failures else 0,
            twice=self.twice,
            twice_example=self.examples.get("twice"),
            late_example=self.examples.get("late"),
            waiting_example=self.examples.get("waiting"),
            unended=self.unended,
            unended_example=self.examples.get("unended"),
            replaced_example=self.examples.get("replaced"),
            newest=newest.location if newest else self.newest_outside,
            doubted=self.wanted.doubted.isoformat() if self.wanted.doubted else None,
        )

    def lose(self, listing: Listing, seen: set[Key]) -> Listing:
        """Notes known artifacts with wanted rows that are not kept, and that no source shows."""
        if self.failures:
            return listing
        lost = [
            record
            for record in self.state.artifacts.known()
            if record.source == self.feed.source.name
            and record.key not in seen
            and self.wanted.misses(record)
        ]
        self.renamed += [msgspec.structs.replace(each, is_gone=True) for each in lost if not each.is_gone]
        example = max((record.location for record in lost), default=None)
        return replace(listing, lost=len(lost), lost_example=example)

    def _skip(self, reason: str, item: Artifact | Skipped) -> None:
        self.skipped[reason] += 1
        self.examples.setdefault(reason, item.location)

    def _consider(self, sighting: Sighting, shape: str) -> None:
        artifact = sighting.artifact
        if sighting.relation is Relation.SAME and sighting.record and sighting.record.waiting_bytes:
            self.unended += 1
            self.examples.setdefault("unended", artifact.location)
        if self._is_settled(sighting):
            self.known += 1
            return
        self.moved += sighting.record is not None and sighting.record.location != artifact.location
        if sighting.relation is Relation.WAITING:
            self._skip("waiting", artifact)
            return
        target = self._target_windows(artifact, sighting.record)
        if target is None and sighting.relation is not Relation.SAME:
            is_late = artifact.span is not None and self.wanted.is_late(artifact.span)
            self._skip("late" if is_late else "outside window", artifact)
            return
        planned = self._plan(sighting, target or (), shape)
        if planned is not None:
            self._add(planned)
            return
        self.known += 1
        if sighting.is_renamed and sighting.record is not None:
            self.renamed.append(
                msgspec.structs.replace(
                    sighting.record,
                    location=artifact.location,
                    version=artifact.version,
                    size_bytes=artifact.size_bytes,
                )
            )

    def _is_settled(self, sighting: Sighting) -> bool:
        """True where one look tells that all of it is in the lake, which is so for most artifacts in most runs."""
        record = sighting.record
        if (
            record is None
            or sighting.relation is not Relation.SAME
            or self.is_overwrite
            or sighting.is_renamed
        ):
            return False
        return record.kept == (_ALL if sighting.artifact.span else self.wanted.asked)

    def _target_windows(self, artifact: Artifact, record: KnownArtifact | None) -> Windows | None:
        """Windows of the artifact's rows that should be in the lake; None where it is not wanted now.

        A dated artifact is wanted whole. One without a date is wanted for all that was ever asked of its source, so
        that the order of runs does not matter; and so is what was taken out of a dated one.
        """
        if artifact.span is None:
            return self.wanted.asked
        if not self.wanted.includes(artifact.span) and not (record and self.wanted.reaches(record)):
            return None
        return self.wanted.asked if record and record.kept else _ALL

    def _plan(self, sighting: Sighting, target: Windows, shape: str) -> PlannedArtifact | None:
        artifact, record = sighting.artifact, sighting.record
        if record is None or not record.kept:
            return self._reading(sighting, Action.TAKE, target, target) if target else None
        kept = merge([*record.kept, *target])
        missing = without(target, record.kept)
        if not may_hold(record, missing):
            missing = ()
        if self.is_overwrite and target and self.wanted.touches(record):
            return self._reading(sighting, Action.REPLACE, kept, kept)
        if sighting.relation is Relation.SAME:
            return self._reading(sighting, Action.WIDEN, missing, kept) if missing else None
        if sighting.relation is Relation.GROWN:
            if record.offset == 0:
                return self._reading(sighting, Action.TAKE, kept, kept)
            if shape == LINES and not missing and self._can_read_on(artifact, record):
                return self._reading(sighting, Action.READ_ON, kept, kept)
        return self._reading(sighting, Action.REPLACE, kept, kept)

    def _can_read_on(self, artifact: Artifact, record: KnownArtifact) -> bool:
        source = self.feed.source
        if not isinstance(source, Recognising):
            return False
        head = source.head(artifact.location)
        if head is None or not can_read_on(head):
            return False
        return record.open_bytes > 0 or source.goes_on_at_line_end(artifact.location, mark_of(record))

    def _reading(self, sighting: Sighting, action: Action, keep: Windows, kept: Windows) -> PlannedArtifact:
        artifact, record = sighting.artifact, sighting.record
        is_text = getattr(self.feed.format, "shape", DOCUMENT) != DOCUMENT
        start = mark_of(record) if action is Action.READ_ON and record is not None else None
        waits_after = None
        if is_text and is_fresh(artifact, self.now):
            # What was taken before does not wait again: its rows would leave the lake meanwhile.
            is_known = sighting.relation in (Relation.SAME, Relation.GROWN)
            waits_after = record.offset if record is not None and is_known else 0
        ready = msgspec.structs.replace(artifact, start=start, waits_after=waits_after)
        return PlannedArtifact(self.number, ready, action, sighting.identity, keep, kept, record)

    def _add(self, planned: PlannedArtifact) -> None:
        self.planned.append(planned)
        artifact = planned.artifact
        if planned.action is Action.REPLACE:
            self.examples.setdefault("replaced", artifact.location)
        if planned.record is None:
            self._note_other_source(artifact)

    def _note_other_source(self, artifact: Artifact) -> None:
        other = self._other_sources.get((artifact.location, artifact.version))
        if other is not None:
            self.twice += 1
            self.examples.setdefault("twice", f"{artifact.location} (source {other})")

    @cached_property
    def _other_sources(self) -> dict[tuple[str, str], str]:
        """Names of the sources that collected an artifact, by its place and version."""
        own = self.feed.source.name
        return {
            (record.location, record.version): record.source
            for record in self.state.artifacts.known()
            if record.source != own and record.kept
        }

    def _gone(self, sightings: Iterable[Sighting]) -> int:
        """Artifacts of the window that the source no longer has: what was collected of them stays."""
        seen = {sighting.identity for sighting in sightings}
        own = (record for record in self.state.artifacts.known() if record.source == self.feed.source.name)
        return sum(
            record.identity not in seen and bool(record.kept) and self.wanted.touches(record)
            for record in own
        )


def _recency(artifact: Artifact) -> tuple[datetime, str]:
    return artifact.span.start if artifact.span else datetime.min.replace(tzinfo=UTC), artifact.version


def _units(planned: Iterable[PlannedArtifact], newest_first: bool) -> Iterator[Unit]:
    """One unit per day; undated artifacts share units of bounded size, behind the days."""
    by_day: dict[date, list[PlannedArtifact]] = {}
    undated: list[PlannedArtifact] = []
    for item in planned:
        if item.artifact.span is None:
            undated.append(item)
        else:
            by_day.setdefault(item.artifact.span.start.date(), []).append(item)
    for day in sorted(by_day, reverse=newest_first):
        yield Unit(day, 1, tuple(by_day[day]))
    yield from _undated_units(undated)


def _undated_units(undated: list[PlannedArtifact]) -> Iterator[Unit]:
    held: list[PlannedArtifact] = []
    held_bytes, number = 0, 1
    for item in undated:
        if held and held_bytes + item.artifact.size_bytes > UNDATED_UNIT_BYTES:
            yield Unit(None, number, tuple(held))
            held, held_bytes, number = [], 0, number + 1
        held.append(item)
        held_bytes += item.artifact.size_bytes
    if held:
        yield Unit(None, number, tuple(held))
