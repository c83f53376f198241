"""A vacuum removes what nobody needs and nothing else, on real Delta tables with made-up clocks."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Schema
from deltalake import Transaction as DeltaTransaction
from deltalake.transaction import AddAction
from hypothesis import given, settings
from hypothesis import strategies as st
from test_history import of_before, unit

from lake_history import SCHEMA, Table
from tailpipe.lake.address import Lake
from tailpipe.lake.files import FolderFiles
from tailpipe.lake.floor import APPLICATION, floor_of
from tailpipe.lake.history import partition_versions, recent_names
from tailpipe.lake.kinds import Kind
from tailpipe.lake.log import TableLog
from tailpipe.lake.paths import PARTITION_COLUMNS
from tailpipe.lake.removal import live_files
from tailpipe.lake.restoring import restore
from tailpipe.lake.runs import partition_runs
from tailpipe.lake.sweep import Freed
from tailpipe.lake.table_deletion import delete_table
from tailpipe.lake.transaction import Change, manifest_of, snapshot
from tailpipe.lake.vacuum import _Plan, vacuum_table
from tailpipe.times import Lookback

WEEK = Lookback(7, "d")
NONE = Lookback(0, "d")
DAY = timedelta(days=1)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(Lake(str(tmp_path)))


def vacuum(table: Table, older_than: Lookback = WEEK) -> Freed:
    """As it would be told before, and as it is."""
    told = vacuum_table(table.address, older_than, is_dry_run=True)
    freed = vacuum_table(table.address, older_than)
    for kind in (Kind.DATA, Kind.REJECTS, Kind.TEMPORARY):
        assert told.files.get(kind) == freed.files.get(kind)
    assert not freed.left
    return freed


def data_paths(table: Table) -> set[str]:
    return {path for path in table.paths() if path.startswith("tp_partition=")}


def test_files_of_versions_within_the_retention_stay(table: Table) -> None:
    table.collect()
    table.collect()
    table.pass_time(10 * DAY)
    table.compact()
    table.pass_time(3 * DAY)
    before = {version: table.readable(version) for version in (2, 3)}
    assert not vacuum(table).files, (
        "three days ago, two small files were compacted: 7 days ago they were all there was"
    )
    table.pass_time(5 * DAY)
    assert vacuum(table).files == {Kind.DATA: 2}
    assert table.readable() == before[3]
    with pytest.raises(FileNotFoundError):
        table.readable(2)
    assert floor_of(table.delta) == 3


def test_what_a_running_command_wrote_stays_for_a_day(table: Table) -> None:
    table.collect()
    file = table.data_file("p", 0, ["not yet"])
    rejects = table.reject_file("p", ["not yet"])
    assert not vacuum(table, NONE).files
    table.pass_time(23 / 24 * DAY)
    assert not vacuum(table, NONE).files
    table.pass_time(2 / 24 * DAY)
    assert vacuum(table, NONE).files == {Kind.DATA: 1, Kind.REJECTS: 1}
    assert not {file.path, rejects} & table.paths()
    assert table.readable()[0] == ("p-1-0", "p-1-1")


def test_without_a_retention_what_commits_took_away_goes_at_once(table: Table) -> None:
    table.collect(rejects=2)
    table.collect(rejects=1)
    table.compact()
    table.drop_rejects()
    freed = vacuum(table, NONE)
    assert freed.files == {Kind.DATA: 2, Kind.REJECTS: 2}
    assert freed.size_bytes[Kind.DATA] > 500
    assert len(data_paths(table)) == 1
    assert table.readable()[0] == ("p-1-0", "p-1-1", "p-2-0", "p-2-1")
    assert not vacuum(table, NONE).files


def test_files_of_others_are_left_alone(table: Table) -> None:
    table.collect()
    folder = next(path.parent for path in table.folder.rglob("tp_date=*/*.parquet"))
    others = [
        table.folder / "README.md",
        table.folder / "_change_data" / f"{uuid.uuid4().hex}.parquet",
        folder / "mine.parquet",
        folder / f"{uuid.uuid4().hex}.csv",
        table.folder / "_delta_log" / "notes.txt",
        table.folder / "_delta_log" / "_sidecars" / f"{uuid.uuid4().hex}.parquet",
        table.folder / "_manifests" / "p" / "copy.parquet",
        table.folder / "_rejects" / "README",
    ]
    for path in others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    table.pass_time(30 * DAY)
    assert not vacuum(table, NONE).files
    assert all(path.exists() for path in others)


def test_what_killed_commands_left_goes(table: Table) -> None:
    table.collect()
    left = [
        f"_delta_log/_commit_{uuid.uuid4()}.json.tmp",
        f"_delta_log/{9:020d}.json#1",
        f"_delta_log/{9:020d}.checkpoint.parquet#2",
        "_delta_log/_last_checkpoint#1",
        f".vacuum-{uuid.uuid4().hex}",
    ]
    for path in left:
        (table.folder / path).write_bytes(b"half")
    stray = table.folder / "_manifests/p/0000000002-abcde.parquet"
    stray.write_bytes(b"half")
    assert not vacuum(table).files
    table.pass_time(2 * DAY)
    assert vacuum(table).files == {Kind.TEMPORARY: 5, Kind.MANIFESTS: 1}
    assert not {*left, "_manifests/p/0000000002-abcde.parquet"} & table.paths()


def long_history(table: Table, count: int = 60, rest: timedelta = 10 * DAY) -> None:
    for number in range(count):
        table.collect("p" if number % 3 else "q", number % 4, rejects=number % 2)
    table.pass_time(rest)


def test_the_log_begins_at_a_checkpoint_and_takes_commits(table: Table) -> None:
    long_history(table)
    before = table.readable()
    freed = vacuum(table)
    assert freed.files == {Kind.LOG: 50}, "the checkpoint at 49 stays, with its own entry"
    log = sorted(path for path in table.paths() if path.startswith("_delta_log/") and path.endswith(".json"))
    assert log[0] == f"_delta_log/{49:020d}.json"
    assert table.readable() == before
    assert table.readable(60) == before
    table.collect()
    assert len(partition_runs(table.lake, table.name)) == 61
    assert table.readable()[0] == tuple(sorted((*before[0], "p-61-0", "p-61-1")))


def test_a_collector_that_began_before_the_log_was_shortened_commits(table: Table) -> None:
    long_history(table)
    running = table.log()
    running.prepare()
    version = running.version("new")
    file = table.data_file("new", 0, ["slow"])
    assert vacuum(table).files[Kind.LOG] == 50
    running.commit(Change("new", "collect", "unit", "run", (file,)), version)
    assert "slow" in table.readable()[0]


def test_manifests_go_when_the_retention_has_passed_a_snapshot(table: Table) -> None:
    long_history(table, 20)
    before = table.readable()
    assert not vacuum(table).files, "snapshots are written, and nobody knows them a week ago"
    table.pass_time(8 * DAY)
    freed = vacuum(table)
    # Those of 13 and 7 units; two files stand for them.
    assert freed.files == {Kind.MANIFESTS: 13}
    assert len(recent_names(table.address, "p", partition_versions(table.address)["p"])) == 2
    assert table.readable() == before
    runs = partition_runs(table.lake, table.name)
    assert {run.partition for run in runs} == {"q"}, "a few manifests need no snapshot"
    table.collect("p", 1)
    assert [run.run for run in partition_runs(table.lake, table.name, "p")] == ["run 21"]


@pytest.mark.parametrize("has_snapshot", [False, True])
def test_a_lake_of_before_is_vacuumed(table: Table, has_snapshot: bool) -> None:
    columns = ["tp_partition", "tp_index", "tp_date"]
    DeltaTable.create(table.address.uri, Schema.from_arrow(pa.schema(list(SCHEMA))), partition_by=columns)
    for number in range(1, 4):
        of_before(table.address, number, manifest_of(unit(number)))
    if has_snapshot:
        known = table.log().state("p")
        of_before(table.address, 4, snapshot("p", "run", known))
        of_before(table.address, 5, manifest_of(unit(5)))
    before, version = table.readable(), table.delta.version()
    DeltaTable(table.address.uri).create_checkpoint()
    table.pass_time(10 * DAY)
    freed = vacuum(table)
    assert freed.files == ({Kind.MANIFESTS: 3} if has_snapshot else {})
    assert table.readable() == before
    past = replace(table, lake=table.lake.at(version))
    assert past.readable(version) == before, "entries of the log name the manifests of that time"
    DeltaTable(table.address.uri).create_checkpoint()
    table.pass_time(10 * DAY)
    freed = vacuum(table, NONE)
    assert freed.files.keys() == {Kind.MANIFESTS, Kind.LOG}
    assert table.readable() == before
    assert not partition_runs(table.lake, table.name)
    table.collect()
    assert len(partition_runs(table.lake, table.name)) == 1


def test_rejects_that_left_by_a_restore_stay_for_versions_that_have_them(table: Table) -> None:
    """It brings another state for all partitions at once."""
    table.collect(rejects=1)
    table.pass_time(20 * DAY)
    table.collect(rejects=1)
    table.pass_time(10 * DAY)
    before = table.readable(2)
    restore(table.address, 1)
    assert not vacuum(table).files
    assert table.readable(2) == before
    restore(table.address, 2)
    restored = table.readable()
    restore(table.address, 1)
    assert not vacuum(table).files
    assert table.readable(4) == restored == before


def test_a_longer_retention_than_the_last_one_asks_for_nothing_that_is_gone(table: Table) -> None:
    for _ in range(3):
        for _ in range(10):
            table.collect()
        table.pass_time(10 * DAY)
    vacuum(table, NONE)
    table.pass_time(10 * DAY)
    assert Kind.MANIFESTS in vacuum(table, NONE).files
    before = table.readable()
    assert not vacuum(table, Lookback(35, "d")).files
    assert table.readable() == before


def test_a_table_of_a_name_that_no_folder_can_have(table: Table) -> None:
    name = "ü" * 60
    for _ in range(12):
        table.collect(name, rejects=1)
    table.compact(name)
    table.pass_time(10 * DAY)
    before = table.readable()
    vacuum(table, NONE)
    table.pass_time(10 * DAY)
    assert vacuum(table, NONE).files.keys() == {Kind.MANIFESTS}
    assert table.readable() == before


class Died(Exception):
    pass


def dying_after(count: int) -> Callable[[FolderFiles, Iterable[str]], None]:
    real, left = FolderFiles.delete, iter(range(count))

    def delete(self: FolderFiles, paths: Iterable[str]) -> None:
        for path in paths:
            if next(left, None) is None:
                raise Died
            real(self, [path])

    return delete


def test_a_vacuum_that_dies_anywhere_leaves_a_table_that_works_and_the_next_one_finishes(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(26):
        table.collect("p", 0, rejects=1)
        if number % 5 == 4:
            table.compact()
            table.drop_rejects()
    table.pass_time(10 * DAY)
    original = table.folder.rename(table.folder.with_name("original"))
    shutil.copytree(original, table.folder)
    expected = table.readable()
    vacuum_table(table.address, NONE)
    whole = names(table)
    real = FolderFiles.delete

    for deaths in range(0, 200, 13):
        shutil.rmtree(table.folder)
        shutil.copytree(original, table.folder)
        monkeypatch.setattr(FolderFiles, "delete", dying_after(deaths))
        try:
            vacuum_table(table.address, NONE)
            has_died = False
        except Died:
            has_died = True
        monkeypatch.setattr(FolderFiles, "delete", real)
        assert table.readable() == expected
        table.collect("q")
        assert len(partition_runs(table.lake, table.name, "q")) == 1
        vacuum_table(table.address, NONE)
        table.pass_time(2 * DAY)
        vacuum_table(table.address, NONE)
        assert {path for path in names(table) if "q" not in path} <= whole
        if not has_died:
            assert deaths > 60
            return
    raise AssertionError("it never ends")


def names(table: Table) -> set[str]:
    """Without those that are named anew each time, and those that differ by a commit."""
    return {path for path in table.paths() if not path.startswith(("_delta_log", ".vacuum", "_manifests"))}


def test_a_file_that_cannot_be_removed_is_told_and_costs_itself(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        table.collect()
    table.compact()
    bad = min(data_paths(table) - {file.path for file in live_files(table.delta)})
    real = FolderFiles.delete

    def refusing(self: FolderFiles, paths: Iterable[str]) -> None:
        for path in paths:
            if path == bad:
                raise PermissionError(path)
            real(self, [path])

    monkeypatch.setattr(FolderFiles, "delete", refusing)
    freed = vacuum_table(table.address, NONE)
    assert (freed.files, freed.left) == ({Kind.DATA: 2}, [bad])
    monkeypatch.setattr(FolderFiles, "delete", real)
    assert vacuum_table(table.address, NONE).files == {Kind.DATA: 1}


def test_a_commit_that_brings_files_back_meanwhile_is_respected(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It moves the floor's application transaction, as the vacuum does: one of the two begins again."""
    table.collect()
    table.collect()
    table.compact()
    old = DeltaTable(table.address.uri, version=2)
    files = [unquote(path) for path in pa.table(old.get_add_actions(flatten=True))["path"].to_pylist()]
    real = TableLog.append_mark

    def restoring(self: TableLog, kind: str, versions: Mapping[str, int]) -> None:
        monkeypatch.setattr(TableLog, "append_mark", real)
        again = [AddAction(path, 1, values(path), 0, True, "{}") for path in files]
        delta = DeltaTable(table.address.uri)
        moved = CommitProperties(app_transactions=[DeltaTransaction(APPLICATION, floor_of(delta))])
        delta.create_write_transaction(
            again, "append", delta.schema(), list(PARTITION_COLUMNS), commit_properties=moved
        )
        self.append_mark(kind, versions)

    monkeypatch.setattr(TableLog, "append_mark", restoring)
    assert not vacuum_table(table.address, NONE).files
    assert set(files) <= data_paths(table)


def values(path: str) -> dict[str, str | None]:
    return dict(part.split("=") for part in path.split("/")[:-1])  # type: ignore[misc]


def test_a_slow_collector_keeps_what_it_commits_meanwhile(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are older than a day and named by nobody, until the vacuum has begun."""
    table.collect()
    table.collect()
    table.compact()
    file = table.data_file("p", 1, ["slow"])
    table.pass_time(2 * DAY)
    real = TableLog.append_mark

    def late(self: TableLog, kind: str, versions: Mapping[str, int]) -> None:
        real(self, kind, versions)
        log = table.log()
        log.prepare()
        log.commit(Change("p", "collect", "unit", "run", (file,)), log.version("p"))

    monkeypatch.setattr(TableLog, "append_mark", late)
    assert vacuum_table(table.address, NONE).files == {Kind.DATA: 2}
    assert "slow" in table.readable()[0]


def test_two_vacuums_and_collectors_at_once(table: Table) -> None:
    for _ in range(10):
        table.collect()
    table.compact()

    def collect(number: int) -> None:
        mine = Table(table.lake, count=100 * number)
        for _ in range(5):
            mine.collect(f"c{number}", rejects=1)
            mine.compact(f"c{number}")

    with ThreadPoolExecutor(4) as threads:
        work = [threads.submit(collect, number) for number in (1, 2)]
        work += [threads.submit(vacuum_table, table.address, NONE) for _ in range(4)]
        for each in work:
            each.result()
    rows, states = table.readable()
    assert len(rows) == 2 * (10 + 5 + 5)
    assert [len(states[name][1]) for name in ("c1", "c2")] == [5, 5]


def test_a_table_that_took_the_place_of_another_keeps_its_log(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_history(table)
    real = _Plan._first_checkpoint

    def replacing(self: _Plan) -> int:
        first = real(self)
        monkeypatch.setattr(_Plan, "_first_checkpoint", real)
        delete_table(table.lake, table.name)
        for _ in range(3):
            table.collect()
        return first

    monkeypatch.setattr(_Plan, "_first_checkpoint", replacing)
    vacuum_table(table.address, WEEK)
    assert len(table.readable()[0]) == 6
    assert f"_delta_log/{0:020d}.json" in table.paths()


Move = tuple[str, str, int, float]
moves = st.tuples(
    st.sampled_from(["collect", "collect", "collect", "compact", "delete", "drop", "vacuum", "restore"]),
    st.sampled_from(["p", "q"]),
    st.integers(0, 1),
    st.sampled_from([0, 0.1, 2, 5]),
)


@settings(max_examples=15)
@given(st.lists(moves, min_size=5, max_size=25), st.sampled_from([0, 3, 7]))
def test_every_version_within_the_retention_reads_as_before(
    tmp_path_factory: pytest.TempPathFactory, history: list[Move], days: int
) -> None:
    table = Table(Lake(str(tmp_path_factory.mktemp("lake"))))
    table.collect()
    ages: list[float] = [0]
    seen = {table.delta.version(): table.readable()}
    for move, partition, day, rest in history:
        play(table, move, partition, day, Lookback(days, "d"))
        for version in range(len(ages), table.delta.version() + 1):
            ages.append(0)
            seen[version] = table.readable(version)
        table.pass_time(rest * DAY)
        ages = [age + rest for age in ages]
    vacuum(table, Lookback(days, "d"))
    newest = len(ages) - 1
    needed = max((version for version, age in enumerate(ages) if age > days), default=0) if days else newest
    for version in range(max(needed, floor_of(table.delta)), newest + 1):
        if version in seen:
            assert table.readable(version) == seen[version]
    assert table.readable() == seen[newest]
    table.collect()
    assert partition_runs(table.lake, table.name)


def play(table: Table, move: str, partition: str, day: int, older_than: Lookback) -> None:
    match move:
        case "collect":
            table.collect(partition, day, rejects=day)
        case "compact":
            table.compact(partition, day)
        case "delete":
            table.delete_day(partition, day)
        case "drop":
            table.drop_rejects(partition)
        case "vacuum":
            vacuum_table(table.address, older_than)
        case "restore":
            version = max(table.delta.version() - 3, 1)
            if version >= floor_of(table.delta):
                restore(table.address, version)
