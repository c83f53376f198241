"""A lake in a bucket whose server fails: answers 503 or 429, cuts connections, or does what it is asked for and the
answer is lost."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import pytest
from bucket_requests import Call, bucket_lake, run_through
from forks import Forks
from scenarios import COLLECT, Scenario, first_collection
from stages import Stage, check_recovery, copy_home, make_stage, visible

from fault_proxy import Answer, Fault, Forward, Rule, answer, cut, cut_answer, lose_answer
from object_store import ObjectStore

FAULTS = {
    "503": answer(503),
    "429": answer(429),
    "cut": cut,
    "cut in the answer": cut_answer,
    "lost answer": lose_answer,
}
CALLS = [
    Call("PUT", "data", 2),
    Call("PUT", "rejects", 1),
    Call("PUT", "manifest", 2),
    Call("PUT", "commit", 1),
    Call("PUT", "commit", 3),
    Call("GET", "commit", 2),
]


@pytest.fixture(scope="module")
def stage(forks: Forks, object_store: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    folder = tmp_path_factory.mktemp("bucket-faults") / "stage"
    return make_stage(
        forks, folder, Scenario("first collection", first_collection), bucket_lake(object_store)
    )


def check_unharmed(forks: Forks, stage: Stage, store: ObjectStore, folder: Path, rules: list[Rule]) -> None:
    """The run notices nothing that its user has to know of."""
    home = copy_home(stage.home, folder / "home")
    ended, _, met = run_through(forks, home, store, stage.command, *rules)
    assert len(met) == len(rules), met
    assert ended.json()["rows"] == stage.clean.json()["rows"]
    assert visible(forks, home) == stage.after
    assert forks.run(home, *COLLECT).json()["rows"]["in"] == 0


def test_a_server_that_fails_once_at_everything(
    forks: Forks, stage: Stage, object_store: ObjectStore, tmp_path: Path
) -> None:
    faults = [*FAULTS.values()]
    rules = [
        Rule(faults[number % len(faults)], call.method, call.rule(cut).pattern, call.number)
        for number, call in enumerate(CALLS)
    ]
    check_unharmed(forks, stage, object_store, tmp_path, rules)


def test_what_was_stored_counts_though_nobody_heard_of_it(
    forks: Forks, stage: Stage, object_store: ObjectStore, tmp_path: Path
) -> None:
    """The request is sent again, and then refused: the object is there, and it is our own."""
    firsts_of_two = (1, 3, 5)
    rules = [
        Call("PUT", kind, number).rule(lose_answer)
        for kind in ("manifest", "commit")
        for number in firsts_of_two
    ]
    check_unharmed(forks, stage, object_store, tmp_path, rules)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS.values(), ids=[*FAULTS])
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_server_that_fails_once(
    forks: Forks, stage: Stage, object_store: ObjectStore, tmp_path: Path, call: Call, fault: Fault
) -> None:
    check_unharmed(forks, stage, object_store, tmp_path, [call.rule(fault)])


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS.values(), ids=[*FAULTS])
@pytest.mark.parametrize("kind", ["data", "manifest", "commit"])
def test_a_server_that_fails_for_good(
    forks: Forks, stage: Stage, object_store: ObjectStore, tmp_path: Path, kind: str, fault: Fault
) -> None:
    """From the second object on: what came before it stays, the rest comes when the server is well again."""
    home = copy_home(stage.home, tmp_path / "home")
    rule = Call("PUT", kind, 2).rule(fault, math.inf)
    ended, _, met = run_through(forks, home, object_store, stage.command, rule)
    assert met
    # What is stored counts, whether anybody heard of it or not.
    assert ended.code != 0 or fault in (cut_answer, lose_answer)
    assert "Traceback" not in ended.errors
    check_recovery(forks, stage, home)


@pytest.mark.slow
def test_a_commit_of_which_nobody_can_say_whether_it_is_there(
    forks: Forks, stage: Stage, object_store: ObjectStore, tmp_path: Path
) -> None:
    """The server stores it, and its log cannot be reached from then on: files must stay, for they may be visible."""
    home = copy_home(stage.home, tmp_path / "home")
    is_gone = threading.Event()

    def store_and_go(forward: Forward) -> None:
        forward()
        is_gone.set()

    def unless_gone(forward: Forward) -> Answer | None:
        return None if is_gone.is_set() else forward()

    rules = [Call("PUT", "commit", 3).rule(store_and_go)]
    rules += [Rule(unless_gone, method, "_delta_log", times=math.inf) for method in ("GET", "HEAD", "PUT")]
    ended, _, _ = run_through(forks, home, object_store, stage.command, *rules)
    assert is_gone.is_set()
    assert ended.code != 0
    assert "Traceback" not in ended.errors
    check_recovery(forks, stage, home)
