"""What is decided of each thing that was seen: from values alone, without files or clocks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from planning import window

from tailpipe.collect.decide import decide, decide_artifact
from tailpipe.collect.listing import Listing, ListingFailure, Observation, Relation, Sighting
from tailpipe.collect.plan import Action, PartitionPlan, PlannedArtifact
from tailpipe.collect.target import Target
from tailpipe.collect.windows import ALWAYS, Wanted
from tailpipe.lake.known import Artifacts
from tailpipe.lake.manifest import KnownArtifact, Windows
from tailpipe.lake.manifest_columns import as_columns
from tailpipe.lake.state import PartitionState
from tailpipe.records import Mark, RowCounts
from tailpipe.sources.artifact import Artifact, SkipReason
from tailpipe.times import Window

JUNE, MAY = window("2024-06-01", "2024-07-01"), window("2024-05-01", "2024-06-01")
DAY, OLD_DAY = window("2024-06-10", "2024-06-11"), window("2024-05-10", "2024-05-11")
WANTED = Wanted((JUNE,), Window(MAY.start, JUNE.end), (JUNE,))
NEW, SAME, GROWN, CHANGED, WAITING = Relation
TARGET = cast(Target, SimpleNamespace(name="app_log.p"))


def known(kept: Windows = (JUNE,), span: Window | None = None, **facts: object) -> KnownArtifact:
    """A file that was read to its end, with rows of May and June."""
    end = datetime(2024, 6, 10, tzinfo=UTC)
    rows = {"rows": RowCounts(2, 2), "oldest": OLD_DAY.start, "newest": end}
    plain = KnownArtifact("file", "a", "a", "1", 100, span, kept, mark=Mark(100))
    return msgspec.structs.replace(plain, **(rows | facts))


def sighting(relation: Relation, about: KnownArtifact | None = None, **facts: object) -> Sighting:
    artifact = Artifact("a", 100, "1", about.span if about else None)
    return Sighting(artifact, relation, "a", about, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (sighting(NEW), Action.TAKE),
        (sighting(SAME, known()), None),
        (sighting(SAME, known((MAY,))), Action.WIDEN),
        (sighting(SAME, known(())), Action.TAKE),
        (sighting(SAME, known((MAY,), oldest=OLD_DAY.start, newest=OLD_DAY.start)), None),
        (sighting(GROWN, known(), can_read_on=True), Action.READ_ON),
        (sighting(GROWN, known((MAY,)), can_read_on=True), Action.REPLACE),
        (sighting(GROWN, known()), Action.REPLACE),
        (sighting(GROWN, known(mark=Mark())), Action.TAKE),
        (sighting(CHANGED, known()), Action.REPLACE),
        (sighting(WAITING), SkipReason.WAITING),
    ],
)
def test_an_artifact_without_a_date(seen: Sighting, expected: Action | SkipReason | None) -> None:
    done = decide_artifact(0, seen, WANTED)
    assert (done.action if isinstance(done, PlannedArtifact) else done) == expected


@pytest.mark.parametrize(
    ("span", "asked", "expected"),
    [
        (DAY, (JUNE,), Action.TAKE),
        (OLD_DAY, (JUNE,), SkipReason.OUTSIDE_WINDOW),
        (OLD_DAY, (MAY, JUNE), SkipReason.LATE),
    ],
)
def test_a_new_artifact_with_a_date(
    span: Window, asked: Windows, expected: Action | SkipReason | None
) -> None:
    seen = Sighting(Artifact("a", 100, "1", span), NEW, "a")
    done = decide_artifact(0, seen, replace(WANTED, asked=asked))
    assert (done.action if isinstance(done, PlannedArtifact) else done) == expected


def test_all_of_a_dated_artifact_is_kept_and_what_was_asked_of_one_without_a_date() -> None:
    dated = decide_artifact(0, Sighting(Artifact("a", 100, "1", DAY), NEW, "a"), WANTED)
    undated = decide_artifact(0, sighting(NEW), WANTED)
    assert isinstance(dated, PlannedArtifact)
    assert isinstance(undated, PlannedArtifact)
    assert (dated.kept, undated.kept) == ((ALWAYS,), (JUNE,))


def test_overwriting_replaces_what_has_rows_of_the_window_and_nothing_else() -> None:
    overwrite = replace(WANTED, is_overwrite=True)
    seen = sighting(SAME, known((ALWAYS,)))
    elsewhere = sighting(SAME, known((ALWAYS,), oldest=OLD_DAY.start, newest=OLD_DAY.start))
    done = decide_artifact(0, seen, overwrite)
    assert isinstance(done, PlannedArtifact)
    assert (done.action, decide_artifact(0, elsewhere, overwrite)) == (Action.REPLACE, None)


@pytest.mark.parametrize(
    ("seen", "waits_after"),
    [
        (sighting(NEW, may_be_half_written=True), 0),
        (sighting(GROWN, known(), can_read_on=True, may_be_half_written=True), 100),
        (sighting(CHANGED, known(), may_be_half_written=True), 0),
        (sighting(GROWN, known(), can_read_on=True), None),
    ],
)
def test_what_was_taken_before_does_not_wait_again(seen: Sighting, waits_after: int | None) -> None:
    done = decide_artifact(0, seen, WANTED)
    assert isinstance(done, PlannedArtifact)
    assert done.artifact.waits_after == waits_after


def decided(
    *seen: Sighting, state: tuple[KnownArtifact, ...] = (), wanted: Wanted = WANTED, **listed: object
) -> PartitionPlan:
    listing = Listing("file", "file", **listed)  # type: ignore[arg-type]
    known_state = PartitionState(1, Artifacts([as_columns(tuple(state))]))
    return decide(TARGET, known_state, [wanted], [Observation(listing, seen)])


def test_a_known_artifact_that_lacks_rows_and_is_nowhere_is_lost_and_noted_as_gone() -> None:
    lacking = known((MAY,))
    plan = decided(state=(lacking, known((ALWAYS,), identity="b")))
    assert (plan.listings[0].lost, plan.listings[0].lost_example) == (1, "a")
    assert plan.renamed == (msgspec.structs.replace(lacking, is_gone=True),)
    assert decided(sighting(SAME, lacking), state=(lacking,)).listings[0].lost == 0
    unlisted = decided(state=(lacking,), failures=(ListingFailure("source file", "down"),))
    assert (unlisted.listings[0].lost, unlisted.renamed) == (0, ())


def test_what_lies_elsewhere_now_is_told_and_remembered_there() -> None:
    moved = msgspec.structs.replace(sighting(SAME, known()), artifact=Artifact("b", 100, "2"))
    plan = decided(moved, state=(known(),))
    assert (plan.units, plan.listings[0].moved, plan.listings[0].known) == ((), 1, 1)
    assert [(each.identity, each.location, each.version) for each in plan.renamed] == [("a", "b", "2")]


def test_skips_of_the_listing_and_of_the_decision_are_counted_together() -> None:
    outside = SkipReason.OUTSIDE_WINDOW
    late, early = (Sighting(Artifact(name, 1, "1", OLD_DAY), NEW, name) for name in ("x", "y"))
    plan = decided(late, early, skipped={outside: 3}, skip_examples={outside: "w"})
    assert plan.listings[0].skipped == {"outside window": 5}
    assert plan.listings[0].skip_examples == {"outside window": "w"}


def test_deciding_twice_gives_the_same_and_changes_nothing() -> None:
    state = (known((MAY,)),)
    assert decided(sighting(SAME, *state), state=state) == decided(sighting(SAME, *state), state=state)
