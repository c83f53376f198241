"""The commit protocol on a real Delta log: what counts, what conflicts, and what a failure leaves behind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tailpipe.errors import ConflictError, LakeError
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.catalog import list_tables, reject_files, stored_columns
from tailpipe.lake.extent import may_hold
from tailpipe.lake.facts import FileFact
from tailpipe.lake.history import partition_versions
from tailpipe.lake.known import Artifacts
from tailpipe.lake.log import TYPE_KEY, TableLog
from tailpipe.lake.manifest import (
    Failure,
    Header,
    KnownArtifact,
    windows_text,
)
from tailpipe.lake.manifest_file import Manifest, read_manifest, write_manifest
from tailpipe.lake.state import PartitionState
from tailpipe.lake.transaction import Change
from tailpipe.records import Mark, RowCounts
from tailpipe.times import Window

SCHEMA = pa.schema(
    [
        pa.field("message", pa.string(), metadata={TYPE_KEY: "VARCHAR"}),
        pa.field("size", pa.int32(), metadata={TYPE_KEY: "INTEGER"}),
        pa.field("tp_timestamp", pa.timestamp("us"), metadata={TYPE_KEY: "TIMESTAMP"}),
        pa.field("tp_partition", pa.string(), metadata={TYPE_KEY: "VARCHAR"}),
        pa.field("tp_index", pa.string(), metadata={TYPE_KEY: "VARCHAR"}),
        pa.field("tp_date", pa.date32(), metadata={TYPE_KEY: "DATE"}),
    ]
)
ALWAYS = Window(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))
JUNE = Window(datetime(2024, 6, 1, tzinfo=UTC), datetime(2024, 7, 1, tzinfo=UTC))
JULY = Window(datetime(2024, 7, 1, tzinfo=UTC), datetime(2024, 8, 1, tzinfo=UTC))


@pytest.fixture
def location(tmp_path: Path) -> str:
    return str(tmp_path / "data" / "app_log")


def data_file(location: str, name: str, partition: str = "p", message: str = "m") -> FileFact:
    folder = f"tp_partition={partition}/tp_index=default/tp_date=2024-06-01"
    path = Path(location, folder, f"{name}.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    moment = datetime(2024, 6, 1, 12)  # noqa: DTZ001
    rows = pa.table({"message": [message], "size": pa.array([1], pa.int32()), "tp_timestamp": [moment]})
    pq.write_table(rows, path)
    return FileFact(
        unit="2024-06-01",
        path=f"{folder}/{name}.parquet",
        size_bytes=path.stat().st_size,
        rows=1,
        partition_values={"tp_partition": partition, "tp_index": "default", "tp_date": "2024-06-01"},
        first="2024-06-01T12:00:00.000",
        last="2024-06-01T12:00:00.000",
    )


def record(location: str = "a.log", version: str = "1", kept: tuple[Window, ...] = ()) -> KnownArtifact:
    return KnownArtifact(
        "file",
        location,
        location,
        version,
        10,
        None,
        kept or (ALWAYS,),
        rows=RowCounts(3, stored=1, filtered=1, rejected=1),
    )


def change(location: str, name: str, partition: str = "p", *records: KnownArtifact) -> Change:
    file = data_file(location, name, partition)
    return Change(
        partition, "collect", "2024-06-01", "run", (file,), artifacts=records or (record(f"{name}.log"),)
    )


def keys(state: PartitionState) -> set[tuple[str, str]]:
    return {known.key for known in state.artifacts.known()}


def visible(location: str) -> int:
    return DeltaTable(location).to_pyarrow_table().num_rows if Path(location, "_delta_log").is_dir() else 0


def test_a_table_that_was_never_collected_is_new(location: str) -> None:
    state = TableLog(TableAddress(location), SCHEMA).state("p")
    assert (state.version, state.is_new) == (0, True)
    assert not Path(location).exists()


def test_data_and_state_become_true_together(location: str) -> None:
    log = TableLog(TableAddress(location), SCHEMA)
    first = log.commit(change(location, "a"), 0)
    second = log.commit(change(location, "b"), first)
    assert 0 < first < second

    state = TableLog(TableAddress(location), SCHEMA).state("p")
    assert (state.version, keys(state)) == (second, {("file", "a.log"), ("file", "b.log")})
    assert visible(location) == 2
    assert TableLog(TableAddress(location), SCHEMA).state("other").is_new


def test_a_manifest_that_no_commit_names_does_not_count(location: str) -> None:
    log = TableLog(TableAddress(location), SCHEMA)
    log.commit(change(location, "a"), 0)
    header = Header("p", "collect", "2024-06-02", "run", JUNE.start)
    write_manifest(
        TableAddress(location),
        "_manifests/p/00000002-stray.parquet",
        Manifest.of(header, [record("stray.log")]),
    )
    assert keys(log.state("p")) == {("file", "a.log")}


def test_two_collectors_of_one_partition_conflict_and_nothing_is_doubled(location: str) -> None:
    first, second = TableLog(TableAddress(location), SCHEMA), TableLog(TableAddress(location), SCHEMA)
    first.state("p")
    second.state("p")
    version = first.commit(change(location, "a"), 0)
    with pytest.raises(ConflictError, match=r"app_log\.p was collected by another process"):
        second.commit(change(location, "a-again"), 0)
    assert visible(location) == 1
    assert len(list(Path(location, "_manifests", "p").iterdir())) == 1
    assert second.commit(change(location, "b"), second.state("p").version) > version


def test_collectors_of_different_partitions_do_not_disturb_each_other(location: str) -> None:
    first, second = TableLog(TableAddress(location), SCHEMA), TableLog(TableAddress(location), SCHEMA)
    version = first.commit(change(location, "a"), 0)
    second.refresh()
    version = first.commit(change(location, "b"), version)
    other = second.commit(change(location, "c", "q"), 0)
    assert visible(location) == 3
    assert partition_versions(TableAddress(location)) == {"p": version, "q": other}


def test_the_last_record_of_an_artifact_counts(location: str) -> None:
    log = TableLog(TableAddress(location), SCHEMA)
    version = log.commit(change(location, "a", "p", record("x.log", kept=(JUNE,))), 0)
    log.commit(change(location, "b", "p", record("x.log", version="2", kept=(JUNE, JULY))), version)
    assert log.state("p").artifacts.known() == [record("x.log", version="2", kept=(JUNE, JULY))]


def test_manifests_survive_a_round_trip(location: str) -> None:
    failure = Failure("2024-06-01", "it broke", 3, JUNE.end, "r", JUNE.start.date())
    header = Header(
        "p",
        "collect",
        "u",
        "r",
        JUNE.start,
        files=("f.parquet",),
        rejects=("r.parquet",),
        asked={"s3": windows_text([JUNE])},
        failures=(failure,),
    )
    dated = KnownArtifact(
        "s3",
        "key ü",
        "elsewhere",
        "etag",
        2**40,
        JUNE,
        (JUNE, JULY),
        mark=Mark(7, 2, "h", "t", 1),
        waiting_bytes=1,
        constants={"tp_source_name": "group"},
        rows=RowCounts(9, stored=3, filtered=2, outside=1, rejected=3),
        first=JUNE.start,
        last=JUNE.end,
        collected_at=JULY.end,
        run="r",
        oldest=JUNE.start,
        newest=JULY.end,
        is_gone=True,
    )
    manifest = Manifest.of(header, (dated, record()))
    write_manifest(TableAddress(location), "_manifests/p/x.parquet", manifest)
    found = read_manifest(TableAddress(location), "_manifests/p/x.parquet")
    assert (found.header, Artifacts([found.rows]).known()) == (header, [dated, record()])


def test_manifests_of_before_the_times_of_all_rows_were_noted_can_be_read(location: str) -> None:
    """Where all rows were stored, theirs are known; where some were left out, nobody can say."""
    times = {"first": JUNE.start, "last": JUNE.end}
    whole, some = record("whole.log", kept=(JUNE,)), record("some.log", kept=(JUNE,))
    whole = msgspec.structs.replace(whole, **times, rows=RowCounts(5, stored=3, rejected=2))
    some = msgspec.structs.replace(some, **times, rows=RowCounts(5, stored=3, outside=2))
    path = "_manifests/p/x.parquet"
    write_manifest(
        TableAddress(location), path, Manifest.of(Header("p", "collect", "u", "r", JUNE.start), (whole, some))
    )
    rows = pq.read_table(f"{location}/{path}")
    pq.write_table(rows.drop_columns(["oldest", "newest", "is_gone", "open_bytes"]), f"{location}/{path}")
    known = msgspec.structs.replace(whole, oldest=JUNE.start, newest=JUNE.end)
    assert Artifacts([read_manifest(TableAddress(location), path).rows]).known() == [known, some]
    assert may_hold(known, [JUNE])
    assert not may_hold(known, [Window(JULY.start + timedelta(days=1), JULY.end)])
    assert may_hold(some, [JULY])


def test_new_columns_are_added_and_types_stay(location: str) -> None:
    version = TableLog(TableAddress(location), SCHEMA).commit(change(location, "a"), 0)
    wider = TableLog(
        TableAddress(location), SCHEMA.append(pa.field("zone", pa.string(), metadata={TYPE_KEY: "VARCHAR"}))
    )
    wider.refresh()
    version = wider.commit(change(location, "b"), version)
    assert stored_columns(TableAddress(location))["zone"] == "VARCHAR"
    assert list_tables(Lake(str(Path(location).parent))) == ["app_log"]

    changed = SCHEMA.set(1, pa.field("size", pa.bool_(), metadata={TYPE_KEY: "BOOLEAN"}))
    other = TableLog(TableAddress(location), changed)
    other.refresh()
    with pytest.raises(LakeError, match="stored as INTEGER and declared as BOOLEAN") as error:
        other.commit(change(location, "c"), version)
    assert error.value.hint
    assert visible(location) == 2


def test_descriptions_may_come_and_go(location: str) -> None:
    """They are metadata of the columns: a lake that was collected before they were written goes on."""
    described = pa.schema(
        field.with_metadata({**field.metadata, "comment": f"What {field.name} means."}) for field in SCHEMA
    )
    version = 0
    for number, schema in enumerate((SCHEMA, described, SCHEMA)):
        log = TableLog(TableAddress(location), schema)
        log.refresh()
        version = log.commit(change(location, f"file-{number}"), version)
    assert visible(location) == 3


def test_narrower_schema_keeps_the_columns_that_are_stored(location: str) -> None:
    version = TableLog(TableAddress(location), SCHEMA).commit(change(location, "a"), 0)
    narrow = TableLog(TableAddress(location), pa.schema([field for field in SCHEMA if field.name != "size"]))
    narrow.refresh()
    narrow.commit(change(location, "b"), version)
    assert DeltaTable(location).to_pyarrow_table().column("size").to_pylist() == [1, 1]


@pytest.mark.parametrize("blocked", ["_manifests", "_delta_log"])
def test_a_commit_that_cannot_be_written_shows_nothing(location: str, blocked: str) -> None:
    unit = change(location, "a")
    Path(location, blocked).write_text("in the way")
    log = TableLog(TableAddress(location), SCHEMA)
    with pytest.raises(LakeError) as error:
        log.commit(unit, 0)
    assert location in error.value.message
    assert error.value.hint
    assert visible(location) == 0
    Path(location, blocked).unlink()
    again = TableLog(TableAddress(location), SCHEMA)
    again.commit(unit, again.state("p").version)
    assert visible(location) == 1


def test_a_commit_counts_though_its_checkpoint_fails(location: str) -> None:
    """The log writes a checkpoint after every 25th commit; by then the commit itself is true."""
    log = TableLog(TableAddress(location), SCHEMA)
    unit = change(location, "a")
    version = log.commit(unit, 0)
    Path(location, "_delta_log", "_last_checkpoint").mkdir()
    for number in range(1, 27):
        version = log.commit(
            Change("p", "collect", "u", "run", artifacts=(record(f"{number}.log"),)), version
        )
    log.commit(change(location, "b"), version)
    assert len(TableLog(TableAddress(location), SCHEMA).state("p").artifacts) == 28
    assert visible(location) == 2


def test_few_entries_lie_behind_the_last_checkpoint(location: str) -> None:
    """Every commit reads them all, and so does every query."""
    log = TableLog(TableAddress(location), SCHEMA)
    version = 0
    for number in range(30):
        version = log.commit(
            Change("p", "collect", "u", "run", artifacts=(record(f"{number}.log"),)), version
        )
    checkpoints = sorted(Path(location, "_delta_log").glob("*.checkpoint.parquet"))
    assert [int(path.name.split(".")[0]) for path in checkpoints] == [24]


def test_a_log_that_is_not_one_is_a_lake_error(location: str) -> None:
    folder = Path(location, "_delta_log")
    folder.mkdir(parents=True)
    (folder / f"{0:020d}.json").write_text("not a log")
    with pytest.raises(LakeError, match="the Delta log cannot be read") as error:
        TableLog(TableAddress(location), SCHEMA).state("p")
    assert error.value.hint


def test_reject_files_are_those_that_commits_name(location: str) -> None:
    log = TableLog(TableAddress(location), SCHEMA)
    version = log.commit(
        Change("p", "collect", "u", "run", rejects=("_rejects/p/a.parquet", "_rejects/p/b.parquet")), 0
    )
    log.commit(Change("p", "drop", "u", "run", removed_rejects=("_rejects/p/b.parquet",)), version)
    Path(location, "_rejects", "p").mkdir(parents=True)
    Path(location, "_rejects", "p", "stray.parquet").write_bytes(b"")
    assert reject_files(Lake(str(Path(location).parent)), "app_log") == [f"{location}/_rejects/p/a.parquet"]
