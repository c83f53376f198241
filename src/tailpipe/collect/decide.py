"""What is done with each artifact that was seen: a pure function of what was seen, what is known and what is wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from tailpipe.collect.listing import Listing, Observation, Relation, Sighting
from tailpipe.collect.plan import Action, PartitionPlan, PlannedArtifact, make_units
from tailpipe.collect.target import Target
from tailpipe.collect.windows import Wanted
from tailpipe.lake.extent import may_hold
from tailpipe.lake.known import Artifacts, Key
from tailpipe.lake.manifest import KnownArtifact, Windows
from tailpipe.lake.state import PartitionState
from tailpipe.sources.artifact import SkipReason
from tailpipe.times import Window, merge, without


def decide(
    target: Target, state: PartitionState, wanted: Sequence[Wanted], observed: Sequence[Observation]
) -> PartitionPlan:
    """`wanted` and `observed` are of the target's feeds, in their order."""
    seen = {each.known.key for one in observed for each in one.sightings if each.known is not None}
    decisions = [
        _decide_feed(number, wants, observation, state.artifacts, seen)
        for number, (wants, observation) in enumerate(zip(wanted, observed, strict=True))
    ]
    windows = [window for wants in wanted for window in wants.windows]
    return PartitionPlan(
        target,
        Window(min(window.start for window in windows), max(window.end for window in windows)),
        state,
        tuple(make_units((item for one in decisions for item in one.planned), newest_first=state.is_new)),
        tuple(decision.listing for decision in decisions),
        {one.listing.source: wants.windows for one, wants in zip(observed, wanted, strict=True)},
        tuple(known for decision in decisions for known in decision.renamed),
        any(wants.is_overwrite for wants in wanted),
    )


@dataclass(frozen=True)
class _FeedDecision:
    listing: Listing
    planned: tuple[PlannedArtifact, ...]
    renamed: tuple[KnownArtifact, ...]


def _decide_feed(
    number: int, wanted: Wanted, observation: Observation, artifacts: Artifacts, seen: Collection[Key]
) -> _FeedDecision:
    listing, sightings = observation.listing, observation.sightings
    decided = [(sighting, decide_artifact(number, sighting, wanted)) for sighting in sightings]
    planned = [done for _, done in decided if isinstance(done, PlannedArtifact)]
    skips = [(done, sighting) for sighting, done in decided if isinstance(done, SkipReason)]
    renamed = [_renamed(sighting) for sighting, done in decided if done is None and sighting.is_renamed]
    lost = [] if listing.failures else _lost(listing.source, artifacts, wanted, seen)
    renamed += [msgspec.structs.replace(each, is_gone=True) for each in lost if not each.is_gone]
    listing = replace(
        _with_skips(_with_twice(listing, planned, artifacts), skips),
        planned=len(planned),
        known=observation.settled + len(decided) - len(planned) - len(skips),
        grown=_count(planned, Action.READ_ON),
        replaced=_count(planned, Action.REPLACE),
        replaced_example=_first(item for item in planned if item.action is Action.REPLACE),
        moved=sum(sighting.is_moved for sighting in sightings),
        gone=_gone(listing, artifacts, sightings, wanted),
        unended=sum(_is_unended(sighting) for sighting in sightings),
        unended_example=_first(sighting for sighting in sightings if _is_unended(sighting)),
        lost=len(lost),
        lost_example=max((known.location for known in lost), default=None),
        doubted=wanted.doubted.isoformat() if wanted.doubted else None,
        edge=wanted.windows[0].start.isoformat() if wanted.is_cut else None,
    )
    return _FeedDecision(listing, tuple(planned), tuple(renamed))


def decide_artifact(feed: int, sighting: Sighting, wanted: Wanted) -> PlannedArtifact | SkipReason | None:
    """How it is read, or why it is left alone; None where all that is wanted of it is in the lake."""
    if sighting.relation is Relation.WAITING:
        return SkipReason.WAITING
    span = sighting.artifact.span
    target = _target_windows(span, sighting.known, wanted)
    if target is None and sighting.relation is not Relation.SAME:
        return _why_not(span, wanted)
    return _reading(feed, sighting, wanted, target or ())


def _why_not(span: Window | None, wanted: Wanted) -> SkipReason:
    if span is not None and wanted.is_late(span):
        return SkipReason.LATE
    is_expired = span is not None and wanted.is_expired(span)
    return SkipReason.EXPIRED if is_expired else SkipReason.OUTSIDE_WINDOW


def _target_windows(span: Window | None, known: KnownArtifact | None, wanted: Wanted) -> Windows | None:
    """Windows of the artifact's rows that should be in the lake; None where it is not wanted now.

    A dated artifact is wanted whole, but for what is expired. One without a date is wanted for all that was ever asked
    of its source, so that the order of runs does not matter; and so is what was deleted of a dated one.
    """
    if span is None:
        return wanted.asked
    if not wanted.includes(span) and not (known and wanted.reaches(known)):
        return None
    return wanted.asked if known and known.kept else wanted.everything


def _reading(feed: int, sighting: Sighting, wanted: Wanted, target: Windows) -> PlannedArtifact | None:
    known = sighting.known
    if known is None or not known.kept:
        return _planned(feed, sighting, Action.TAKE, target, target) if target else None
    kept = merge([*known.kept, *target])
    missing = without(target, known.kept)
    if not may_hold(known, missing):
        missing = ()
    if wanted.is_overwrite and target and wanted.touches(known):
        return _planned(feed, sighting, Action.REPLACE, kept, kept)
    if sighting.relation is Relation.SAME:
        return _planned(feed, sighting, Action.WIDEN, missing, kept) if missing else None
    if sighting.relation is Relation.GROWN and known.mark.offset == 0:
        return _planned(feed, sighting, Action.TAKE, kept, kept)
    action = Action.READ_ON if sighting.can_read_on and not missing else Action.REPLACE
    return _planned(feed, sighting, action, kept, kept)


def _planned(feed: int, sighting: Sighting, action: Action, keep: Windows, kept: Windows) -> PlannedArtifact:
    known, waits_after = sighting.known, None
    if sighting.may_be_half_written:
        # What was taken before does not wait again: its rows would leave the lake meanwhile.
        is_known = sighting.relation in (Relation.SAME, Relation.GROWN)
        waits_after = known.mark.offset if known is not None and is_known else 0
    start = known.mark if action is Action.READ_ON and known is not None else None
    artifact = msgspec.structs.replace(sighting.artifact, start=start, waits_after=waits_after)
    return PlannedArtifact(feed, artifact, action, sighting.identity, keep, kept, known)


def _renamed(sighting: Sighting) -> KnownArtifact:
    assert sighting.known is not None
    now = sighting.artifact
    return msgspec.structs.replace(
        sighting.known, location=now.location, version=now.version, size_bytes=now.size_bytes
    )


def _with_skips(listing: Listing, skips: Sequence[tuple[SkipReason, Sighting]]) -> Listing:
    counts = Counter(listing.skipped) + Counter(reason for reason, _ in skips)
    examples = {reason: sighting.artifact.location for reason, sighting in reversed(skips)}
    examples |= listing.skip_examples
    return replace(
        listing,
        skipped=dict(counts),
        skip_examples={reason: examples[reason] for reason in counts},
        late_example=examples.get(SkipReason.LATE),
        waiting_example=examples.get(SkipReason.WAITING),
    )


def _with_twice(listing: Listing, planned: Iterable[PlannedArtifact], artifacts: Artifacts) -> Listing:
    """Notes artifacts that are new to this source, and that another one has collected at the same place."""
    others = artifacts.is_kept & ~artifacts.is_of((listing.source,))
    new = [item.artifact for item in planned if item.known is None] if others.any() else []
    known = artifacts.known(others & artifacts.all_at([each.location for each in new])) if new else []
    sources = {(each.location, each.version): each.source for each in known}
    found = [(each.location, sources.get((each.location, each.version))) for each in new]
    twice = [f"{location} (source {other})" for location, other in found if other is not None]
    return replace(listing, twice=len(twice), twice_example=twice[0] if twice else None)


def _lost(source: str, artifacts: Artifacts, wanted: Wanted, seen: Collection[Key]) -> list[KnownArtifact]:
    """Known artifacts with wanted rows that are not kept, and that no source shows. Nothing is settled of which rows
    are missing.
    """
    missed = artifacts.where(wanted.misses) & artifacts.is_of((source,))
    return [known for known in artifacts.known(missed) if known.key not in seen]


def _gone(listing: Listing, artifacts: Artifacts, sightings: Iterable[Sighting], wanted: Wanted) -> int:
    """Artifacts of an overwritten window that the source no longer has: what was collected of them stays."""
    if listing.failures or not wanted.is_overwrite:
        return 0
    seen = {sighting.identity for sighting in sightings}
    touched = artifacts.is_of((listing.source,)) & artifacts.is_kept & artifacts.where(wanted.touches)
    return sum(known.identity not in seen for known in artifacts.known(touched))


def _is_unended(sighting: Sighting) -> bool:
    """Known but for a last line that still waits for its end."""
    known = sighting.known
    return sighting.relation is Relation.SAME and known is not None and known.waiting_bytes > 0


def _count(planned: Iterable[PlannedArtifact], action: Action) -> int:
    return sum(item.action is action for item in planned)


def _first(seen: Iterable[Sighting | PlannedArtifact]) -> str | None:
    return next((each.artifact.location for each in seen), None)
