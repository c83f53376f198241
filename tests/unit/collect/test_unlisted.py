"""A source that cannot be listed costs itself: it is named, nothing of it counts as covered, the others go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import pytest
from planning import NOW, Site, line, make_target

from tailpipe.collect.outcome import MAX_UNLISTED, Cause, PartitionOutcome, unlisted
from tailpipe.collect.plan import PartitionPlan
from tailpipe.collect.run_report import Ending
from tailpipe.collect.target import Feed
from tailpipe.collect.windows import pending
from tailpipe.config import load
from tailpipe.errors import ConfigError, SourceError
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.lake.transaction import Change
from tailpipe.plugins.registry import load_registry
from tailpipe.sources.artifact import Artifact, Listed, Skipped, SkipReason, Source, Unlisted
from tailpipe.times import Window
from targets import make_targets


class Log:
    """Remembers what was committed."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.changes: list[Change] = []

    def version(self, partition: str) -> int:
        return self.site.state.version

    def commit(self, change: Change, version: int) -> int:
        self.changes.append(change)
        return version + 1


@dataclass(frozen=True)
class Breaking(Source):
    """Shows one artifact, and then what it was given."""

    last: object
    name: str = "broken"
    type: str = "breaking"

    def list(self, window: Window) -> Iterator[Listed]:
        yield Artifact("first", 1, "1")
        if isinstance(self.last, BaseException):
            raise self.last
        yield self.last  # type: ignore[misc]

    def open(self, artifact: Artifact) -> AbstractContextManager[BinaryIO]:
        raise NotImplementedError


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path, make_target(tmp_path))
    site.write("a.log", line("2024-06-14T00:00:00Z"))
    return site


def add_source(site: Site, source: Breaking) -> None:
    feed = site.target.feeds[0]
    site.target = replace(site.target, feeds=(Feed(source, feed.format), feed))


def planned(plan: PartitionPlan) -> list[str]:
    return [Path(item.artifact.location).name for unit in plan.units for item in unit.artifacts]


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (SourceError("the token is gone", "log in"), "the token is gone\nhint: log in"),
        (PermissionError(13, "Permission denied", "/x"), "/x: Permission denied"),
        (TypeError("unhashable"), "its listing stopped: TypeError: unhashable"),
        (RecursionError("too deep"), "its listing stopped: RecursionError: too deep"),
        (MemoryError(), "its listing stopped: MemoryError"),
        ("no artifact at all", "its listing stopped: AttributeError"),
        (None, "its listing stopped: AttributeError"),
    ],
)
def test_an_exception_in_a_listing_leaves_out_that_source_alone(
    site: Site, last: object, message: str
) -> None:
    add_source(site, Breaking(last))
    plan = site.plan()
    assert planned(plan) == ["a.log"]
    assert plan.unlisted == {"broken"}
    (failure,) = unlisted(plan.listings)
    assert (failure.label, failure.cause) == ("source broken", Cause.UNLISTED)
    assert failure.message.startswith(message)


def test_an_interruption_is_no_defect_of_a_source(site: Site) -> None:
    add_source(site, Breaking(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        site.plan()


def test_a_place_that_cannot_be_listed_leaves_what_else_the_source_has(site: Site) -> None:
    add_source(site, Breaking(Unlisted("/x", "Permission denied", "ask for it")))
    plan = site.plan()
    assert sorted(planned(plan)) == ["a.log", "first"]
    assert plan.unlisted == {"broken"}
    (failure,) = unlisted(plan.listings)
    assert (failure.label, failure.message) == ("/x", "Permission denied\nhint: ask for it")


def test_an_unlisted_source_is_asked_for_and_stays_pending(site: Site) -> None:
    site.run()
    add_source(site, Breaking(SourceError("down")))
    plan = site.plan()
    change = recorded(site, plan)
    assert set(change.asked) == {"broken", "file"}
    assert set(change.covered) == {"file"}
    assert pending(change.asked["broken"], (), NOW)
    assert [failure.label for failure in change.failures] == ["source broken"]


def test_records_of_a_source_that_did_not_show_them_stay_its_own(site: Site) -> None:
    """Half a listing must not make what is not in it look moved to another source."""
    site.run()
    site.write("b.log", line("2024-06-14T00:00:00Z"))
    feed = site.target.feeds[0]
    breaking = replace(feed, source=Breaking(SourceError("down"), name="file"))
    other = replace(feed, source=replace(feed.source, name="other"))  # type: ignore[type-var]
    site.target = replace(site.target, feeds=(breaking, other))
    plan = site.plan()
    assert [item.known for unit in plan.units for item in unit.artifacts] == [None, None]
    assert not plan.renamed


def test_a_first_run_that_lists_nothing_leaves_no_record(site: Site) -> None:
    feed = site.target.feeds[0]
    site.target = replace(site.target, feeds=(Feed(Breaking(SourceError("down")), feed.format),))
    log = Log(site)
    ending(site, site.plan()).leave(log)  # type: ignore[arg-type]
    assert log.changes == []


def test_a_source_that_does_not_inherit_the_contract_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.tpc").write_text(
        'partition "aws_cloudtrail_log" "p" {\n  source "file" {\n    paths = ["/none"]\n  }\n}\n'
    )
    registry = load_registry()
    bare = replace(registry.sources["file"], make=lambda config, layout: object())
    registry = replace(registry, sources={**registry.sources, "file": bare})
    config = load([tmp_path], registry, environment={}, now=NOW)
    with pytest.raises(
        ConfigError, match='object, which a plugin made for source "file", is no Source'
    ) as caught:
        make_targets(config, registry)
    assert caught.value.problems[0].hint == (
        "the plugin's class must inherit tailpipe.sources.artifact.Source"
    )


def test_a_thousand_closed_folders_are_told_in_a_few_lines(site: Site) -> None:
    @dataclass(frozen=True)
    class Closed(Breaking):
        def list(self, window: Window) -> Iterator[Listed]:
            return iter([Unlisted(f"/{k}", "Permission denied") for k in range(1_000)])

    add_source(site, Closed(None))
    failures = list(unlisted(site.plan().listings))
    assert len(failures) == MAX_UNLISTED + 1
    assert failures[-1].message == "980 more places could not be listed"


def ending(site: Site, plan: PartitionPlan) -> Ending:
    outcome = PartitionOutcome("app_log.p", plan.window, plan.listings, failed=tuple(unlisted(plan.listings)))
    return Ending(plan, outcome, "run", "sail", NOW, datetime.now(NOW.tzinfo), plan.state.version)


def recorded(site: Site, plan: PartitionPlan) -> Change:
    log = Log(site)
    ending(site, plan).leave(log)  # type: ignore[arg-type]
    (change,) = log.changes
    return change


@pytest.mark.parametrize(("version", "known"), [(0, None), (1, []), (2, ["a.log"])])
def test_a_report_undoes_nothing_that_others_committed(
    site: Site, version: int, known: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run saw version 2. A table that was deleted since is not made again for a report."""
    moved = KnownArtifact("file", "a.log", "b.log", "1", 10, None, ())
    plan = replace(site.plan(), renamed=(moved,), state=replace(site.state, version=2))
    log = Log(site)
    monkeypatch.setattr(log, "version", lambda partition: version)
    ending(site, plan).leave(log)  # type: ignore[arg-type]
    told = [[each.identity for each in change.artifacts] for change in log.changes]
    assert told == ([] if known is None else [known])


def test_a_skip_for_a_reason_that_nobody_knows_costs_its_source(site: Site) -> None:
    with pytest.raises(ValueError, match="too big"):
        Skipped("a.log", "too big")  # type: ignore[arg-type]
    assert Skipped("a.log", "layout").reason is SkipReason.LAYOUT  # type: ignore[arg-type]
