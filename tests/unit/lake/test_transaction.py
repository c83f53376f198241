"""What a transaction leaves behind: everything, nothing, or files of which nobody can say whether they count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from test_log import SCHEMA, change, visible

from tailpipe.errors import ConflictError, LakeError, TooManyConflicts, UnknownOutcome
from tailpipe.lake.address import TableAddress
from tailpipe.lake.log import TableLog
from tailpipe.lake.transaction import MAX_ATTEMPTS, Attempts, Change, until_committed


@pytest.fixture
def address(tmp_path: Path) -> TableAddress:
    return TableAddress(str(tmp_path / "data" / "app_log"))


def prepared(address: TableAddress, name: str) -> Change:
    """A change with its data file, which is written."""
    return change(address.uri, name)


def paths(unit: Change) -> list[str]:
    return [fact.path for fact in unit.files]


def exist(address: TableAddress, unit: Change) -> bool:
    return all(Path(address.path(path)).exists() for path in paths(unit))


def commit(log: TableLog, version: int, unit: Change, then: BaseException | None = None) -> int:
    with log.transaction(version) as transaction:
        transaction.wrote(paths(unit))
        version = transaction.commit(unit)
        if then is not None:
            raise then
        return version


def manifests(address: TableAddress) -> int:
    return len(list(Path(address.path("_manifests/p")).glob("*")))


def test_files_stay_when_the_commit_is_there(address: TableAddress) -> None:
    log, unit = TableLog(address, SCHEMA), prepared(address, "a")
    with pytest.raises(KeyboardInterrupt):
        commit(log, 0, unit, KeyboardInterrupt())
    assert exist(address, unit)
    assert visible(address.uri) == 1


def test_files_are_taken_back_when_nothing_was_committed(address: TableAddress) -> None:
    log, unit = TableLog(address, SCHEMA), prepared(address, "a")
    with log.transaction(0) as transaction:
        transaction.wrote(paths(unit))
    assert not exist(address, unit)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_files_are_taken_back_when_it_breaks_off(address: TableAddress, error: type[BaseException]) -> None:
    log, unit = TableLog(address, SCHEMA), prepared(address, "a")
    with pytest.raises(error), log.transaction(0) as transaction:  # noqa: PT012
        transaction.wrote(paths(unit))
        raise error
    assert not exist(address, unit)


def test_files_are_taken_back_after_a_conflict(address: TableAddress) -> None:
    TableLog(address, SCHEMA).commit(prepared(address, "first"), 0)
    log, late = TableLog(address, SCHEMA), prepared(address, "late")
    with pytest.raises(ConflictError):
        commit(log, 0, late)
    assert not exist(address, late)
    assert manifests(address) == 1


def overtaken(address: TableAddress, unit: Change) -> Any:
    """Another process commits at the last moment."""
    real = DeltaTable.create_write_transaction

    def overtake(delta: DeltaTable, *arguments: Any, **options: Any) -> None:
        DeltaTable.create_write_transaction = real  # type: ignore[method-assign]
        TableLog(address, SCHEMA).commit(unit, TableLog(address, SCHEMA).version("p"))
        real(delta, *arguments, **options)

    return overtake


def test_a_conflict_at_the_last_moment_is_one(address: TableAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    log, unit = TableLog(address, SCHEMA), prepared(address, "a")
    version = log.commit(prepared(address, "before"), 0)
    monkeypatch.setattr(
        DeltaTable, "create_write_transaction", overtaken(address, prepared(address, "other"))
    )
    with pytest.raises(ConflictError):
        commit(log, version, unit)
    assert not exist(address, unit)
    assert (visible(address.uri), manifests(address)) == (2, 2)


def test_a_commit_that_fails_is_taken_back_and_one_that_is_there_is_not(
    address: TableAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = TableLog(address, SCHEMA)
    version = log.commit(prepared(address, "before"), 0)
    failing, whole = prepared(address, "failing"), prepared(address, "whole")
    real = DeltaTable.create_write_transaction

    def fails(delta: DeltaTable, *arguments: Any, **options: Any) -> None:
        raise OSError("no room")

    def is_there(delta: DeltaTable, *arguments: Any, **options: Any) -> None:
        real(delta, *arguments, **options)
        raise OSError("no room for a checkpoint")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", fails)
    with pytest.raises(LakeError, match=r"no room\. Nothing of it is visible"):
        commit(log, version, failing)
    assert not exist(address, failing)
    assert (visible(address.uri), manifests(address)) == (1, 1)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", is_there)
    commit(log, version, whole)
    assert exist(address, whole)
    assert (visible(address.uri), manifests(address)) == (2, 2)


def test_files_stay_where_nobody_can_say_whether_the_commit_is_there(
    address: TableAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, unit = TableLog(address, SCHEMA), prepared(address, "a")
    version = log.commit(prepared(address, "before"), 0)
    entry = Path(address.path(f"_delta_log/{2:020d}.json"))

    def breaks_off(delta: DeltaTable, *arguments: Any, **options: Any) -> None:
        entry.mkdir()
        raise OSError("the disk is gone")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", breaks_off)
    with pytest.raises(UnknownOutcome) as told:
        commit(log, version, unit)
    assert told.value.hint
    assert exist(address, unit)
    assert manifests(address) == 2


def test_all_begin_again_equally_often() -> None:
    calls: list[int] = []

    def conflicts() -> None:
        calls.append(1)
        raise ConflictError("another one was faster")

    with pytest.raises(
        TooManyConflicts, match=f"t.p: other collectors were faster {MAX_ATTEMPTS} times"
    ) as told:
        until_committed("t.p", conflicts)
    assert len(calls) == MAX_ATTEMPTS
    assert told.value.hint

    attempts = Attempts("t.p")
    for _ in range(3 * MAX_ATTEMPTS):
        attempts.conflicted()
        attempts.conflicted(is_less_left=True)


def test_files_that_somebody_else_removed_are_not_removed_again(address: TableAddress) -> None:
    """A rewrite of all files moves no application transaction: what it wrote would stay beside what replaces it."""
    log = TableLog(address, SCHEMA)
    version = commit(log, 0, prepared(address, "a"))
    replacing = replace(prepared(address, "b"), removed=tuple(log.live_files("p")))
    delta = DeltaTable(address.uri)
    delta.create_write_transaction([], "overwrite", delta.schema(), ["tp_partition", "tp_index", "tp_date"])
    with pytest.raises(ConflictError, match="rewritten"):
        commit(log, version, replacing)
    assert visible(address.uri) == 0
    assert not exist(address, replacing)


def test_two_that_make_a_table_at_once_both_find_it(
    address: TableAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = DeltaTable.create

    def second(*arguments: Any, **options: Any) -> Any:
        make(*arguments, **options)
        raise DeltaError("Protocol changed since last commit")

    monkeypatch.setattr(DeltaTable, "create", second)
    assert commit(TableLog(address, SCHEMA), 0, prepared(address, "a"))
    assert visible(address.uri) == 1
