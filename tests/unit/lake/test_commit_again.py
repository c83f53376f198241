"""A commit that lost to one that does not concern it is made on top of that one; any other loses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import add
from pathlib import Path

import pytest
from deltalake import DeltaTable
from test_log import SCHEMA, change, visible

from tailpipe.errors import ConflictError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.log import OLD_SECONDS, TableLog
from tailpipe.lake.transaction import MAX_APPENDS, Change

NOTHING = Change("q", "delete", "", "run")


@pytest.fixture
def address(tmp_path: Path) -> TableAddress:
    return TableAddress(str(tmp_path / "data" / "app_log"))


class Overtaken(TableLog):
    """Another process commits after everything was checked, so often."""

    def __init__(self, address: TableAddress, other: Callable[[], None], times: int = 1) -> None:
        super().__init__(address, SCHEMA)
        self.other, self.times = other, times

    def append(self, change: Change, mark: str, version: int | None) -> None:
        if self.times:
            self.times -= 1
            self.other()
        super().append(change, mark, version)


def commit(address: TableAddress, unit: Change) -> None:
    log = TableLog(address, SCHEMA)
    log.commit(unit, log.version(unit.partition))


def delete_all(address: TableAddress, partition: str) -> None:
    log = TableLog(address, SCHEMA)
    version = log.version(partition)
    log.commit(replace(NOTHING, partition=partition, removed=tuple(log.live_files(partition))), version)


def merge(address: TableAddress, name: str) -> Change:
    """Files of p become one; the table is as large as before."""
    log = TableLog(address, SCHEMA)
    log.refresh()
    return replace(
        change(address.uri, name), kind="compact", run=name, artifacts=(), removed=tuple(log.live_files("p"))
    )


def rearrange(address: TableAddress, merged: Change) -> None:
    log = TableLog(address, SCHEMA)
    log.refresh()
    with log.transaction(0) as transaction:
        transaction.wrote(fact.path for fact in merged.files)
        transaction.rearrange(merged)


def test_a_deletion_in_another_partition_costs_nothing(address: TableAddress) -> None:
    commit(address, change(address.uri, "old", "q"))
    log = Overtaken(address, lambda: delete_all(address, "q"))
    version = log.commit(change(address.uri, "a"), log.version("p"))
    assert visible(address.uri) == 1
    assert TableLog(address, SCHEMA).version("p") == version
    assert len(list(Path(address.path("_manifests/p")).iterdir())) == 1


def test_merged_files_of_the_same_partition_cost_nothing(address: TableAddress) -> None:
    for name in ("a", "b"):
        commit(address, change(address.uri, name))
    log = Overtaken(address, lambda: rearrange(address, merge(address, "ab")))
    log.commit(change(address.uri, "c"), log.version("p"))
    assert sorted(Path(path).stem for path in DeltaTable(address.uri).file_uris()) == ["ab", "c"]


def test_whoever_removes_merged_files_loses(address: TableAddress) -> None:
    commit(address, change(address.uri, "a"))
    log = Overtaken(address, lambda: rearrange(address, merge(address, "merged")))
    version = log.version("p")
    replacing = replace(change(address.uri, "b"), removed=tuple(log.live_files("p")))
    with pytest.raises(ConflictError, match="rewritten by another process"):
        log.commit(replacing, version)
    assert [Path(path).stem for path in DeltaTable(address.uri).file_uris()] == ["merged"]


def test_whoever_merges_removed_files_loses(address: TableAddress) -> None:
    commit(address, change(address.uri, "a"))
    merged = merge(address, "merged")
    log = Overtaken(address, lambda: delete_all(address, "p"))
    log.refresh()
    with pytest.raises(ConflictError), log.transaction(0) as transaction:  # noqa: PT012
        transaction.wrote(fact.path for fact in merged.files)
        transaction.rearrange(merged)
    assert visible(address.uri) == 0
    assert not Path(address.path(merged.files[0].path)).exists()


def test_whoever_collects_the_same_partition_loses(address: TableAddress) -> None:
    commit(address, change(address.uri, "a"))
    log = Overtaken(address, lambda: commit(address, change(address.uri, "b")))
    with pytest.raises(ConflictError, match="was collected by another process"):
        log.commit(change(address.uri, "c"), log.version("p"))
    assert visible(address.uri) == 2


def test_whoever_always_loses_gives_up(address: TableAddress) -> None:
    for number in range(MAX_APPENDS):
        commit(address, change(address.uri, f"old{number}", f"q{number}"))
    left = [f"q{number}" for number in range(MAX_APPENDS)]
    log = Overtaken(address, lambda: delete_all(address, left.pop()), times=MAX_APPENDS)
    with pytest.raises(ConflictError):
        log.commit(change(address.uri, "a"), log.version("p"))
    assert visible(address.uri) == 0
    assert not list(Path(address.path("_manifests/p")).iterdir())


def test_a_merge_says_that_its_rows_are_not_new(address: TableAddress) -> None:
    for name in ("a", "b"):
        commit(address, change(address.uri, name))
    rearrange(address, merge(address, "ab"))
    entry = Path(address.path(f"_delta_log/{3:020d}.json")).read_text()
    assert (entry.count('"dataChange":false'), entry.count('"dataChange":true')) == (1, 2)
    assert "tailpipe.manifest" not in entry
    assert DeltaTable(address.uri).history(1)[0]["tailpipe.kind"] == "compact"


def test_files_that_waited_so_long_that_they_were_vacuumed_are_not_named(
    address: TableAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, unit = TableLog(address, SCHEMA), change(address.uri, "a")
    monkeypatch.setattr("time.time", partial(add, time.time(), OLD_SECONDS + 1))
    version = log.commit(unit, 0)
    gone = change(address.uri, "b")
    Path(address.path(gone.files[0].path)).unlink()
    with pytest.raises(ConflictError, match="vacuumed by another process"):
        log.commit(gone, version)
    assert visible(address.uri) == 1


def test_collectors_deletions_and_merges_at_once_lose_nothing(address: TableAddress) -> None:
    """Each thread has partitions of its own, so nobody has a reason to begin again."""
    commit(address, change(address.uri, "first"))
    problems: list[BaseException] = []

    def collect(partition: str) -> None:
        for number in range(6):
            commit(address, change(address.uri, f"{partition}{number}", partition))

    def come_and_go(partition: str) -> None:
        for number in range(6):
            commit(address, change(address.uri, f"{partition}{number}", partition))
            delete_all(address, partition)

    def told(work: Callable[[str], None], partition: str) -> None:
        try:
            work(partition)
        except BaseException as error:
            problems.append(error)

    jobs = [(collect, "c"), (collect, "d"), (come_and_go, "e"), (come_and_go, "f")]
    threads = [threading.Thread(target=told, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert visible(address.uri) == 13
