"""Vacuum and purge in an object store, whose clock nobody can set: the vacuum is told that time has passed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from lake_history import FIRST_DAY, Table
from object_store import ObjectStore
from tailpipe.aws_credentials import AwsAccess
from tailpipe.lake import vacuum as vacuum_module
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.kinds import Kind
from tailpipe.lake.purge import purge
from tailpipe.lake.retention import store_time
from tailpipe.lake.runs import partition_runs
from tailpipe.lake.storage import Storage
from tailpipe.lake.table_deletion import delete_table, remove_deleted
from tailpipe.lake.vacuum import vacuum_table
from tailpipe.times import Lookback, day_window

NONE = Lookback(0, "d")


@pytest.fixture
def table(object_store: ObjectStore) -> Table:
    access = AwsAccess(
        access_key=object_store.key,
        secret_key=object_store.secret,
        region=object_store.region,
        endpoint_url=object_store.endpoint,
        is_path_style=True,
    )
    return Table(Lake(object_store.new_uri(), Storage(fixed=access)))


@pytest.fixture
def pass_days(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def passing(days: int) -> None:
        def later(address: TableAddress) -> datetime:
            return store_time(address) + timedelta(days=days)

        monkeypatch.setattr(vacuum_module, "store_time", later)

    return passing


def test_what_nobody_needs_leaves_the_bucket(table: Table, pass_days: Callable[[int], None]) -> None:
    for number in range(12):
        table.collect(day=number % 2, rejects=1)
    table.compact(day=0)
    table.drop_rejects()
    table.data_file("p", 0, ["stray"])
    before = table.readable()
    assert vacuum_table(table.address, NONE).files == {Kind.DATA: 6, Kind.REJECTS: 12}
    pass_days(2)
    freed = vacuum_table(table.address, NONE)
    assert freed.files[Kind.DATA] == 1
    assert freed.files[Kind.LOG] > 5
    assert freed.files[Kind.MANIFESTS] >= 12
    assert not freed.left
    assert table.readable() == before
    table.collect()
    assert partition_runs(table.lake, table.name)
    assert len(table.readable()[0]) == len(before[0]) + 2


def test_a_vacuum_asks_for_no_file_by_itself(
    table: Table, object_store: ObjectStore, pass_days: Callable[[int], None]
) -> None:
    for _ in range(200):
        table.data_file("p", 0, ["stray"])
    table.collect()
    pass_days(2)
    before = object_store.requests()
    assert vacuum_table(table.address, NONE).files == {Kind.DATA: 200}
    spent = object_store.requests() - before
    assert spent.total() < 100


def test_what_is_deleted_is_gone_from_the_bucket(table: Table) -> None:
    table.collect(rejects=1)
    table.collect()
    table.compact()
    table.delete_day()
    table.drop_rejects()
    freed = purge(table.address, "p", day_window(FIRST_DAY))
    assert freed.files == {Kind.DATA: 3, Kind.REJECTS: 1}
    assert not [path for path in table.paths() if path.startswith(("tp_partition", "_rejects"))]


def test_a_deletion_that_died_takes_no_table_whose_log_was_shortened(
    table: Table, pass_days: Callable[[int], None]
) -> None:
    """Its mark is there, and the table goes on: a checkpoint is newer than the mark, and the first entry is gone."""
    for _ in range(8):
        table.collect()
    table.lake.files.write_new(".deleted-mark", table.name.encode())
    table.collect()
    pass_days(2)
    assert Kind.LOG in vacuum_table(table.address, NONE).files
    table.delta.create_checkpoint()
    before = table.readable()
    assert remove_deleted(table.lake) == []
    assert table.readable() == before
    delete_table(table.lake, table.name)
    assert not table.paths()
