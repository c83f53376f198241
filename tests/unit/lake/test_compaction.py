"""Which files are merged, and that nothing is lost where others commit at the same time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from compacting import DAY, SCHEMA, commit, contents, opened, row, write
from deltalake import DeltaTable

from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.compaction import (
    AFTER_COLLECTION,
    ASKED,
    Compaction,
    DayCompacted,
    DayPlan,
    compact_day,
    compact_days,
    plan_days,
)
from tailpipe.lake.deletion import delete_window
from tailpipe.lake.log import TableLog
from tailpipe.lake.removal import LiveFile
from tailpipe.lake.transaction import Change
from tailpipe.query.connection import load_extension
from tailpipe.times import day_window

MB = 1024 * 1024


@pytest.fixture
def address(tmp_path: Path) -> TableAddress:
    return TableAddress(str(tmp_path / "data" / "app_log"))


def live(
    name: str, size_mb: float, hour: int = 0, *, index: str = "i", day: date = DAY, partition: str = "p"
) -> LiveFile:
    values = {"tp_partition": partition, "tp_index": index, "tp_date": day.isoformat()}
    moment = datetime(day.year, day.month, day.day, hour)  # noqa: DTZ001
    return LiveFile(name, int(size_mb * MB), 10, values, moment, moment)


def merged(plans: Sequence[DayPlan]) -> list[list[str]]:
    return [[file.path for file in merge.files] for plan in plans for merge in plan.merges]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([], []),
        ([live("a", 1)], []),
        ([live("a", 1), live("b", 1)], [["a", "b"]]),
        # Large ones are left alone, also where they stand between small ones.
        ([live("a", 1, 1), live("big", 64, 2), live("b", 1, 3)], [["a", "b"]]),
        ([live("big", 64), live("bigger", 500)], []),
        ([live("big", 64), live("a", 1)], []),
        # Neighbours in time come together, whatever their names.
        ([live("d", 50, 1), live("c", 50, 2), live("b", 50, 3), live("a", 50, 4)], [["d", "c"], ["b", "a"]]),
        ([live("a", 63, 1), live("b", 63, 2), live("c", 63, 3)], [["a", "b"]]),
        # Folders are merged apart.
        ([live("a", 1), live("b", 1, index="j")], []),
        ([live("a", 1), live("b", 1, day=date(2024, 6, 2))], []),
        ([live("a", 1), live("b", 1, partition="q")], []),
        (
            [
                live("a", 1, index="i"),
                live("b", 1, index="j"),
                live("c", 1, index="i"),
                live("d", 1, index="j"),
            ],
            [["a", "c"], ["b", "d"]],
        ),
    ],
)
def test_small_files_of_a_folder_are_merged(files: list[LiveFile], expected: list[list[str]]) -> None:
    assert merged(plan_days(ASKED, files)) == expected


def test_what_was_merged_needs_no_more_work() -> None:
    """Every merge gives more than half of the target's size, but for the last of a folder."""
    sizes = [1, 60, 3, 40, 63, 63, 63, 20, 5, 0.1, 33, 62, 7]
    files = [live(f"{number:02}", size, number) for number, size in enumerate(sizes)]
    plans = plan_days(ASKED, files)
    left = {file.path for file in files} - {file.path for plan in plans for file in plan.files}
    after = [live(name, 1) for name in left if sizes[int(name)] < 64]
    after += [live(str(k), merge.size_bytes / MB) for k, merge in enumerate(plans[0].merges)]
    assert len(after) < len(files)
    small = [file for file in after if file.size_bytes < 64 * MB]
    assert len(small) <= 1


def test_days_come_oldest_first() -> None:
    days = [date(2024, 6, number) for number in (3, 1, 2)]
    files = [live(f"{day}{k}", 1, day=day) for day in days for k in range(2)]
    assert [plan.day for plan in plan_days(ASKED, files)] == sorted(days)


def test_after_collection_only_many_small_files_are_merged() -> None:
    few = [live(f"{k:02}", 1) for k in range(15)]
    many = [*few, live("15", 1)]
    larger = [live(f"large{k}", 20) for k in range(40)]
    assert plan_days(AFTER_COLLECTION, [*few, *larger]) == []
    assert merged(plan_days(AFTER_COLLECTION, [*many, *larger])) == [[file.path for file in many]]


def files_of(address: TableAddress, count: int, start: int = 0, **more: str) -> list[str]:
    """One commit for each file of three rows; the ids of the rows."""
    ids = []
    for number in range(start, start + count):
        rows = [row(number * 3 + k, number * 60 + k) for k in range(3)]
        ids += [each["tp_id"] for each in rows]
        commit(address, write(address, rows, **more))  # type: ignore[arg-type]
    return ids


def ids_of(address: TableAddress) -> list[str]:
    return sorted(DeltaTable(address.uri).to_pyarrow_table(columns=["tp_id"])["tp_id"].to_pylist())


PLANNER = partial(plan_days, ASKED)


def compact(address: TableAddress) -> list[DayCompacted]:
    log = opened(address)
    plans = PLANNER(log.live_files())
    return [done for plan in plans if (done := compact_day(log, plan, PLANNER))]


def test_a_day_becomes_one_file_in_one_commit(address: TableAddress) -> None:
    ids = files_of(address, 4)
    files_of(address, 3, start=100, index="other")
    version, before = DeltaTable(address.uri).version(), contents(address)
    (done,) = compact(address)
    assert (done.rows, done.files, done.files_after) == (21, 7, 2)
    assert (DeltaTable(address.uri).version(), contents(address)) == (version + 1, before)
    assert set(ids) < set(ids_of(address))
    assert compact(address) == []


def test_the_state_stays_as_it_was(address: TableAddress) -> None:
    files_of(address, 3)
    version = TableLog(address, SCHEMA).version("p")
    compact(address)
    assert TableLog(address, SCHEMA).version("p") == version
    assert not list(Path(address.uri).rglob(f"_manifests/*/{version + 1}*"))


def test_a_reader_that_began_before_finds_its_files(address: TableAddress) -> None:
    ids = files_of(address, 3)
    with duckdb.connect() as connection:
        load_extension(connection, "delta")
        connection.execute(f"ATTACH '{address.uri}' AS lake (TYPE delta, PIN_SNAPSHOT)")
        counted = "SELECT count(*), count(DISTINCT tp_id) FROM lake"
        assert connection.execute(counted).fetchall() == [(len(ids), len(ids))]
        compact(address)
        files_of(address, 1, start=50)
        assert connection.execute(counted).fetchall() == [(len(ids), len(ids))]
    assert len(ids_of(address)) == len(ids) + 3


class Overtaken(TableLog):
    """Another process does something while files are merged."""

    def __init__(self, address: TableAddress, *others: Callable[[], object]) -> None:
        super().__init__(address, pa.schema([]))
        self.others = list(others)

    def stored_schema(self) -> pa.Schema:
        schema = super().stored_schema()
        if self.others:
            self.others.pop(0)()
        return schema


def overtaken(address: TableAddress, *others: Callable[[], object]) -> DayCompacted | None:
    log = Overtaken(address, *others)
    log.refresh()
    (plan,) = PLANNER(log.live_files())
    return compact_day(log, plan, PLANNER)


def strays(address: TableAddress) -> set[str]:
    live = {Path(path).name for path in DeltaTable(address.uri).file_uris()}
    return {path.name for path in Path(address.uri).rglob("tp_date=*/*.parquet")} - live


def test_files_that_come_meanwhile_stay_beside(address: TableAddress) -> None:
    ids = files_of(address, 3)
    done = overtaken(address, lambda: ids.extend(files_of(address, 1, start=10)))
    assert done is not None
    assert (done.files, sorted(ids)) == (3, ids_of(address))


def test_who_loses_to_another_compaction_finds_nothing_to_do(address: TableAddress) -> None:
    ids = files_of(address, 3)
    assert overtaken(address, lambda: compact(address)) is None
    assert ids_of(address) == sorted(ids)
    assert len(strays(address)) == 3


def test_who_loses_to_a_replacement_merges_what_came_of_it(address: TableAddress) -> None:
    ids = files_of(address, 3)

    def replace_one() -> None:
        log = TableLog(address, SCHEMA)
        version = log.version("p")
        file = min(log.live_files("p"), key=lambda file: file.range)
        new = write(address, [row(1, 1)])
        log.commit(Change("p", "overwrite", DAY.isoformat(), "run", (new,), (file,)), version)

    done = overtaken(address, replace_one)
    assert done is not None
    assert (done.rows, done.files) == (7, 3)
    assert ids_of(address) == sorted([ids[1], *ids[3:]])


def test_who_loses_to_a_deletion_brings_nothing_back(address: TableAddress) -> None:
    files_of(address, 3)
    lake = Lake(os.path.dirname(address.uri))
    assert overtaken(address, lambda: delete_window(lake, "app_log", "p", day_window(DAY))) is None
    assert ids_of(address) == []


def test_files_that_are_gone_because_others_merged_and_vacuumed_them_are_no_failure(
    address: TableAddress,
) -> None:
    ids = files_of(address, 3)

    def merge_and_purge() -> None:
        compact(address)
        for name in strays(address):
            next(Path(address.uri).rglob(name)).unlink()

    assert overtaken(address, merge_and_purge) is None
    assert ids_of(address) == sorted(ids)


def test_a_day_that_cannot_be_read_costs_itself(address: TableAddress) -> None:
    files_of(address, 2)
    bad = date(2024, 5, 1)
    for number in range(2):
        commit(address, write(address, [row(number + 100, 1)], day=bad))
    victim = next(Path(address.uri).rglob(f"tp_date={bad}/*.parquet"))
    victim.write_bytes(b"no parquet")
    log = opened(address)
    begun: list[date] = []
    results = compact_days(log, PLANNER(log.live_files()), PLANNER, lambda plan: begun.append(plan.day))
    outcome = Compaction.of(results)
    assert begun == [bad, DAY]
    assert [day.day for day in outcome.done] == [DAY]
    assert [failure.day for failure in outcome.failed] == [bad]
    assert "Nothing was changed" in outcome.failed[0].message


def test_an_interruption_leaves_no_file(address: TableAddress) -> None:
    ids = files_of(address, 3)

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        overtaken(address, interrupt)
    assert (ids_of(address), strays(address)) == (sorted(ids), set())


def test_collectors_compactors_and_a_reader_at_once(address: TableAddress) -> None:
    """Whoever reads sees each row once, and rows that were there do not go."""
    files_of(address, 2)
    expected = set(ids_of(address))
    problems: list[BaseException] = []
    collected = threading.Event()

    def guarded(work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                problems.append(error)
                collected.set()

        return threading.Thread(target=run)

    def collect(partition: str) -> None:
        for number in range(8):
            start = 1000 * (ord(partition) - ord("o")) + number
            expected.update(files_of(address, 1, start=start, partition=partition))

    def keep_compacting() -> None:
        while not collected.is_set():
            compact(address)

    def keep_reading() -> None:
        seen: set[str] = set()
        while not collected.is_set():
            ids = ids_of(address)
            assert len(ids) == len(set(ids))
            assert seen <= set(ids)
            seen = set(ids)

    collectors = [guarded(lambda: collect("p")), guarded(lambda: collect("q"))]
    others = [guarded(keep_compacting), guarded(keep_compacting), guarded(keep_reading)]
    for thread in (*collectors, *others):
        thread.start()
    for thread in collectors:
        thread.join()
    collected.set()
    for thread in others:
        thread.join()
    assert not problems
    compact(address)
    assert ids_of(address) == sorted(expected)
    assert len(DeltaTable(address.uri).file_uris()) == 2
