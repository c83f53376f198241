"""A lake in a bucket, and a command that dies at any request that changes it: the same holds as in a folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from bucket_requests import Call, bucket_lake, calls_of, die_at, moments, run_through
from forks import Forks
from ledger import Ledger
from scenarios import SCENARIOS, Scenario, first_collection
from stages import Stage, check_recovery, copy_home, make_stage
from steps import AFTER, BEFORE

from object_store import ObjectStore

# The most telling ones; the slow test takes all there are.
SOME_CALLS = (
    (Call("PUT", "data", 3), AFTER),
    (Call("PUT", "commit", 1), AFTER),
    (Call("PUT", "manifest", 2), AFTER),
    (Call("PUT", "commit", 3), BEFORE),
    (Call("PUT", "commit", 3), AFTER),
)
IN_A_BUCKET = [
    scenario
    for scenario in SCENARIOS
    if scenario.name
    in (
        "first collection",
        "new files",
        "overwrite",
        "delete",
        "rejects retry",
        "compact",
        "restore",
        "expire",
    )
]


def die_at_all(
    forks: Forks,
    ledger: Ledger,
    store: ObjectStore,
    stage: Stage,
    folder: Path,
    points: Iterable[tuple[Call, str]],
) -> None:
    def die(numbered: tuple[int, tuple[Call, str]]) -> None:
        number, (call, moment) = numbered
        with ledger.entry(f"{stage.scenario.name} in a bucket", call.name):
            home = copy_home(stage.home, folder / str(number))
            ended = die_at(forks, home, store, stage.command, call, moment)
            assert ended.died, f"{moment} {call} was not met: exit code {ended.code}\n{ended.errors}"
            check_recovery(forks, stage, home)

    forks.for_all(die, enumerate(points))


def test_dying_at_some_requests(
    forks: Forks, ledger: Ledger, object_store: ObjectStore, tmp_path: Path
) -> None:
    scenario = Scenario("some requests", first_collection)
    stage = make_stage(forks, tmp_path / "stage", scenario, bucket_lake(object_store))
    die_at_all(forks, ledger, object_store, stage, tmp_path, SOME_CALLS)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("scenario", IN_A_BUCKET, ids=lambda scenario: scenario.name)
def test_dying_at_every_request(
    forks: Forks, ledger: Ledger, object_store: ObjectStore, tmp_path: Path, scenario: Scenario
) -> None:
    stage = make_stage(forks, tmp_path / "stage", scenario, bucket_lake(object_store))
    copy = copy_home(stage.home, tmp_path / "counted")
    ended, requests, _ = run_through(forks, copy, object_store, stage.command)
    calls = calls_of(requests)
    assert ended.done()
    assert "commit" in {call.kind for call in calls}
    die_at_all(forks, ledger, object_store, stage, tmp_path, moments(calls))
