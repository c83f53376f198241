"""A partition's state is found in few reads, however long its history is and whatever the log has forgotten of it."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from test_log import SCHEMA, change, keys, record, visible

from tailpipe.errors import ConflictError
from tailpipe.lake import history
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.catalog import list_tables, partition_names, partition_states
from tailpipe.lake.deletion import delete_window
from tailpipe.lake.history import all_names, next_version, partition_versions, recent_names, state_at
from tailpipe.lake.log import TableLog
from tailpipe.lake.manifest_file import Manifest, write_manifest
from tailpipe.lake.paths import manifest_path
from tailpipe.lake.restoring import restore
from tailpipe.lake.runs import partition_runs
from tailpipe.lake.table_deletion import delete_table
from tailpipe.lake.transaction import MANIFESTS_PER_SNAPSHOT, Change, manifest_of, snapshot
from tailpipe.query.connection import load_extension
from tailpipe.times import Window

LONG = 2 * MANIFESTS_PER_SNAPSHOT + 20


@pytest.fixture
def address(tmp_path: Path) -> TableAddress:
    return Lake(str(tmp_path)).table("app_log")


def lake_of(address: TableAddress) -> Lake:
    return Lake(str(Path(address.uri).parent))


def unit(number: int, partition: str = "p") -> Change:
    return Change(partition, "collect", f"u{number}", f"run {number}", artifacts=(record(f"{number}.log"),))


def committed(address: TableAddress, count: int, partition: str = "p") -> int:
    log = TableLog(address, SCHEMA)
    version = log.version(partition)
    for number in range(count):
        version = log.commit(unit(number, partition), version)
    return version


def shorten(address: TableAddress) -> None:
    """As upkeep may: entries before the last checkpoint are gone."""
    folder = Path(address.path("_delta_log"))
    *older, last = sorted(folder.glob("*.checkpoint.parquet"))
    number = int(last.name.split(".")[0])
    for path in (*older, *(path for path in folder.glob("*.json") if int(path.stem) < number)):
        path.unlink()
    assert not (folder / f"{0:020d}.json").exists()


def test_versions_go_up_and_are_never_the_same() -> None:
    versions = [0]
    for _ in range(3):
        versions.append(next_version(versions[-1]))
    assert versions == sorted(versions)
    assert len({next_version(7 << 20) for _ in range(100)}) > 1
    assert next_version(2**33 << 20) < 2**53 + 2**21


def test_a_long_history_is_known_by_few_reads(address: TableAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    version = committed(address, LONG)
    assert len(all_names(address, "p", version)) == LONG
    reads: list[str] = []
    real = history.read_manifest

    def counted(address: TableAddress, path: str) -> Manifest:
        reads.append(path)
        return real(address, path)

    monkeypatch.setattr(history, "read_manifest", counted)
    state = TableLog(address, SCHEMA).state("p")
    assert keys(state) == {("file", f"{number}.log") for number in range(LONG)}
    assert len(reads) <= MANIFESTS_PER_SNAPSHOT + 2
    assert [run.run for run in partition_runs(lake_of(address), "app_log", "p")] == [
        f"run {number}" for number in range(LONG)
    ]


def test_a_quiet_partition_is_known_though_the_log_forgot_its_commits(address: TableAddress) -> None:
    quiet = TableLog(address, SCHEMA).commit(change(address.uri, "a", "quiet"), 0)
    version = committed(address, LONG)
    shorten(address)
    assert partition_versions(address) == {"p": version, "quiet": quiet}
    states = partition_states(lake_of(address), "app_log")
    assert keys(states["quiet"]) == {("file", "a.log")}
    assert len(states["p"].artifacts) == LONG
    assert list_tables(lake_of(address)) == ["app_log"]
    assert partition_names(lake_of(address), "app_log") == ["p", "quiet"]
    assert len(partition_runs(lake_of(address), "app_log")) == LONG + 1

    log = TableLog(address, SCHEMA)
    log.prepare()
    log.commit(change(address.uri, "b", "quiet"), log.state("quiet").version)
    assert visible(address.uri) == 2
    with duckdb.connect() as connection:
        load_extension(connection, "delta")
        assert connection.sql(f"select count(*) from delta_scan('{address.uri}')").fetchall() == [(2,)]


def test_a_shortened_table_is_told_from_one_in_its_place(address: TableAddress) -> None:
    committed(address, LONG)
    shorten(address)
    log = TableLog(address, SCHEMA)
    version = log.version("p")
    copy = Path(address.uri).parent / "copy"
    shutil.copytree(address.uri, copy)
    delete_table(lake_of(address), "app_log")
    with pytest.raises(ConflictError, match="was deleted by another process"):
        log.commit(unit(0), version)
    shutil.move(copy, address.uri)
    assert log.version("p") == version


def test_every_writer_leaves_a_snapshot_where_one_is_due(address: TableAddress) -> None:
    committed(address, MANIFESTS_PER_SNAPSHOT + 1)
    always = Window(record().kept[0].start, record().kept[0].end)
    delete_window(lake_of(address), "app_log", "p", always)
    version = TableLog(address, SCHEMA).version("p")
    snapshot, deletion = recent_names(address, "p", version)
    assert snapshot == f"{deletion}-snapshot"
    assert not TableLog(address, SCHEMA).state("p").artifacts.is_kept.any()


def test_partitions_are_found_whatever_they_are_called(address: TableAddress) -> None:
    names = ["p", "with a space/and more", "ü" * 100, "%41"]
    versions = {name: committed(address, 1, name) for name in names}
    Path(address.path("_manifests/nobody")).mkdir()
    assert partition_versions(address) == versions


def of_before(address: TableAddress, number: int, manifest: Manifest) -> None:
    """Commits as it was done when the log's entries named the manifests."""
    partition, path = manifest.header.partition, manifest_path("p", f"{number:08d}-{uuid.uuid4().hex}")
    write_manifest(address, path, manifest)
    delta = DeltaTable(address.uri)
    told: dict[str, str] = {"tailpipe.manifest": path, "tailpipe.partition": partition}
    if manifest.header.is_snapshot:
        told["tailpipe.snapshot"] = "true"
    properties: dict[str, Any] = {
        "custom_metadata": told,
        "app_transactions": [Transaction(f"tailpipe/{partition}", number)],
    }
    columns = ["tp_partition", "tp_index", "tp_date"]
    delta.create_write_transaction(
        [], "append", delta.schema(), columns, commit_properties=CommitProperties(**properties)
    )


@pytest.mark.parametrize("has_snapshot", [False, True])
def test_a_lake_of_before_opens_and_goes_on(address: TableAddress, has_snapshot: bool) -> None:
    columns = ["tp_partition", "tp_index", "tp_date"]
    DeltaTable.create(address.uri, Schema.from_arrow(pa.schema(list(SCHEMA))), partition_by=columns)
    for number in range(1, 4):
        of_before(address, number, manifest_of(unit(number)))
    if has_snapshot:
        of_before(address, 4, snapshot("p", "run", TableLog(address, SCHEMA).state("p")))
        of_before(address, 5, manifest_of(unit(5)))
    numbers = [1, 2, 3, 5] if has_snapshot else [1, 2, 3]
    log = TableLog(address, SCHEMA)
    assert keys(log.state("p")) == {("file", f"{number}.log") for number in numbers}
    assert len(recent_names(address, "p", log.version("p"))) == (2 if has_snapshot else 3)

    log.commit(unit(6), log.version("p"))
    assert len(recent_names(address, "p", log.version("p"))) == 2
    assert [run.run for run in partition_runs(lake_of(address), "app_log", "p")] == [
        f"run {number}" for number in (*numbers, 6)
    ]
    DeltaTable(address.uri).create_checkpoint()
    shorten(address)
    assert keys(log.state("p")) == {("file", f"{number}.log") for number in (*numbers, 6)}


def test_a_lake_of_before_is_read_as_it_was_and_restored(address: TableAddress) -> None:
    columns = ["tp_partition", "tp_index", "tp_date"]
    DeltaTable.create(address.uri, Schema.from_arrow(pa.schema(list(SCHEMA))), partition_by=columns)
    for number in range(1, 4):
        of_before(address, number, manifest_of(unit(number)))

    def known(version: int | None = None) -> set[tuple[str, str]]:
        found = address if version is None else address.at(version)
        return keys(state_at(found, "p", partition_versions(found)["p"]))

    assert known(2) == {("file", "1.log"), ("file", "2.log")}
    for version in (2, 1, 3):
        restore(address, version)
        assert known() == {("file", f"{number}.log") for number in range(1, version + 1)}
    runs = partition_runs(lake_of(address), "app_log", "p")
    assert [run.kind for run in runs] == ["collect"] * 3 + ["restore"] * 3


def test_a_first_commit_that_was_killed_hides_no_partition(address: TableAddress) -> None:
    """Names that are too long for a folder are read from manifests, of which one may be empty."""
    committed(address, 1, "short")
    name = "ü" * 60
    address.files.write_new(manifest_path(name, "0000000001-00000"), b"")
    assert list(partition_versions(address)) == ["short"]
    committed(address, 1, name)
    assert list(partition_versions(address)) == ["short", name]
