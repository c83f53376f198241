"""What a source shows: most of it is settled by one look and forgotten, and nothing depends on how it is cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning import HORIZONS, LAYOUT, NOW, Site, line, make_target, window

from tailpipe.collect import observe as observing
from tailpipe.collect.candidates import Settling
from tailpipe.collect.decide import decide_artifact
from tailpipe.collect.listing import Observation, Relation, Sighting
from tailpipe.collect.observe import observe
from tailpipe.collect.target import Feed
from tailpipe.collect.windows import ALWAYS, AskedWindow, Wanted, wanted_windows
from tailpipe.errors import SourceError
from tailpipe.lake.known import Artifacts
from tailpipe.lake.manifest import KnownArtifact, Windows
from tailpipe.lake.manifest_columns import as_columns
from tailpipe.records import Mark, RowCounts
from tailpipe.sources.artifact import Artifact, Listed, Skipped, SkipReason, Source
from tailpipe.times import Window, without

DAY, MONTH = window("2024-06-10", "2024-06-11"), window("2024-06-01", "2024-07-01")
MAY = window("2024-05-01", "2024-06-01")


def observed(site: Site) -> Observation:
    wanted = [
        wanted_windows(site.state, feed.source.name, AskedWindow(), HORIZONS, site.now)
        for feed in site.target.feeds
    ]
    *_, last = observe(site.target, site.state, wanted, site.now)
    return last


@pytest.fixture(params=[None, LAYOUT])
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Site:
    site = Site(tmp_path, make_target(tmp_path, request.param))
    for day in range(10, 15):
        site.write(f"2024-06-{day}.log", line(f"2024-06-{day}T00:00:00"))
    return site


def test_what_is_settled_is_counted_and_forgotten(site: Site) -> None:
    assert [each.relation for each in observed(site).sightings] == [Relation.NEW] * 5
    site.run()
    after = observed(site)
    assert (after.sightings, after.settled, after.listing.listed) == ((), 5, 5)
    site.append("2024-06-14.log", line("2024-06-14T01:00:00"))
    site.write("2024-06-15.log", line("2024-06-15T00:00:00"))
    after = observed(site)
    assert [each.relation for each in after.sightings] == [Relation.GROWN, Relation.NEW]
    assert after.settled == 4


@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_it_does_not_matter_where_a_listing_is_cut(
    site: Site, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.run()
    site.write("2024-05-30.log", line("2024-05-30T00:00:00"))
    site.append("2024-06-12.log", line("2024-06-12T01:00:00"))
    site.move("2024-06-13.log", "2024-06-15.log")
    site.write("2024-06-16.log", "")
    whole = observed(site), site.plan()
    monkeypatch.setattr(observing, "CHUNK", chunk)
    assert (observed(site), site.plan()) == whole
    newest = "2024-06-15.log" if site.feed.source.layout else "2024-06-12.log"  # type: ignore[attr-defined]
    assert whole[0].listing.newest == str(site.path(newest))


@dataclass(frozen=True)
class Ending(Source):
    """Shows what it was given, and breaks."""

    items: tuple[Listed, ...]
    name: str = "file"
    type: str = "ending"

    def list(self, window: Window) -> Iterator[Listed]:
        yield from self.items
        raise SourceError("down")

    def open(self, artifact: Artifact) -> AbstractContextManager[BinaryIO]:
        raise NotImplementedError


def test_what_was_left_out_before_a_listing_broke_is_told_and_nothing_of_it_is_taken(site: Site) -> None:
    site.run()
    (known, *_) = site.state.artifacts.known()
    shown = Artifact(known.location, known.size_bytes, known.version, known.span)
    items = (shown, Skipped("a", SkipReason.EMPTY), Artifact("b", 1, "1"))
    site.target = replace(site.target, feeds=(Feed(Ending(items), site.feed.format),))
    after = observed(site)
    assert (after.sightings, after.settled) == ((), 0)
    assert (after.listing.listed, after.listing.skipped) == (1, {"empty": 1})
    assert [failure.message for failure in after.listing.failures] == ["down"]


knowns = st.builds(
    KnownArtifact,
    st.just("file"),
    st.just("a"),
    st.just("a"),
    st.just("1"),
    st.just(9),
    st.sampled_from([None, DAY]),
    st.sampled_from([(), (ALWAYS,), (MONTH,), (MAY,), (MAY, DAY)]),
    mark=st.just(Mark(9)),
    waiting_bytes=st.sampled_from([0, 5]),
    rows=st.sampled_from([RowCounts(), RowCounts(1, filtered=1)]),
    oldest=st.sampled_from([None, MAY.start, DAY.start]),
    newest=st.just(DAY.start),
)


@given(
    known=knowns,
    asked=st.sampled_from([(ALWAYS,), (MONTH,), (MAY, DAY)]),
    is_overwrite=st.booleans(),
    version=st.sampled_from(["1", "2"]),
)
def test_nothing_would_be_decided_of_what_is_settled(
    known: KnownArtifact, asked: Windows, is_overwrite: bool, version: str
) -> None:
    wanted = Wanted(asked[-1:], ALWAYS, asked, is_overwrite=is_overwrite)
    artifact = Artifact("a", 9, version, known.span, modified=NOW - timedelta(hours=1))
    (row,) = Settling.of(Artifacts([as_columns((known,))]), "file", wanted).rows([artifact])
    is_whole = bool(known.kept) and not without(asked, known.kept)
    assert (row == 0) == (is_whole and version == "1" and not known.waiting_bytes and not is_overwrite)
    if row == 0:
        assert decide_artifact(0, Sighting(artifact, Relation.SAME, "a", known), wanted) is None


def test_only_the_sources_own_settle(site: Site) -> None:
    site.run()
    other = replace(site.feed.source, name="other")  # type: ignore[type-var]
    site.target = replace(site.target, feeds=(Feed(other, site.feed.format),))
    after = observed(site)
    assert (after.settled, len(after.sightings)) == (0, 5)
