"""A table is deleted, or takes on other types, while others write into it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from test_log import SCHEMA, change, visible

from tailpipe.errors import ConflictError, LakeError
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.catalog import list_tables
from tailpipe.lake.log import TYPE_KEY, TableLog
from tailpipe.lake.presence import leaving, staying
from tailpipe.lake.table_deletion import delete_table


@pytest.fixture
def location(tmp_path: Path) -> str:
    return str(tmp_path / "data" / "app_log")


def with_size(type_: pa.DataType, name: str) -> pa.Schema:
    return SCHEMA.set(1, pa.field("size", type_, metadata={TYPE_KEY: name}))


DOUBLE = with_size(pa.float64(), "DOUBLE")


def test_whoever_was_writing_into_a_deleted_table_plans_again(location: str) -> None:
    version = TableLog(TableAddress(location), SCHEMA).commit(change(location, "a"), 0)
    log = TableLog(TableAddress(location), SCHEMA)
    log.prepare()
    files = change(location, "b")
    delete_table(Lake(str(Path(location).parent)), "app_log")
    with pytest.raises(ConflictError, match="was deleted by another process"):
        log.commit(files, version)
    assert list_tables(Lake(str(Path(location).parent))) == []
    assert log.state("p").version == 0
    log.commit(change(location, "b"), 0)
    assert visible(location) == 1


def test_a_table_made_in_place_of_a_deleted_one_is_another(location: str) -> None:
    version = TableLog(TableAddress(location), SCHEMA).commit(change(location, "a"), 0)
    log = TableLog(TableAddress(location), SCHEMA)
    log.prepare()
    delete_table(Lake(str(Path(location).parent)), "app_log")
    TableLog(TableAddress(location), SCHEMA).commit(change(location, "c"), 0)
    with pytest.raises(ConflictError):
        log.commit(change(location, "b"), version)
    assert visible(location) == 1


def test_who_deletes_waits_for_commits(location: str) -> None:
    import threading

    TableLog(TableAddress(location), SCHEMA).commit(change(location, "a"), 0)
    entered = threading.Event()

    def leave() -> None:
        with leaving(Lake(str(Path(location).parent))):
            entered.set()

    with staying(TableAddress(location)), staying(TableAddress(location)):
        thread = threading.Thread(target=leave)
        thread.start()
        assert not entered.wait(0.2)
    thread.join(10)
    assert entered.is_set()


def test_files_that_were_written_for_a_narrower_type_are_planned_again(location: str) -> None:
    version = TableLog(TableAddress(location), SCHEMA).commit(change(location, "a"), 0)
    narrow = TableLog(TableAddress(location), SCHEMA)
    narrow.prepare()
    wide = TableLog(TableAddress(location), DOUBLE)
    assert str(wide.prepare()["size"].type) == "double"
    with pytest.raises(LakeError, match='column "size" is stored as DOUBLE and declared as INTEGER'):
        narrow.commit(change(location, "b"), version)
    assert DeltaTable(location).to_pyarrow_table().column("size").to_pylist() == [1.0]

    late = TableLog(TableAddress(location), DOUBLE)
    late._prepared = SCHEMA
    late.refresh()
    with pytest.raises(ConflictError):
        late.commit(change(location, "b"), version)


def test_a_commit_between_reading_and_rewriting_loses_nothing(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tailpipe.lake import log as log_module

    version = TableLog(TableAddress(location), SCHEMA).commit(change(location, "a"), 0)
    real = log_module.rewrite_files
    calls = []

    def late(*arguments: object, **options: object) -> object:
        if not calls:
            TableLog(TableAddress(location), SCHEMA).refresh()
            other = TableLog(TableAddress(location), SCHEMA)
            other.refresh()
            other.commit(change(location, "b"), version)
        calls.append(1)
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(log_module, "rewrite_files", late)
    TableLog(TableAddress(location), DOUBLE).prepare()
    assert len(calls) == 2
    assert DeltaTable(location).to_pyarrow_table().column("size").to_pylist() == [1.0, 1.0]
    assert len(list(Path(location).rglob("tp_date=*/*.parquet"))) == 4


def test_a_rewriting_that_fails_leaves_the_table_and_no_file(location: str) -> None:
    version = TableLog(TableAddress(location), SCHEMA).commit(change(location, "a"), 0)
    broken = change(location, "b")
    log = TableLog(TableAddress(location), SCHEMA)
    log.refresh()
    log.commit(broken, version)
    Path(location, broken.files[0].path).write_bytes(b"no parquet")
    before = set(Path(location).rglob("*.parquet"))
    with pytest.raises(LakeError, match="cannot be rewritten"):
        TableLog(TableAddress(location), DOUBLE).prepare()
    assert set(Path(location).rglob("*.parquet")) == before
    assert DeltaTable(location).version() == 2
