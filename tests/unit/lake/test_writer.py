"""What a task makes of standardised rows: files in hive folders, rejects, and facts that add up. No engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailpipe.lake import folder_limit, rejects
from tailpipe.lake.address import TableAddress
from tailpipe.lake.columns import row_ids
from tailpipe.lake.facts import (
    ArtifactSlot,
    ErrorFact,
    Fact,
    FileFact,
    ReadFact,
    RejectsFact,
    RowsFact,
    decode_facts,
)
from tailpipe.lake.writer import WriteJob
from tailpipe.records import CLOSING_POSITION, Closing, Failed, Mark, Reading, ReasonCode, encode_closing
from tailpipe.times import Window

START = datetime(2024, 6, 1, tzinfo=UTC)
STORED = pa.schema(
    [
        ("message", pa.string()),
        ("details", pa.string()),
        ("tp_id", pa.string()),
        ("tp_ingest_timestamp", pa.timestamp("us")),
        ("tp_source_location", pa.string()),
        ("tp_tags", pa.list_(pa.string())),
        ("tp_timestamp", pa.timestamp("us")),
    ]
)


def slot(location: str = "a.log", unit: str = "2024-06-01", **more: Any) -> ArtifactSlot:
    prefix = (location.encode().hex() * 12)[:12].encode()
    return ArtifactSlot(unit, "files", location, prefix, {"tp_source_location": location}, **more)


def make_job(root: Path, *slots: ArtifactSlot, index: str | None = None) -> WriteJob:
    return WriteJob(
        address=TableAddress(str(root)),
        table="app_log",
        partition="p",
        stored_schema=STORED,
        slots=slots or (slot(),),
        index_column=index,
        ingested_at=START,
        json_columns=frozenset({"details"}),
    )


def row(hours: float = 0, artifact: int = 0, position: int = 1, **more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("details", "tp_index", "entry", "reason", "raw"))
    place = {"tp_timestamp": START + timedelta(hours=hours), "artifact": artifact, "position": position}
    return {**empty, "message": "m", "tp_tags": [], **place, **more}


def microseconds(**offset: float) -> int:
    return (START + timedelta(**offset) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def id_parts(prefix: str, entry: str | None, position: int) -> tuple[Any, pa.Array, pa.Array]:
    characters = np.frombuffer(prefix.encode(), dtype=np.uint8).reshape(1, -1)
    return characters, pa.array([position]), pa.array([entry], pa.string())


def note(artifact: int, rows: int) -> dict[str, Any]:
    return closing(artifact, Reading(rows, 10))


def closing(artifact: int, end: Closing) -> dict[str, Any]:
    return row(artifact=artifact, position=CLOSING_POSITION, raw=encode_closing(end), tp_timestamp=None)


PLACE_NAMES = ("artifact", "entry", "position", "reason", "code", "raw")
BATCH = pa.schema(
    [
        ("message", pa.string()),
        ("details", pa.string()),
        ("tp_index", pa.string()),
        ("tp_tags", pa.list_(pa.string())),
        ("tp_timestamp", pa.timestamp("us", tz="UTC")),
        ("artifact", pa.int32()),
        ("entry", pa.string()),
        ("position", pa.int64()),
        ("reason", pa.string()),
        ("code", pa.string()),
        ("raw", pa.string()),
    ]
)


def write(job: WriteJob, rows: Sequence[dict[str, Any]], batch_rows: int = 1000) -> list[Fact]:
    starts = range(0, len(rows), batch_rows)
    names = [f"tp_{name}" if name in PLACE_NAMES else name for name in BATCH.names]
    batches = [
        pa.RecordBatch.from_pylist(list(rows[k : k + batch_rows]), schema=BATCH).rename_columns(names)
        for k in starts
    ]
    return [fact for batch in job(iter(batches)) for fact in decode_facts(batch.column("fact").to_pylist())]


def files(facts: Sequence[Fact]) -> list[FileFact]:
    return sorted((fact for fact in facts if isinstance(fact, FileFact)), key=lambda fact: fact.path)


def stored(root: Path, facts: Sequence[Fact]) -> list[dict[str, Any]]:
    return [found for fact in files(facts) for found in pq.ParquetFile(root / fact.path).read().to_pylist()]


def test_rows_go_to_the_folder_of_their_day_and_index(tmp_path: Path) -> None:
    job = make_job(tmp_path, index="tp_index")
    facts = write(
        job, [row(1, tp_index="a/b"), row(25, position=2, tp_index=None), row(2, position=3, tp_index="a/b")]
    )
    assert [fact.path.rsplit("/", 1)[0] for fact in files(facts)] == [
        "tp_partition=p/tp_index=a%2Fb/tp_date=2024-06-01",
        "tp_partition=p/tp_index=default/tp_date=2024-06-02",
    ]
    first, second = files(facts)
    assert first.partition_values == {"tp_partition": "p", "tp_index": "a/b", "tp_date": "2024-06-01"}
    assert (first.rows, second.rows) == (2, 1)
    assert (first.first, first.last) == ("2024-06-01T01:00:00.000", "2024-06-01T02:00:00.000")
    assert first.size_bytes == (tmp_path / first.path).stat().st_size
    counts = RowsFact(0, 3, 0, 0, *[microseconds(hours=1), microseconds(hours=25)] * 2)
    assert [fact for fact in facts if isinstance(fact, RowsFact)] == [counts]


def test_times_of_a_file_are_never_narrower_than_its_rows(tmp_path: Path) -> None:
    odd = [
        row(position=k, tp_timestamp=START + timedelta(microseconds=offset))
        for k, offset in enumerate((1, 999, 1001))
    ]
    (file,) = files(write(make_job(tmp_path), odd))
    assert (file.first, file.last) == ("2024-06-01T00:00:00.000", "2024-06-01T00:00:00.002")


def test_times_before_1970_have_their_own_day(tmp_path: Path) -> None:
    old = datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC)
    (file,) = files(write(make_job(tmp_path), [row(tp_timestamp=old)]))
    assert file.partition_values["tp_date"] == "1969-12-31"
    assert (file.first, file.last) == ("1969-12-31T23:59:59.500", "1969-12-31T23:59:59.500")


def test_columns_that_the_writer_fills(tmp_path: Path) -> None:
    facts = write(make_job(tmp_path), [row(position=7, details='{"a": 1}', tp_tags=["x"]), row(position=8)])
    first, second = stored(tmp_path, facts)
    assert first["tp_source_location"] == "a.log"
    assert first["tp_ingest_timestamp"] == START.replace(tzinfo=None)
    assert (first["tp_tags"], second["tp_tags"]) == (["x"], None)
    assert first["tp_id"] == make_job(tmp_path).slots[0].id_prefix.decode() + "00000007"


def test_json_that_lost_its_quotes_gets_them_back(tmp_path: Path) -> None:
    texts = [
        '{"a": 1}',
        '["x"]',
        "[1, 2]",
        "{}",
        "17",
        "true",
        "plain",
        "007",
        "[not",
        "{braces}",
        'say "hi"',
        None,
    ]
    rows = [row(position=k, details=text) for k, text in enumerate(texts)]
    kept = ['{"a": 1}', '["x"]', "[1, 2]", "{}", "17", "true"]
    quoted = ['"plain"', '"007"', '"[not"', '"{braces}"', '"say \\"hi\\""', None]
    assert [found["details"] for found in stored(tmp_path, write(make_job(tmp_path), rows))] == kept + quoted


def test_rejects_keep_text_place_and_reason(tmp_path: Path) -> None:
    bad = row(position=3, reason="no time", raw="raw text", tp_timestamp=None, entry="inner.log")
    facts = write(make_job(tmp_path), [row(position=1), bad])
    (fact,) = [fact for fact in facts if isinstance(fact, RejectsFact)]
    assert (fact.unit, fact.rows) == ("2024-06-01", 1)
    (reject,) = pq.ParquetFile(tmp_path / fact.path).read().to_pylist()
    prefix = make_job(tmp_path).slots[0].id_prefix.decode()
    assert reject.pop("id") == row_ids(*id_parts(prefix, "inner.log", 3)).to_pylist()[0]
    assert reject == {
        "table_name": "app_log",
        "partition": "p",
        "source": "files",
        "artifact": "a.log",
        "entry": "inner.log",
        "position": 3,
        "raw": "raw text",
        "reason": "no time",
        "rejected_at": START.replace(tzinfo=None),
        "records": 1,
        "code": "bad_value",
    }


@pytest.mark.parametrize("batch_rows", [1, 7, 1_000])
@pytest.mark.parametrize(
    ("limits", "kept"),
    [({"MAX_KEPT_ROWS": 10}, 10), ({"MAX_KEPT_BYTES": 40}, 8), ({"MAX_KEPT_ROWS": 100}, 30)],
)
def test_rejects_beyond_the_limits_are_one_row_that_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], kept: int, batch_rows: int
) -> None:
    """Of each artifact alone, in the order of its records; `records` adds up to all of them."""
    for name, value in limits.items():
        monkeypatch.setattr(rejects, name, value)
    bad = [
        row(
            artifact=k % 3,
            position=k,
            raw=f"{k:05d}",
            tp_timestamp=None,
            reason=None if k % 3 == 2 else f"bad {k}",
        )
        for k in range(90)
    ]
    bad = [each | ({"tp_timestamp": START} if each["reason"] is None else {}) for each in bad]
    job = make_job(tmp_path, slot("a"), slot("b"), slot("c"))
    facts = write(job, bad, batch_rows=batch_rows)
    found = [
        each for fact in facts if isinstance(fact, RejectsFact) for each in kept_in(tmp_path / fact.path)
    ]
    assert sum(fact.rows for fact in facts if isinstance(fact, RejectsFact)) == 60
    assert sorted(fact.rejected for fact in facts if isinstance(fact, RowsFact)) == [0, 30, 30]
    for number, artifact in enumerate("ab"):
        own = [each for each in found if each["artifact"] == artifact]
        positions = list(range(number, 90, 3))
        assert [each["position"] for each in own] == positions[: kept + 1]
        assert [each["records"] for each in own] == [1] * kept + [30 - kept] * (kept < 30)
        if kept < 30:
            first = positions[kept]
            reason = f"{30 - kept:,} more rejects of this artifact were only counted; the first: bad {first}"
            assert (own[-1]["reason"], own[-1]["raw"]) == (reason, f"{first:05d}")
            assert ReasonCode(own[-1]["code"]).is_final


def test_what_was_kept_once_is_kept_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejects, "MAX_KEPT_ROWS", 10)
    bad = [row(position=k, reason="bad", raw="x", tp_timestamp=None) for k in range(30)]
    facts = write(replace(make_job(tmp_path), keeps_all_rejects=True), bad)
    (fact,) = [fact for fact in facts if isinstance(fact, RejectsFact)]
    assert [each["records"] for each in kept_in(tmp_path / fact.path)] == [1] * 30


def test_a_reason_is_cut_where_it_is_too_long_to_read(tmp_path: Path) -> None:
    bad = row(reason="é" * 1_000_000, raw="x", tp_timestamp=None)
    (fact,) = [fact for fact in write(make_job(tmp_path), [bad]) if isinstance(fact, RejectsFact)]
    (reject,) = kept_in(tmp_path / fact.path)
    assert reject["reason"] == "é" * 2_000


def kept_in(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.ParquetFile(path).read().to_pylist()
    return found


def test_rejects_of_many_units_do_not_pile_up(tmp_path: Path) -> None:
    slots = [slot(f"{k}.log", unit=f"u{k}") for k in range(8)]
    job = replace(make_job(tmp_path, *slots), buffer_max_bytes=4 * 1000)
    bad = [row(artifact=k % 8, position=k, reason="bad", raw="x" * 100) for k in range(400)]
    found = [fact for fact in write(job, bad, batch_rows=10) if isinstance(fact, RejectsFact)]
    assert max(fact.rows for fact in found) < 1000 // 100
    by_unit = {
        unit: sum(fact.rows for fact in found if fact.unit == unit) for unit in {each.unit for each in slots}
    }
    assert by_unit == {f"u{k}": 50 for k in range(8)}
    for fact in found:
        kept = pq.ParquetFile(tmp_path / fact.path).read()
        assert set(kept["artifact"].to_pylist()) == {f"{fact.unit[1:]}.log"}


def test_closing_rows_become_facts(tmp_path: Path) -> None:
    error = closing(1, Failed("b.log: cut short"))
    facts = write(make_job(tmp_path, slot("a.log"), slot("b.log")), [row(), note(0, 1), error])
    assert ReadFact(0, Reading(1, 10)) in facts
    assert ErrorFact(1, "b.log: cut short") in facts


def test_all_that_a_closing_row_says_is_handed_on(tmp_path: Path) -> None:
    reading = Reading(1, 10, Mark(8, 3, "h", "t", 1), waiting_bytes=2, is_restarted=True)
    assert write(make_job(tmp_path), [closing(0, reading)]) == [ReadFact(0, reading)]


def test_windows_keep_what_is_wanted_of_each_artifact(tmp_path: Path) -> None:
    first = Window(START, START + timedelta(hours=1))
    second = Window(START + timedelta(hours=5), START + timedelta(hours=6))
    slots = (slot("a.log", keep=(first, second)), slot("b.log"))
    rows = [row(hours, artifact) for artifact in (0, 1) for hours in (-1, 0, 0.5, 1, 5, 6)]
    facts = write(make_job(tmp_path, *slots), [{**found, "position": k} for k, found in enumerate(rows)])
    counts = [fact for fact in facts if isinstance(fact, RowsFact)]
    ends = microseconds(hours=-1), microseconds(hours=6)
    assert counts == [
        RowsFact(0, 3, 3, 0, microseconds(), microseconds(hours=5), *ends),
        RowsFact(1, 6, 0, 0, *ends, *ends),
    ]


def test_rejects_of_an_artifact_that_is_read_again_are_not_kept_twice(tmp_path: Path) -> None:
    job = make_job(tmp_path, slot(is_reread=True))
    facts = write(job, [row(position=1), row(position=2, reason="bad", raw="x", tp_timestamp=None)])
    assert [type(fact) for fact in facts] == [FileFact, RowsFact]
    assert facts[-1] == RowsFact(0, 1, 0, 0, *[microseconds()] * 4)


def test_records_in_quarantine_do_not_become_rows_when_their_artifact_is_read_again(tmp_path: Path) -> None:
    bad = [
        row(artifact=artifact, position=2, entry=entry, reason="bad", raw="x", tp_timestamp=None)
        for artifact, entry in ((0, None), (0, "in.log"), (1, None))
    ]
    facts = write(make_job(tmp_path, slot("a.log"), slot("b.log")), bad)
    quarantine = tuple(fact.path for fact in facts if isinstance(fact, RejectsFact))

    slots = (slot("a.log", is_reread=True, reject_files=quarantine), slot("b.log"))
    places = [(0, None, 1), (0, None, 2), (0, "in.log", 2), (0, "other.log", 2), (1, None, 2)]
    again = [row(artifact=artifact, entry=entry, position=k) for artifact, entry, k in places]
    facts = write(make_job(tmp_path, *slots), again, batch_rows=2)
    counts = [(fact.stored, fact.outside, fact.rejected) for fact in facts if isinstance(fact, RowsFact)]
    assert counts == [(2, 2, 0), (1, 0, 0)]
    prefixes = [each.id_prefix.decode() for each in slots]
    ids = {found["tp_id"] for found in stored(tmp_path, facts)}
    expected = [id_parts(prefixes[0], None, 1), id_parts(prefixes[0], "other.log", 2)]
    assert ids == {row_ids(*parts)[0].as_py() for parts in (*expected, id_parts(prefixes[1], None, 2))}


def test_quarantine_is_not_opened_for_artifacts_that_do_not_need_it(tmp_path: Path) -> None:
    slots = (slot("a.log", is_reread=True, reject_files=("_rejects/p/gone.parquet",)), slot("b.log"))
    facts = write(make_job(tmp_path, *slots), [row(artifact=1)])
    assert [fact.stored for fact in facts if isinstance(fact, RowsFact)] == [1]
    with pytest.raises(FileNotFoundError):
        write(make_job(tmp_path, *slots), [row(artifact=0)])


def test_rows_outside_the_window_and_in_quarantine_count_once(tmp_path: Path) -> None:
    bad = row(position=1, reason="bad", raw="x", tp_timestamp=None)
    (fact,) = [each for each in write(make_job(tmp_path), [bad]) if isinstance(each, RejectsFact)]
    window = Window(START, START + timedelta(hours=1))
    again = slot(keep=(window,), is_reread=True, reject_files=(fact.path,))
    facts = write(make_job(tmp_path, again), [row(5, position=1), row(0, position=2)])
    assert facts[-1] == RowsFact(0, 1, 1, 0, *[microseconds()] * 3, microseconds(hours=5))


def test_ids_begin_with_their_artifact(tmp_path: Path) -> None:
    entries = pa.array([None, "x.log", None, "y.log"])
    prefixes = np.frombuffer(b"aaaabbbbcccc" * 4, dtype=np.uint8).reshape(-1, 12)
    ids = row_ids(prefixes, pa.array([1, 1, 2**40 - 1, 1]), entries).to_pylist()
    assert [len(each) for each in ids] == [20, 32, 20, 32]
    assert all(each.startswith("aaaabbbbcccc") for each in ids)
    assert (ids[0], ids[2]) == ("aaaabbbbcccc00000001", "aaaabbbbccccvvvvvvvv")
    assert ids[1][-8:] == ids[3][-8:] == "00000001"
    assert ids[1] != ids[3]
    only_entries = row_ids(prefixes[:2], pa.array([1, 1]), pa.array(["y.log", "x.log"])).to_pylist()
    assert only_entries == [ids[3], ids[1]]
    assert row_ids(prefixes[:0], pa.array([], pa.int64()), pa.array([], pa.string())).to_pylist() == []


def test_ids_tell_artifacts_entries_and_positions_apart(tmp_path: Path) -> None:
    rows = [
        row(artifact=artifact, position=position, entry=entry)
        for artifact in (0, 1)
        for entry in (None, "x.log", "y.log")
        for position in (1, 2, 2**39)
    ]
    facts = write(make_job(tmp_path, slot("a.log"), slot("b.log")), rows)
    assert len({found["tp_id"] for found in stored(tmp_path, facts)}) == len(rows)


def test_units_never_share_a_file(tmp_path: Path) -> None:
    slots = (slot("a.log", unit="2024-06-01"), slot("b.log", unit="undated-1"))
    facts = write(make_job(tmp_path, *slots), [row(artifact=0), row(artifact=1)])
    assert {fact.unit for fact in files(facts)} == {"2024-06-01", "undated-1"}
    assert len(files(facts)) == 2


def test_more_folders_than_a_lake_can_bear_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit fails with a sentence and leaves no file; another unit of the same task is stored."""
    monkeypatch.setattr(folder_limit, "MAX_INDEX_VALUES", 10)
    slots = (slot("a.log"), slot("b.log", unit="u2"))
    job = replace(make_job(tmp_path, *slots, index="user"), buffer_max_bytes=1)
    few = [row(position=k, tp_index=f"user{k % 10}") for k in range(20)]
    assert len({fact.partition_values["tp_index"] for fact in files(write(job, few, 3))}) == 10
    for path in tmp_path.rglob("*.parquet"):
        path.unlink()

    rows = [row(position=k, tp_index=f"user{k}") for k in range(30)] + [row(artifact=1, tp_index="x")]
    facts = write(job, rows, 3)
    (error,) = (fact for fact in facts if isinstance(fact, ErrorFact))
    assert error.slot == 0
    assert error.message.startswith('tp_index "user" has more than 10 values; choose')
    (file,) = files(facts)
    assert file.unit == "u2"
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet")] == [file.path]


def test_folders_of_values_and_days_are_limited_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_limit, "MAX_FOLDERS", 5)
    days = [("a", f"2024-06-0{day}") for day in range(1, 6)]
    assert folder_limit.refusal(days, "user") is None
    refused = folder_limit.refusal([*days, ("b", "2024-06-01")], "user")
    assert refused
    assert "the days of the rows make more than 5 folders" in refused


def test_many_folders_in_one_batch_lose_no_row(tmp_path: Path) -> None:
    rows = [row(position=k, tp_index=f"user{k % 100}", message=str(k)) for k in range(1000)]
    rows[500]["reason"] = "bad"
    facts = write(make_job(tmp_path, index="user"), rows, 400)
    assert len(files(facts)) == 100
    assert sorted(int(each["message"]) for each in stored(tmp_path, facts)) == [
        k for k in range(1000) if k != 500
    ]


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 72), st.integers(0, 2), st.sampled_from(["a", "b", None]), st.booleans()),
        max_size=80,
    ),
    batch_rows=st.integers(1, 30),
    buffer_bytes=st.sampled_from([1, 2000, 10**6]),
)
def test_no_row_is_lost_however_it_comes(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int, str | None, bool]],
    batch_rows: int,
    buffer_bytes: int,
) -> None:
    root = tmp_path_factory.mktemp("table")
    slots = (slot("a.log"), slot("b.log", unit="u2"), slot("c.log"))
    job = replace(make_job(root, *slots, index="tp_index"), buffer_max_bytes=buffer_bytes)
    made = [
        row(
            hours, artifact, position, tp_index=index, reason="bad" if is_bad else None, message=str(position)
        )
        for position, (hours, artifact, index, is_bad) in enumerate(rows)
    ]
    facts = write(job, made, batch_rows)
    found = stored(root, facts)
    good = [position for position, (_, _, _, is_bad) in enumerate(rows) if not is_bad]
    assert sorted(int(each["message"]) for each in found) == good
    counts = [fact for fact in facts if isinstance(fact, RowsFact)]
    assert sum(fact.stored for fact in counts) == len(good)
    assert sum(fact.rejected for fact in counts) == len(rows) - len(good)
    for file in files(facts):
        days = {
            each["tp_timestamp"].date().isoformat()
            for each in pq.ParquetFile(root / file.path).read().to_pylist()
        }
        assert days == {file.partition_values["tp_date"]}
