"""Files of a lake: the same contract in a folder and in a bucket."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from addresses import lake_of, storage_of

from fault_proxy import Fault, FaultProxy, Rule, answer, cut_answer, lose_answer
from lakes import StoredLake
from object_store import ObjectStore
from tailpipe.lake.address import TableAddress
from tailpipe.lake.files import Files
from tailpipe.lake.store_errors import StoreError

ODD = "tp_partition=a b/tp_index=ü%2F+&=/x.parquet"
# More than one part of an upload.
LARGE = 11 << 20


@pytest.fixture
def files(lake: StoredLake) -> Files:
    return lake_of(lake).table("app_log").files


def test_what_was_written_is_read(files: Files) -> None:
    before = datetime.now(UTC) - timedelta(seconds=5)
    with files.open_write(ODD) as file:
        file.write(b"one")
        file.write(b"two")
        assert file.tell() == 6
    files.sync(ODD)
    assert files.read(ODD) == b"onetwo"
    entry = files.entry(ODD)
    assert entry
    assert (entry.path, entry.size_bytes) == (ODD, 6)
    assert before <= entry.modified_at <= datetime.now(UTC) + timedelta(seconds=5)
    with files.open_read(ODD) as file:
        file.seek(2)
        assert file.read(3) == b"etw"
    with files.open_write(ODD) as file:
        file.write(b"three")
    assert files.read(ODD) == b"three"
    changed = files.entry(ODD)
    assert changed
    assert changed.identity != entry.identity


def test_a_new_file_is_made_once(files: Files) -> None:
    files.write_new("_manifests/one/a", b"first")
    with pytest.raises(FileExistsError):
        files.write_new("_manifests/one/a", b"first")
    with pytest.raises(FileExistsError), files.open_new("_manifests/one/a") as file:
        file.write(b"second")
    with files.open_new("_manifests/one/b") as file:
        file.write(b"second")
    assert [files.read(f"_manifests/one/{name}") for name in "ab"] == [b"first", b"second"]


def test_what_is_not_there(files: Files) -> None:
    assert files.entry("a/b") is None
    assert files.children("a") == []
    assert list(files.walk("a")) == []
    files.delete(["a/b"])
    for read in (files.read, files.open_read, files.whole):
        with pytest.raises(FileNotFoundError):
            read("a/b")()  # type: ignore[operator]


def test_listing_and_deleting(files: Files) -> None:
    paths = ["a/1", "a/2", "a/b/3", "a-/4", ODD]
    for path in paths:
        files.write_new(path, path.encode())
    assert files.children("a") == ["a/1", "a/2", "a/b"]
    assert files.children("") == ["a", "a-", "tp_partition=a b"]
    assert sorted(entry.path for entry in files.walk()) == sorted(paths)
    assert sorted(entry.path for entry in files.walk("a")) == ["a/1", "a/2", "a/b/3"]
    files.delete(["a/1", "a/b/3", "gone"])
    assert sorted(entry.path for entry in files.walk()) == sorted(["a/2", "a-/4", ODD])


@pytest.mark.parametrize("is_new", [False, True])
def test_large_files_go_in_parts_and_are_read_where_asked(files: Files, is_new: bool) -> None:
    content = bytes(range(251)) * (LARGE // 251)
    with files.open_new("large") if is_new else files.open_write("large") as file:
        for start in range(0, len(content), 1 << 20):
            file.write(content[start : start + (1 << 20)])
    with files.open_read("large") as file:
        assert file.size() == len(content)
        file.seek(LARGE // 2)
        assert file.read(1000) == content[LARGE // 2 : LARGE // 2 + 1000]
    with files.whole("large")() as file:
        assert file.read() == content


def test_a_bucket_that_is_not_there_is_no_missing_file(object_store: ObjectStore) -> None:
    files = TableAddress("s3://no-such-bucket/app_log", storage_of(object_store)).files
    with pytest.raises(StoreError, match="there is no such bucket"):
        files.read("a")


def test_parquet_goes_through(files: Files) -> None:
    rows = pa.table({"a": list(range(1000)), "b": [str(number) for number in range(1000)]})
    with files.open_write("x.parquet") as file:
        pq.write_table(rows, file, row_group_size=100)
    with files.open_read("x.parquet") as file:
        assert pq.ParquetFile(file).read_row_group(3, ["b"]) == rows.slice(300, 100).select(["b"])


@pytest.mark.parametrize("fault", [lose_answer, cut_answer, answer(409)])
def test_a_new_file_whose_answer_was_lost_is_ours(fault_proxy: FaultProxy, fault: Fault) -> None:
    """Sent again, it is refused, for it is there; that of somebody else is refused too."""
    store = fault_proxy.store
    files = TableAddress(f"{store.new_uri()}/app_log", storage_of(store)).files
    fault_proxy.set(Rule(fault))
    with files.open_new("a") as file:
        file.write(b"ours")
    assert len(fault_proxy.faults) == 1
    assert files.read("a") == b"ours"
    with pytest.raises(FileExistsError), files.open_new("a") as file:
        file.write(b"theirs")
