"""What a run will do, as a list of small values: a dry run prints it, a run executes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from tailpipe.collect.target import Feed, Target
from tailpipe.errors import UsageError
from tailpipe.lake.log import PartitionState
from tailpipe.lake.manifest import ArtifactRecord
from tailpipe.sources.artifact import Artifact, Skipped
from tailpipe.times import Lookback, Window, parse_lookback, subtract

DEFAULT_LOOKBACK = "30d"
UNDATED_UNIT_BYTES = 512 * 1024 * 1024
# Rows without an asked-for end are kept whatever their date, so that a file need not be read again for them.
END_OF_TIME = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True)
class PlannedArtifact:
    """`keep` are the windows of an undated artifact whose rows are wanted; a dated one is wanted whole."""

    feed: int
    artifact: Artifact
    keep: tuple[Window, ...] = ()
    is_reread: bool = False

    @property
    def key(self) -> tuple[int, str]:
        return self.feed, self.artifact.location


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
    def size_bytes(self) -> int:
        return sum(planned.artifact.size_bytes for planned in self.artifacts)


@dataclass(frozen=True)
class Listing:
    """What one source showed, and why things were left alone."""

    source: str
    type: str
    listed: int = 0
    planned: int = 0
    known: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    mismatch_example: str | None = None
    newest: str | None = None


@dataclass(frozen=True)
class PartitionPlan:
    """Units in the order in which they run."""

    target: Target
    window: Window
    state_version: int
    units: tuple[Unit, ...]
    listings: tuple[Listing, ...]

    @property
    def artifact_count(self) -> int:
        return sum(len(unit.artifacts) for unit in self.units)

    @property
    def size_bytes(self) -> int:
        return sum(unit.size_bytes for unit in self.units)


@dataclass(frozen=True)
class AskedWindow:
    """`--from` and `--to`, where given."""

    start: datetime | None = None
    end: datetime | None = None


def plan_partition(
    target: Target, state: PartitionState, asked: AskedWindow, lookback: str | None, now: datetime
) -> PartitionPlan:
    """Lists the sources and leaves out what the lake has. Reads no log content."""
    window = _window(
        state, asked, parse_lookback(target.config.lookback or lookback or DEFAULT_LOOKBACK), now
    )
    planned: list[PlannedArtifact] = []
    listings = []
    for number, feed in enumerate(target.feeds):
        wanted, listing = _list_source(number, feed, window, state)
        planned += wanted
        listings.append(listing)
    units = tuple(_units(planned, newest_first=state.is_new))
    return PartitionPlan(target, window, state.version, units, tuple(listings))


def _window(state: PartitionState, asked: AskedWindow, lookback: Lookback, now: datetime) -> Window:
    """Without `--from`: the lookback, or from the last collected point where that is further back."""
    start = asked.start
    if start is None:
        ends = [record.span.end for record in state.artifacts.values() if record.span]
        start = min([now - lookback, *([max(ends)] if ends else [])])
        if asked.end and start >= asked.end:
            raise UsageError(
                f"the window is empty: without --from it begins {start:%Y-%m-%d %H:%M}, which is not before --to.",
                hint="give --from too",
            )
    return Window(start, asked.end or END_OF_TIME)


def _list_source(
    number: int, feed: Feed, window: Window, state: PartitionState
) -> tuple[list[PlannedArtifact], Listing]:
    planned: list[PlannedArtifact] = []
    skipped: Counter[str] = Counter()
    changed: list[str] = []
    listed = known = 0
    example: str | None = None
    newest: Artifact | None = None
    newest_outside: str | None = None
    for found in feed.source.list(window):
        listed += 1
        if isinstance(found, Skipped):
            skipped[found.reason] += 1
            example = example or (found.location if found.reason == "layout" else None)
            if found.reason == "outside window":
                newest_outside = max(newest_outside or "", found.location)
            continue
        newest = max(newest, found, key=_recency) if newest else found
        record = state.artifacts.get((feed.source.name, found.location))
        if record is not None and record.version != found.version:
            changed.append(found.location)
            continue
        wanted = _wanted(number, found, record, window)
        planned += [wanted] if wanted else []
        known += wanted is None
    listing = Listing(
        source=feed.source.name,
        type=feed.source.type,
        listed=listed,
        planned=len(planned),
        known=known,
        skipped=dict(skipped),
        changed=tuple(changed),
        mismatch_example=example,
        newest=newest.location if newest else newest_outside,
    )
    return planned, listing


def _recency(artifact: Artifact) -> tuple[datetime, str]:
    return artifact.span.start if artifact.span else datetime.min.replace(tzinfo=UTC), artifact.version


def _wanted(
    feed: int, artifact: Artifact, record: ArtifactRecord | None, window: Window
) -> PlannedArtifact | None:
    if artifact.span is not None:
        return PlannedArtifact(feed, artifact) if record is None else None
    if record is None:
        return PlannedArtifact(feed, artifact, keep=(window,))
    missing = subtract(window, record.kept) if record.kept else ()
    return PlannedArtifact(feed, artifact, keep=missing, is_reread=True) if missing else None


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
