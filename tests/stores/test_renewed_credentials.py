"""Credentials are renewed while a command runs: what it opened before follows."""

from __future__ import annotations

import math

import pytest

from fault_proxy import FaultProxy, Rule, answer
from lake_history import Table
from object_store import ObjectStore
from tailpipe.lake.address import Lake
from tailpipe.lake.log import TableLog
from tailpipe.lake.storage import Storage
from tailpipe.lake.transaction import Change


def test_a_run_goes_on_with_new_ones(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was resolved first is refused from then on, as a store refuses a token that has expired."""
    with FaultProxy(object_store).running() as first:
        for name, value in first.store.environment.items():
            monkeypatch.setenv(name, value)
        table = Table(Lake(object_store.new_uri(), Storage()))
        table.collect()
        log = table.log()
        log.prepare()
        version = log.version("p")
        first.set(*(Rule(answer(403), method, times=math.inf) for method in ("GET", "HEAD", "PUT", "POST")))
        monkeypatch.setenv("AWS_ENDPOINT_URL", object_store.endpoint)
        for number in range(2):
            version = log.commit(change(table, log, f"late {number}"), version)
        assert first.faults == []
    assert table.readable()[0] == ("late 0", "late 1", "p-1-0", "p-1-1")


def change(table: Table, log: TableLog, message: str) -> Change:
    assert log.live_files("p")
    file = table.data_file("p", 0, [message])
    return Change("p", "collect", file.unit, message, (file,))
