"""A table is deleted from a bucket while another process commits to it, which nothing can make wait."""

from __future__ import annotations

import pytest
from addresses import storage_of

from fault_proxy import FaultProxy, Rule, call
from lake_history import Table
from object_store import ObjectStore
from tailpipe.errors import ConflictError
from tailpipe.lake.address import Lake
from tailpipe.lake.table_deletion import delete_table

# The fifth version has a checkpoint.
BEFORE_A_CHECKPOINT = 3


@pytest.mark.parametrize("late", [r"0004\.json", r"\.checkpoint\.parquet", "_last_checkpoint"])
def test_what_comes_late_is_taken_for_no_table(object_store: ObjectStore, late: str) -> None:
    lake = Lake(object_store.new_uri(), storage_of(object_store))
    for _ in range(BEFORE_A_CHECKPOINT):
        Table(lake).collect()
    with FaultProxy(object_store).running() as proxy:
        other = Table(Lake(lake.uri, storage_of(proxy.store)))
        proxy.set(Rule(call(before=lambda: delete_table(lake, other.name)), "PUT", late))
        with pytest.raises(ConflictError, match="deleted by another process"):
            other.collect()
        assert len(proxy.faults) == 1
        assert not lake.table(other.name).is_table()
        assert [path for path in other.paths() if path.startswith("_delta_log")] == []
        proxy.set()
        other.collect()
        assert other.readable()[0] == ("p-2-0", "p-2-1")
