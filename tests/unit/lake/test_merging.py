"""Merged files have every value of the old ones, sorted by time, however little memory there is."""

from __future__ import annotations

import itertools
import random
import resource
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from compacting import DAY, STORED, commit, contents, opened, row, write
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from tailpipe.errors import LakeError
from tailpipe.lake import merge_rounds, merging
from tailpipe.lake.address import TableAddress
from tailpipe.lake.compaction import ASKED, compact_day, plan_days
from tailpipe.lake.merge_inputs import Merge, read_inputs
from tailpipe.lake.merge_rounds import next_rows
from tailpipe.lake.merging import merge_files


@pytest.fixture
def address(tmp_path: Path) -> TableAddress:
    return TableAddress(str(tmp_path / "data" / "app_log"))


def compacted(address: TableAddress) -> list[pq.ParquetFile]:
    log = opened(address)
    planner = partial(plan_days, ASKED)
    for plan in planner(log.live_files()):
        assert compact_day(log, plan, planner)
    return [pq.ParquetFile(path) for path in DeltaTable(address.uri).file_uris()]


def times(file: pq.ParquetFile) -> list[int]:
    moments: list[int] = file.read(["tp_timestamp"]).column(0).cast(pa.int64()).to_pylist()
    return moments


def some_files(address: TableAddress, count: int, rows: int, row_groups: int = 1) -> None:
    chance = random.Random(count)
    for number in range(count):
        seconds = sorted(chance.randrange(86_400) for _ in range(rows))
        own = [row(number * rows + k, second) for k, second in enumerate(seconds)]
        commit(address, write(address, own, row_groups=row_groups))


def test_every_value_stays_as_it_was(address: TableAddress) -> None:
    some_files(address, 5, 30)
    before = contents(address)
    (file,) = compacted(address)
    assert contents(address) == before
    assert times(file) == sorted(times(file))
    assert file.schema_arrow.equals(STORED)


def test_files_are_encoded_as_those_of_collection(address: TableAddress) -> None:
    some_files(address, 1, 90)
    (old,) = (pq.ParquetFile(path) for path in DeltaTable(address.uri).file_uris())
    some_files(address, 2, 90)
    (new,) = compacted(address)

    def facts(file: pq.ParquetFile) -> list[Any]:
        group = file.metadata.row_group(0)
        columns = [group.column(k) for k in range(group.num_columns)]
        return [
            (
                each.path_in_schema,
                each.physical_type,
                each.encodings,
                each.compression,
                each.statistics is None,
            )
            for each in columns
        ]

    assert facts(new) == facts(old)


@pytest.mark.parametrize("round_bytes", [1, 500, 4_000, 60_000])
def test_little_memory_gives_the_same_files(
    address: TableAddress, monkeypatch: pytest.MonkeyPatch, round_bytes: int
) -> None:
    monkeypatch.setattr(merge_rounds, "ROUND_BYTES", round_bytes)
    some_files(address, 6, 20, row_groups=3)
    before = contents(address)
    (file,) = compacted(address)
    assert contents(address) == before
    assert times(file) == sorted(times(file))


def test_no_round_holds_more_than_memory_may(address: TableAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where every file has rows of the whole day, so that each round needs rows of all of them."""
    monkeypatch.setattr(merge_rounds, "ROUND_BYTES", 15_000)
    some_files(address, 8, 50, row_groups=2)
    inputs = read_inputs(address.files, Merge(tuple(opened(address).live_files()), 2**30))
    rounds: list[pa.Table] = []
    while (place := sum(rows.num_rows for rows in rounds)) < inputs.rows:
        rounds.append(next_rows(inputs, STORED, place))
    assert len(rounds) > 3
    assert all(rows.num_rows and rows.nbytes <= 15_000 for rows in rounds)
    moments = pa.concat_tables(rounds)["tp_timestamp"].to_pylist()
    assert moments == sorted(moments)
    assert len(moments) == 400


def test_row_groups_have_no_more_than_those_of_collection(
    address: TableAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "ROW_GROUP_MAX_BYTES", 20_000)
    some_files(address, 4, 100)
    (file,) = compacted(address)
    sizes = [file.read_row_group(k).nbytes for k in range(file.num_row_groups)]
    assert len(sizes) > 2
    assert max(sizes) < 22_000


def test_rows_of_one_moment_keep_their_order(address: TableAddress) -> None:
    for number in range(3):
        commit(address, write(address, [row(7 * (number + 10 * k), 5) for k in range(4)]))
    order = sorted(address.path(file.path) for file in opened(address).live_files())
    ids = [each for path in order for each in pq.ParquetFile(path).read(["tp_id"])["tp_id"].to_pylist()]
    (file,) = compacted(address)
    assert file.read(["tp_id"])["tp_id"].to_pylist() == ids


def test_columns_and_members_that_came_later_are_null_in_older_rows(address: TableAddress) -> None:
    old_user = pa.field("user", pa.struct([("name", pa.string())]))
    old_people = pa.field("people", pa.list_(pa.struct([("name", pa.string())])))
    names = ("tp_id", "tp_timestamp", "message")
    old = pa.schema([*(STORED.field(name) for name in names), old_user, old_people])
    rows = [
        {**{name: row(k, k)[name] for name in names}, "user": user, "people": people}
        for k, (user, people) in enumerate(
            [({"name": "x"}, [{"name": "y"}, None]), ({"name": None}, []), (None, None)]
        )
    ]
    commit(address, write(address, rows, schema=old))
    commit(address, write(address, [row(9, 9)]))
    (file,) = compacted(address)
    found = file.read().to_pylist()
    assert [each["user"] for each in found[:3]] == [
        {"name": "x", "at": None},
        {"name": None, "at": None},
        None,
    ]
    assert [each["people"] for each in found[:3]] == [[{"name": "y", "ages": None}, None], [], None]
    assert [each["size"] for each in found[:3]] == [None] * 3
    assert found[3] == pa.Table.from_pylist([row(9, 9)], schema=STORED).to_pylist()[0]


def test_columns_that_no_file_has_are_not_written(address: TableAddress) -> None:
    few = pa.schema([STORED.field(name) for name in ("tp_id", "tp_timestamp", "message")])
    for number in range(2):
        commit(address, write(address, [row(number, number)], schema=few))
    (file,) = compacted(address)
    assert file.schema_arrow.names == few.names


def test_large_input_becomes_files_of_about_the_same_size(address: TableAddress) -> None:
    some_files(address, 4, 60)
    log = opened(address)
    files = tuple(log.live_files())
    size_bytes = sum(file.size_bytes for file in files)
    facts = merge_files(
        address, Merge(files, size_bytes // 3), log.stored_schema(), DAY.isoformat(), lambda paths: None
    )
    assert [fact.rows for fact in facts] == [80, 80, 80]
    assert all(earlier.last <= later.first for earlier, later in itertools.pairwise(facts))


def test_a_file_that_is_not_what_the_log_says_changes_nothing(address: TableAddress) -> None:
    some_files(address, 2, 10)
    victim, other = opened(address).live_files()
    pq.write_table(pa.Table.from_pylist([row(1, 1)], schema=STORED), address.path(victim.path))
    with pytest.raises(LakeError, match=r"has 1 rows, and the log says 10\. Nothing was changed"):
        compacted(address)
    left = {path.name for path in Path(address.uri).rglob("tp_date=*/*.parquet")}
    assert left == {Path(each.path).name for each in (victim, other)}


def test_a_full_disk_changes_nothing(address: TableAddress) -> None:
    """The system lets this process write no file as large as the merged one."""
    some_files(address, 3, 200)
    before = contents(address)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
    try:
        with pytest.raises(LakeError, match=r"cannot be rewritten: .*Nothing was changed"):
            compacted(address)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert contents(address) == before
    assert len(list(Path(address.uri).rglob("tp_date=*/*.parquet"))) == 3


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=12), min_size=2, max_size=6),
    st.integers(1, 4),
    st.sampled_from([200, 2_000, 10**9]),
)
def test_any_files_give_their_rows(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int]], row_groups: int, round_bytes: int
) -> None:
    """Also those whose rows are in no order."""
    address = TableAddress(str(tmp_path_factory.mktemp("lake") / "app_log"))
    number = 0
    for seconds in files:
        own = []
        for second in seconds:
            own.append(row(number, second))
            number += 1
        commit(address, write(address, own, row_groups=row_groups))
    before = contents(address)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge_rounds, "ROUND_BYTES", round_bytes)
        (file,) = compacted(address)
    assert contents(address) == before
    assert times(file) == sorted(times(file))


def test_the_log_tells_the_times_of_merged_rows(address: TableAddress) -> None:
    some_files(address, 3, 10)
    old = opened(address).live_files()
    compacted(address)
    (new,) = opened(address).live_files()
    first, last = min(file.range[0] for file in old), max(file.range[1] for file in old)
    assert (new.rows, new.range) == (30, (first, last))
    assert new.partition_values == old[0].partition_values
    assert new.size_bytes == Path(address.path(new.path)).stat().st_size
