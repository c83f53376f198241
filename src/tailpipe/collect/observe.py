"""Lists sources and looks into files: all reading that a plan needs, done before anything is decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from operator import attrgetter

from tailpipe.arrow import np
from tailpipe.collect.candidates import Settling
from tailpipe.collect.listing import Listing, ListingFailure, Observation
from tailpipe.collect.messages import listing_message
from tailpipe.collect.recognise import recognise
from tailpipe.collect.target import Feed, Target
from tailpipe.collect.windows import Wanted
from tailpipe.lake.columns import Numbers
from tailpipe.lake.known import Artifacts
from tailpipe.lake.state import PartitionState
from tailpipe.sources.artifact import Artifact, Listed, Skipped, SkipReason, Unlisted
from tailpipe.times import Window

# So many things are listed before they are compared with what is known. Most are settled then, and forgotten.
CHUNK = 5_000
_OUTSIDE = (SkipReason.OUTSIDE_WINDOW, SkipReason.FOLDER_OUTSIDE_WINDOW)
_NEVER = datetime.min.replace(tzinfo=UTC)


def observe(
    target: Target, state: PartitionState, wanted: Sequence[Wanted], now: datetime
) -> tuple[Observation, ...]:
    """One observation for each feed. Whatever breaks in a source costs that source alone.

    All are listed first: content that one source no longer shows may lie in another one now.
    """
    artifacts = state.artifacts
    configured = {source.name for source in target.config.sources}
    shown = [
        _list(feed, _listed_window(feed, artifacts, wants, configured), artifacts, wants)
        for feed, wants in zip(target.feeds, wanted, strict=True)
    ]
    orphans = _orphans(artifacts, configured, shown)
    observed: list[Observation] = []
    for feed, one in zip(target.feeds, shown, strict=True):
        observed.append(_recognise(feed, one, artifacts, orphans, now))
        orphans = orphans & ~_known_in(observed[-1], artifacts) if orphans.any() else orphans
    return tuple(observed)


def _listed_window(feed: Feed, artifacts: Artifacts, wanted: Wanted, configured: set[str]) -> Window:
    """Also where artifacts lie that are to be read for rows of another day than their own.

    Known artifacts of sources that are not configured any more may be what this one shows.
    """
    name = feed.source.name
    return wanted.listed_with(
        known.span
        for known, _ in artifacts.alike()
        if known.span is not None
        and (known.source == name or known.source not in configured)
        and wanted.reaches(known)
    )


@dataclass(frozen=True)
class _Shown:
    """What one source listed: which of the known artifacts are settled, and all others that it has."""

    window: Window
    listing: Listing
    settled: Numbers
    unsettled: Sequence[Artifact] = ()


def _list(feed: Feed, window: Window, artifacts: Artifacts, wanted: Wanted) -> _Shown:
    seen = _Seen(Settling.of(artifacts, feed.source.name, wanted), np.zeros(len(artifacts), bool))
    try:
        items = iter(feed.source.list(window))
        while seen.add_next(items):
            pass
    except Exception as error:
        # Half a listing says nothing about the other half: nothing of the source is planned.
        listing = replace(seen, found=0, newest=None).listing(feed, _failure(feed, error))
        return _Shown(window, listing, np.zeros(len(artifacts), bool))
    return _Shown(window, seen.listing(feed), seen.settled, seen.unsettled)


@dataclass
class _Seen:
    """What a listing has shown so far."""

    settling: Settling
    settled: Numbers
    found: int = 0
    unsettled: list[Artifact] = field(default_factory=list)
    newest: Artifact | None = None
    newest_outside: str | None = None
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    examples: dict[SkipReason, str] = field(default_factory=dict)
    hints: dict[SkipReason, str] = field(default_factory=dict)
    failures: list[ListingFailure] = field(default_factory=list)

    def add_next(self, items: Iterator[Listed]) -> bool:
        """False where there was nothing more. What comes before an error counts."""
        chunk: list[Listed] = []
        try:
            chunk.extend(islice(items, CHUNK))
        finally:
            artifacts = [item for item in chunk if isinstance(item, Artifact)]
            for item in chunk if len(artifacts) < len(chunk) else ():
                if not isinstance(item, Artifact):
                    self._add_unfit(item)
        if artifacts:
            self._add_found(artifacts)
        return bool(chunk)

    def _add_found(self, artifacts: list[Artifact]) -> None:
        rows = self.settling.rows(artifacts)
        is_settled = rows >= 0
        self.settled[rows[is_settled]] = True
        self.unsettled += [artifacts[number] for number in np.flatnonzero(~is_settled)]
        self.found += len(artifacts)
        self.newest = max([*filter(None, [self.newest]), _newest(artifacts)], key=_recency)

    def _add_unfit(self, item: Skipped | Unlisted) -> None:
        if isinstance(item, Unlisted):
            hint = f"\nhint: {item.hint}" if item.hint else ""
            self.failures.append(ListingFailure(item.location, f"{item.error}{hint}"))
            return
        self.skipped[item.reason] += 1
        self.examples.setdefault(item.reason, item.location)
        if item.hint:
            self.hints.setdefault(item.reason, item.hint)
        if item.reason in _OUTSIDE:
            self.newest_outside = max(self.newest_outside or "", item.location)

    def listing(self, feed: Feed, *failures: ListingFailure) -> Listing:
        skipped = Counter(self.skipped)
        folders_outside = skipped.pop(SkipReason.FOLDER_OUTSIDE_WINDOW, 0)
        return Listing(
            source=feed.source.name,
            type=feed.source.type,
            listed=self.found + skipped.total(),
            matched=self.found + skipped.get(SkipReason.OUTSIDE_WINDOW, 0),
            skipped=dict(skipped),
            skip_examples=self.examples,
            skip_hints=self.hints,
            folders_outside=folders_outside,
            failures=(*self.failures, *failures),
            newest=self.newest.location if self.newest else self.newest_outside,
        )


def _failure(feed: Feed, error: Exception) -> ListingFailure:
    return ListingFailure(f"source {feed.source.name}", listing_message(error))


def _newest(artifacts: Sequence[Artifact]) -> Artifact:
    """Of the latest span, the one of the last version; of several the first. Spans are few, and shared."""
    spans = {id(each.span): each.span for each in artifacts}
    start = max(map(_start, spans.values()))
    latest = {number for number, span in spans.items() if _start(span) == start}
    return max((each for each in artifacts if id(each.span) in latest), key=attrgetter("version"))


def _recency(artifact: Artifact) -> tuple[datetime, str]:
    return _start(artifact.span), artifact.version


def _start(span: Window | None) -> datetime:
    return span.start if span else _NEVER


def _orphans(artifacts: Artifacts, configured: set[str], shown: Sequence[_Shown]) -> Numbers:
    """A mask of known artifacts of sources that are not there any more, or no longer show them.

    A source without a label is named by its number: one that is put before it takes its name. What is shown by another
    source now is still the same artifact. Sources that this run leaves alone keep theirs.
    """
    found = ~artifacts.is_of(configured)
    # A source that could not be listed to its end may still have what it did not show.
    for one in shown if len(configured) > 1 else ():
        if not one.listing.failures:
            places = artifacts.locations(np.flatnonzero(one.settled))
            places += [artifact.location for artifact in one.unsettled]
            found |= artifacts.is_of((one.listing.source,)) & ~artifacts.all_at(places)
    return found & artifacts.is_kept


def _recognise(
    feed: Feed, shown: _Shown, artifacts: Artifacts, orphans: Numbers, now: datetime
) -> Observation:
    foreign = orphans & ~artifacts.is_of((feed.source.name,))
    try:
        sightings = recognise(feed, artifacts, shown.unsettled, shown.window, now, shown.settled, foreign)
    except Exception as error:
        failures = (*shown.listing.failures, _failure(feed, error))
        return Observation(Listing(feed.source.name, feed.source.type, failures=failures))
    return Observation(shown.listing, tuple(sightings), int(np.count_nonzero(shown.settled)))


def _known_in(observation: Observation, artifacts: Artifacts) -> Numbers:
    """A mask of the known artifacts that were recognised."""
    found = np.zeros(len(artifacts), bool)
    keys = [each.known.key for each in observation.sightings if each.known is not None]
    for source in {source for source, _ in keys}:
        rows = artifacts.named(source, list({identity for name, identity in keys if name == source}))
        found[rows[rows >= 0]] = True
    return found
