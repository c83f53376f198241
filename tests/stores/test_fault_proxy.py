"""Each fault does what it says, to a client that tries once; without a rule nothing is different."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from fault_proxy import Fault, FaultProxy, Request, Rule, answer, call, cut, cut_answer, delay, lose_answer
from object_store import ObjectStore

ONCE = {"max_retries": 0, "retry_timeout": timedelta(seconds=30), "backoff": {}}
CONTENT = bytes(range(256)) * 40


@pytest.fixture
def uri(object_store: ObjectStore) -> str:
    return object_store.new_uri()


def client(proxy: FaultProxy, uri: str) -> S3Store:
    return proxy.store.client(uri, ONCE)


def test_without_rules_it_is_the_server(fault_proxy: FaultProxy, uri: str) -> None:
    store = client(fault_proxy, uri)
    store.put("a/b c=é%20", CONTENT, mode="create")
    with pytest.raises(AlreadyExistsError):
        store.put("a/b c=é%20", CONTENT, mode="create")
    store.put("empty", b"")
    assert bytes(store.get("a/b c=é%20").bytes()) == CONTENT
    assert bytes(store.get_range("a/b c=é%20", start=3, length=5)) == CONTENT[3:8]
    assert store.head("a/b c=é%20")["size"] == len(CONTENT)
    assert [entry["path"] for batch in store.list() for entry in batch] == ["a/b c=é%20", "empty"]
    store.delete(["a/b c=é%20", "empty"])
    with pytest.raises(FileNotFoundError):
        store.head("empty")
    key = f"{uri.removeprefix('s3://')}/a/b c=é%20"
    methods = [request.method for request in fault_proxy.requests if request.path == key]
    assert methods == ["PUT", "PUT", "GET", "GET", "HEAD"]
    assert fault_proxy.faults == []


@pytest.mark.parametrize(
    ("fault", "is_stored"),
    [
        (answer(503), False),
        (answer(429), False),
        (answer(409), False),
        (cut, False),
        (cut_answer, True),
        (lose_answer, True),
    ],
)
def test_a_request_that_fails(
    fault_proxy: FaultProxy, object_store: ObjectStore, uri: str, fault: Fault, is_stored: bool
) -> None:
    store = client(fault_proxy, uri)
    fault_proxy.set(Rule(fault, pattern="/x/", first=2))
    store.put("x/1", CONTENT)
    store.put("y/2", CONTENT)
    with pytest.raises(BaseError):
        store.put("x/3", CONTENT)
    store.put("x/4", CONTENT)
    assert object_store.paths(uri) == ["x/1", *(["x/3"] if is_stored else []), "x/4", "y/2"]
    assert fault_proxy.faults == [Request("PUT", f"{uri.removeprefix('s3://')}/x/3")]


def test_a_body_that_breaks_off(fault_proxy: FaultProxy, uri: str) -> None:
    store = client(fault_proxy, uri)
    store.put("x", CONTENT)
    fault_proxy.set(Rule(cut_answer, "GET"))
    with pytest.raises(BaseError):
        store.get("x").bytes()
    assert bytes(store.get("x").bytes()) == CONTENT


def test_others_may_act_before_and_after(
    fault_proxy: FaultProxy, object_store: ObjectStore, uri: str
) -> None:
    seen: list[list[str]] = []

    def look() -> None:
        seen.append(object_store.paths(uri))

    fault_proxy.set(Rule(call(before=look, after=look)))
    client(fault_proxy, uri).put("x", CONTENT)
    assert seen == [[], ["x"]]


def test_a_late_answer_holds_nobody_else(
    fault_proxy: FaultProxy, object_store: ObjectStore, uri: str
) -> None:
    store = client(fault_proxy, uri)
    soon = threading.Event()
    fault_proxy.set(
        Rule(call(before=lambda: wait_for(soon)), pattern="held"), Rule(delay(0.2), pattern="late")
    )
    held = threading.Thread(target=lambda: store.put("held", CONTENT))
    held.start()
    started = time.monotonic()
    store.put("late", CONTENT)
    assert time.monotonic() - started >= 0.2
    assert object_store.paths(uri) == ["late"]
    soon.set()
    held.join()
    assert object_store.paths(uri) == ["held", "late"]


def wait_for(event: threading.Event) -> None:
    assert event.wait(60)
