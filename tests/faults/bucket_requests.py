"""Commands whose lake is in a bucket, and what may happen to their requests: they die, or the server fails."""

from __future__ import annotations

import re
import threading
from collections import Counter
from dataclasses import dataclass, replace

from forks import Ended, Forks
from steps import AFTER, BEFORE

from fault_proxy import Fault, FaultProxy, Request, Rule, call
from installed import Home
from lakes import BucketLake
from object_store import ObjectStore

# What an object is, by its path; a request for many at once names the bucket alone.
KINDS = {
    "data": "/tp_partition=",
    "rejects": "/_rejects/",
    "manifest": "/_manifests/",
    "commit": r"/_delta_log/\d{20}\.json$",
    "checkpoint": "/_delta_log/.*checkpoint",
    "many": r"^[^/]+/?$",
}
CHANGES = ("PUT", "POST", "DELETE")
PATIENCE_SECONDS = 120


@dataclass(frozen=True)
class Call:
    """The n-th request of a method for a kind of objects."""

    method: str
    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.method} {self.kind} {self.number}"

    @property
    def name(self) -> str:
        return f"{self.method} {self.kind}"

    def rule(self, fault: Fault, times: float = 1) -> Rule:
        return Rule(fault, self.method, KINDS[self.kind], self.number, times)


def kind_of_request(request: Request) -> str:
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, request.path)), "other")


def calls_of(requests: list[Request], methods: tuple[str, ...] = CHANGES) -> list[Call]:
    """Each of these requests as a call that another run of the same command will make too."""
    counts: Counter[tuple[str, str]] = Counter()
    calls = []
    for request in requests:
        key = request.method, kind_of_request(request)
        if request.method in methods and key[1] in KINDS:
            counts[key] += 1
            calls.append(Call(*key, counts[key]))
    return calls


def through(home: Home, proxy: FaultProxy) -> Home:
    """The same home, whose commands reach their lake through the proxy."""
    assert isinstance(home.elsewhere, BucketLake)
    return replace(home, elsewhere=replace(home.elsewhere, store=proxy.store))


def run_through(
    forks: Forks, home: Home, store: ObjectStore, command: tuple[str, ...], *rules: Rule
) -> tuple[Ended, list[Request], list[Request]]:
    """How a command ended whose requests met these rules; all its requests, and those that met one."""
    with FaultProxy(store).running() as proxy:
        proxy.set(*rules)
        ended = forks.run(through(home, proxy), *command)
        return ended, proxy.requests, proxy.faults


def die_at(
    forks: Forks, home: Home, store: ObjectStore, command: tuple[str, ...], call_: Call, moment: str
) -> Ended:
    """The command is killed before the server hears of the request, or when it has done what it asks for."""
    sign, is_dead = home.folder / "kill", threading.Event()

    def kill() -> None:
        sign.touch()
        assert is_dead.wait(PATIENCE_SECONDS)
        raise ConnectionAbortedError

    with FaultProxy(store).running() as proxy:
        proxy.set(call_.rule(call(before=kill) if moment == BEFORE else call(after=kill)))
        ended = forks.run(through(home, proxy), *command, kill_sign=sign)
        is_dead.set()
        sign.unlink(missing_ok=True)
        return ended


def moments(calls: list[Call]) -> list[tuple[Call, str]]:
    return [(each, moment) for each in calls for moment in (BEFORE, AFTER)]


def bucket_lake(store: ObjectStore) -> BucketLake:
    return BucketLake(store, store.new_uri())
