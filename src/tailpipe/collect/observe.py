"""Lists sources and looks into files: all reading that a plan needs, done before anything is decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tailpipe.collect.listing import Listing, ListingFailure
from tailpipe.collect.messages import listing_message
from tailpipe.collect.recognise import recognise
from tailpipe.collect.sighting import Observation
from tailpipe.collect.target import Feed, Target
from tailpipe.collect.windows import Wanted
from tailpipe.lake.known import Key
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.lake.state import PartitionState
from tailpipe.sources.artifact import Artifact, Listed, Skipped, SkipReason, Unlisted
from tailpipe.times import Window

_OUTSIDE = (SkipReason.OUTSIDE_WINDOW, SkipReason.FOLDER_OUTSIDE_WINDOW)


def observe(
    target: Target, state: PartitionState, wanted: Sequence[Wanted], now: datetime
) -> tuple[Observation, ...]:
    """One observation for each feed. Whatever breaks in a source costs that source alone.

    All are listed first: content that one source no longer shows may lie in another one now.
    """
    configured = {source.name for source in target.config.sources}
    shown = [
        _list(feed, _listed_window(feed, state, wants, configured))
        for feed, wants in zip(target.feeds, wanted, strict=True)
    ]
    orphans = _orphans(configured, state, shown)
    observed: list[Observation] = []
    for feed, one in zip(target.feeds, shown, strict=True):
        observation = _recognise(feed, one, state, orphans, now)
        taken = (
            {each.known.key for each in observation.sightings if each.known is not None} if orphans else ()
        )
        orphans = {key: known for key, known in orphans.items() if key not in taken}
        observed.append(observation)
    return tuple(observed)


@dataclass(frozen=True)
class _Shown:
    window: Window
    listing: Listing
    artifacts: tuple[Artifact, ...] = ()


def _listed_window(feed: Feed, state: PartitionState, wanted: Wanted, configured: set[str]) -> Window:
    """Also where artifacts lie that are to be read for rows of another day than their own.

    Known artifacts of sources that are not configured any more may be what this one shows.
    """
    name = feed.source.name
    return wanted.listed_with(
        known.span
        for known in state.artifacts.known()
        if known.span is not None
        and (known.source == name or known.source not in configured)
        and wanted.reaches(known)
    )


def _list(feed: Feed, window: Window) -> _Shown:
    seen = _Seen()
    try:
        for item in feed.source.list(window):
            seen.add(item)
    except Exception as error:
        # Half a listing says nothing about the other half: nothing of the source is planned.
        listing = seen.listing(feed, ())
        return _Shown(window, replace(listing, failures=(*listing.failures, _failure(feed, error))))
    artifacts = tuple(seen.artifacts)
    return _Shown(window, seen.listing(feed, artifacts), artifacts)


@dataclass
class _Seen:
    """What a listing has shown so far."""

    artifacts: list[Artifact] = field(default_factory=list)
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    examples: dict[SkipReason, str] = field(default_factory=dict)
    hints: dict[SkipReason, str] = field(default_factory=dict)
    failures: list[ListingFailure] = field(default_factory=list)
    newest_outside: str | None = None

    def add(self, item: Listed) -> None:
        if isinstance(item, Artifact):
            self.artifacts.append(item)
        elif isinstance(item, Unlisted):
            hint = f"\nhint: {item.hint}" if item.hint else ""
            self.failures.append(ListingFailure(item.location, f"{item.error}{hint}"))
        else:
            self._skip(item)

    def _skip(self, item: Skipped) -> None:
        self.skipped[item.reason] += 1
        self.examples.setdefault(item.reason, item.location)
        if item.hint:
            self.hints.setdefault(item.reason, item.hint)
        if item.reason in _OUTSIDE:
            self.newest_outside = max(self.newest_outside or "", item.location)

    def listing(self, feed: Feed, artifacts: Sequence[Artifact]) -> Listing:
        skipped = Counter(self.skipped)
        folders_outside = skipped.pop(SkipReason.FOLDER_OUTSIDE_WINDOW, 0)
        newest = max(artifacts, key=_recency, default=None)
        return Listing(
            source=feed.source.name,
            type=feed.source.type,
            listed=len(artifacts) + skipped.total(),
            matched=len(artifacts) + skipped.get(SkipReason.OUTSIDE_WINDOW, 0),
            skipped=dict(skipped),
            skip_examples=self.examples,
            skip_hints=self.hints,
            folders_outside=folders_outside,
            failures=tuple(self.failures),
            newest=newest.location if newest else self.newest_outside,
        )


def _failure(feed: Feed, error: Exception) -> ListingFailure:
    return ListingFailure(f"source {feed.source.name}", listing_message(error))


def _recency(artifact: Artifact) -> tuple[datetime, str]:
    return artifact.span.start if artifact.span else datetime.min.replace(tzinfo=UTC), artifact.version


def _orphans(
    configured: set[str], state: PartitionState, shown: Sequence[_Shown]
) -> Mapping[Key, KnownArtifact]:
    """Known artifacts of sources that are not there any more, or no longer show them.

    A source without a label is named by its number: one that is put before it takes its name. What is shown by another
    source now is still the same artifact. Sources that this run leaves alone keep theirs.
    """
    kept = [known for known in state.artifacts.known() if known.kept]
    if len(configured) == 1 and all(known.source in configured for known in kept):
        return {}
    # A source that could not be listed to its end may still have what it did not show.
    places = {
        one.listing.source: {artifact.location for artifact in one.artifacts}
        for one in shown
        if not one.listing.failures
    }
    return {
        known.key: known
        for known in kept
        if known.source not in configured
        or (known.source in places and known.location not in places[known.source])
    }


def _recognise(
    feed: Feed, shown: _Shown, state: PartitionState, orphans: Mapping[Key, KnownArtifact], now: datetime
) -> Observation:
    foreign = [known for known in orphans.values() if known.source != feed.source.name]
    try:
        sightings = recognise(feed, state.artifacts, shown.artifacts, shown.window, now, foreign)
    except Exception as error:
        failures = (*shown.listing.failures, _failure(feed, error))
        return Observation(Listing(feed.source.name, feed.source.type, failures=failures))
    return Observation(shown.listing, tuple(sightings))
