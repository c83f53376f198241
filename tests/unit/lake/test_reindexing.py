"""Rows move to the folders of another index, and every other value stays."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from compacting import SCHEMA, STORED, commit, contents, opened, row, write
from deltalake import DeltaTable

from tailpipe.errors import LakeError
from tailpipe.lake import merge_inputs, reindexing
from tailpipe.lake.address import TableAddress
from tailpipe.lake.compaction import ASKED, DayCompacted, compact_day
from tailpipe.lake.reindexing import Index, find_index, plan_reindexing


@pytest.fixture
def address(tmp_path: Path) -> TableAddress:
    return TableAddress(str(tmp_path / "data" / "app_log"))


def reindex(address: TableAddress, name: str | None) -> list[DayCompacted]:
    log = opened(address)
    planner = partial(plan_reindexing, address, find_index(name, log.stored_schema()), ASKED)
    return [done for plan in planner(log.live_files()) if (done := compact_day(log, plan, planner))]


def indexes(address: TableAddress) -> dict[str, list[str | None]]:
    """Messages by index, as the log tells it."""
    found: dict[str, list[str | None]] = {}
    for file in opened(address).live_files():
        messages = pq.ParquetFile(address.path(file.path)).read(["message"])["message"].to_pylist()
        found.setdefault(file.partition_values["tp_index"], []).extend(messages)
    return {index: sorted(map(str, messages)) for index, messages in found.items()}  # type: ignore[misc]


def all_rows(address: TableAddress) -> list[str]:
    return sorted(each for rows in contents(address).values() for each in rows)


def some_rows(address: TableAddress, **more: str) -> None:
    for number in range(3):
        messages = ("a/b", "é", None, "", "a/b")
        rows = [{**row(number * 5 + k, k), "message": each} for k, each in enumerate(messages)]
        commit(address, write(address, rows, **more))  # type: ignore[arg-type]


def test_rows_move_to_their_folders_in_one_commit(address: TableAddress) -> None:
    some_rows(address)
    version = DeltaTable(address.uri).version()
    before = all_rows(address)
    (done,) = reindex(address, "Message")
    assert (done.rows, done.rows_moved, done.files, done.files_after) == (15, 9, 3, 3)
    assert indexes(address) == {
        "a/b": ["a/b"] * 6,
        "é": ["é"] * 3,
        "default": ["", "", "", "None", "None", "None"],
    }
    assert all_rows(address) == before
    assert DeltaTable(address.uri).version() == version + 1
    assert reindex(address, "message") == []


def test_without_an_index_all_rows_have_the_default(address: TableAddress) -> None:
    some_rows(address, index="x")
    some_rows(address, index="y")
    (done,) = reindex(address, None)
    assert (done.rows_moved, done.files, done.files_after) == (30, 6, 1)
    assert list(indexes(address)) == ["default"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [("size", {"default", "-5", "4611686018427387904"}), ("is_new", {"true", "false", "default"})],
)
def test_numbers_and_booleans_are_texts(address: TableAddress, column: str, expected: set[str]) -> None:
    commit(address, write(address, [row(k, k) for k in range(3)]))
    reindex(address, column)
    assert set(indexes(address)) == expected


def test_older_files_without_the_column_have_the_default(address: TableAddress) -> None:
    few = pa.schema([STORED.field(name) for name in ("tp_id", "tp_timestamp")])
    commit(address, write(address, [row(0, 0)], schema=few, index="x"))
    commit(address, write(address, [{**row(1, 1), "message": "m"}]))
    reindex(address, "message")
    names = {file.partition_values["tp_index"]: file.rows for file in opened(address).live_files()}
    assert names == {"default": 1, "m": 1}


def test_a_large_day_is_moved_part_by_part(address: TableAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindexing, "_FILES_AT_ONCE", 0)
    some_rows(address)
    before = all_rows(address)
    (done,) = reindex(address, "message")
    assert (done.files, done.files_after) == (3, 9)
    assert all_rows(address) == before
    (rest,) = reindex(address, "message")
    assert (rest.files, rest.files_after, rest.rows_moved) == (9, 3, 0)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("host", 'tp_index "host" is not a column of the table'),
        ("ratio", 'tp_index "ratio" is double, of which stored rows do not tell the text'),
        ("user", 'tp_index "user" is struct'),
    ],
)
def test_an_index_that_stored_rows_do_not_tell_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(LakeError, match=sentence) as told:
        find_index(name, SCHEMA)
    assert told.value.hint
    assert find_index("MESSAGE", SCHEMA) == Index("message")


def test_too_many_values_change_nothing(address: TableAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_inputs, "MAX_INDEX_VALUES", 2)
    some_rows(address)
    before = contents(address)
    with pytest.raises(LakeError, match=r"more than 2 values\. Nothing was changed"):
        reindex(address, "message")
    assert contents(address) == before
