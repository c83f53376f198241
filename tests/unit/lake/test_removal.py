"""Rows leave files: what goes, what stays as it was, and that a Delta table agrees."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction
from hypothesis import given, settings
from hypothesis import strategies as st

from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.datafile import open_data_file
from tailpipe.lake.facts import FileFact
from tailpipe.lake.log import TableLog
from tailpipe.lake.paths import PARTITION_COLUMNS, hive_folder
from tailpipe.lake.rejects import REJECTS_SCHEMA, write_rejects
from tailpipe.lake.removal import (
    Chosen,
    LiveFile,
    Removal,
    by_prefix,
    live_files,
    remove_action,
    remove_chosen,
    remove_rejects,
    remove_window,
)
from tailpipe.lake.transaction import Transaction
from tailpipe.query.connection import load_extension
from tailpipe.times import Window

START = datetime(2024, 6, 1, tzinfo=UTC)
STORED = pa.schema(
    [
        ("message", pa.string()),
        ("sizes", pa.list_(pa.int64())),
        ("user", pa.struct([("name", pa.string()), ("at", pa.timestamp("us"))])),
        ("tags", pa.map_(pa.string(), pa.string())),
        ("tp_id", pa.string()),
        ("tp_timestamp", pa.timestamp("us")),
    ]
)
PREFIXES = {name: f"{name}-prefix".ljust(12, "0") for name in ("a", "b", "c")}
ODD_INDEXES = ("plain", "a b", "50%", "a/b", "a%2Fb", "%20", "é#?&=+:", " x ", "x" * 300)


@dataclass(frozen=True)
class Row:
    artifact: str
    position: int
    moment: datetime

    @property
    def tp_id(self) -> str:
        return f"{PREFIXES[self.artifact]}{self.position:08d}"


def address_of(folder: Path) -> TableAddress:
    return TableAddress(str(folder))


def transaction_in(folder: Path) -> Transaction:
    return TableLog(address_of(folder), pa.schema([])).transaction(0)


def keep(paths: Iterable[str]) -> None:
    """As where a commit follows."""


def stored_rows(rows: Iterable[Row]) -> pa.Table:
    made = [
        {
            "message": f"m{row.position}" if row.position % 3 else None,
            "sizes": [row.position, None],
            "user": {"name": "root", "at": row.moment.replace(tzinfo=None)} if row.position % 2 else None,
            "tags": [("k", str(row.position))],
            "tp_id": row.tp_id,
            "tp_timestamp": row.moment.replace(tzinfo=None),
        }
        for row in rows
    ]
    return pa.Table.from_pylist(made, schema=STORED)


def data_file(root: Path, groups: Sequence[Sequence[Row]], index: str = "default") -> FileFact:
    """One row group per group; all rows are of one day."""
    day = groups[0][0].moment.date()
    values = {"tp_partition": "p q", "tp_index": index, "tp_date": day.isoformat()}
    file = open_data_file(address_of(root), hive_folder("p q", index, day), values, STORED)
    for group in groups:
        file.write(stored_rows(group))
    return file.close("u")


def live(fact: FileFact) -> LiveFile:
    first, last = datetime.fromisoformat(fact.first), datetime.fromisoformat(fact.last)
    return LiveFile(fact.path, fact.size_bytes, fact.rows, fact.partition_values, first, last)


def at(hours: float = 0, **more: float) -> datetime:
    return START + timedelta(hours=hours, **more)


def ids(root: Path, files: Iterable[FileFact | LiveFile]) -> list[str]:
    return [
        tp_id
        for file in files
        for tp_id in pq.ParquetFile(root / file.path).read(columns=["tp_id"])["tp_id"].to_pylist()
    ]


def all_paths(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*.parquet")}


def test_what_stays_is_as_it_was(tmp_path: Path) -> None:
    groups = [
        [Row("a", 1, at(1)), Row("b", 2, at(2)), Row("a", 3, at(3))],
        [Row("a", 4, at(1))],
        [Row("b", 5, at(0, microseconds=1)), Row("b", 6, at(4, microseconds=1001))],
    ]
    old = data_file(tmp_path, groups, "a/b")
    found = remove_chosen(
        address_of(tmp_path), [live(old)], Chosen(frozenset({PREFIXES["a"]})), "again", keep
    )

    assert (found.removed, found.rows) == ((live(old),), 3)
    (new,) = found.added
    assert (new.unit, new.rows, new.partition_values) == ("again", 3, old.partition_values)
    assert (new.first, new.last) == ("2024-06-01T00:00:00.000", "2024-06-01T04:00:00.002")
    assert os.path.dirname(new.path) == os.path.dirname(old.path)
    assert new.size_bytes == (tmp_path / new.path).stat().st_size

    before, after = pq.ParquetFile(tmp_path / old.path), pq.ParquetFile(tmp_path / new.path)
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    assert after.schema.equals(before.schema)
    kept = stored_rows(row for group in groups for row in group if row.artifact == "b")
    assert after.read().equals(kept)
    assert [after.metadata.row_group(k).num_rows for k in range(after.num_row_groups)] == [1, 2]
    assert shape(after) == shape(before)
    (encodings,) = [each[2] for each in shape(after) if each[0] == "tp_id"]
    assert "DELTA_BYTE_ARRAY" in encodings


def shape(parquet: pq.ParquetFile) -> list[Any]:
    group = parquet.metadata.row_group(0)
    columns = [group.column(k) for k in range(group.num_columns)]
    return [(each.path_in_schema, each.compression, each.encodings) for each in columns]


def test_files_that_hold_nothing_of_it_are_left_alone(tmp_path: Path) -> None:
    only_a = data_file(tmp_path, [[Row("a", 1, at(1))]])
    only_b = data_file(tmp_path, [[Row("b", 1, at(1))]])
    files = [live(only_a), live(only_b)]
    found = remove_chosen(address_of(tmp_path), files, Chosen(frozenset({PREFIXES["a"]})), "u", keep)
    assert found == Removal((live(only_a),), (), 1)
    assert remove_chosen(
        address_of(tmp_path), files, Chosen(frozenset({PREFIXES["c"]})), "u", keep
    ) == Removal((), (), 0)
    assert all_paths(tmp_path) == {only_a.path, only_b.path}


def test_a_file_wholly_in_or_out_of_the_window_is_not_opened(tmp_path: Path) -> None:
    def unreadable(hours: int, first: float | None, last: float | None) -> LiveFile:
        values = {"tp_partition": "p", "tp_index": "i", "tp_date": at(hours).date().isoformat()}
        moments = [None if each is None else at(each).replace(tzinfo=None) for each in (first, last)]
        return LiveFile(f"gone-{hours}-{first}.parquet", 10, 7, values, *moments)

    inside_by_day, inside_by_range = unreadable(24, None, None), unreadable(48, 49, 50)
    outside = [unreadable(0, None, None), unreadable(48, 60, 61), unreadable(72, 72, 73)]
    files = [inside_by_day, inside_by_range, *outside]
    found = remove_window(address_of(tmp_path), files, Window(at(24), at(60)), "u", keep)
    assert found == Removal((inside_by_day, inside_by_range), (), 14)
    partly = unreadable(48, 58, 60)
    with pytest.raises(LakeError, match=r"gone-48-58\.parquet cannot be rewritten"):
        remove_window(address_of(tmp_path), [partly], Window(at(24), at(60)), "u", keep)


def test_a_window_ends_before_its_end(tmp_path: Path) -> None:
    microsecond = timedelta(microseconds=1)
    edges = [at(1) - microsecond, at(1), at(2) - microsecond, at(2)]
    file = data_file(tmp_path, [[Row("a", k, moment) for k, moment in enumerate(edges)]])
    found = remove_window(address_of(tmp_path), [live(file)], Window(at(1), at(2)), "u", keep)
    assert found.rows == 2
    assert ids(tmp_path, found.added) == [Row("a", k, START).tp_id for k in (0, 3)]


def test_the_last_microsecond_of_a_day_goes_with_its_day(tmp_path: Path) -> None:
    file = data_file(tmp_path, [[Row("a", 1, at(24, microseconds=-1))]])
    assert file.last == "2024-06-02T00:00:00.000"
    (tmp_path / file.path).unlink()  # Its day says enough.
    assert remove_window(address_of(tmp_path), [live(file)], Window(at(0), at(24)), "u", keep).rows == 1
    assert remove_window(address_of(tmp_path), [live(file)], Window(at(24), at(48)), "u", keep).rows == 0


def test_a_failure_leaves_no_stray_file(tmp_path: Path) -> None:
    both = [Row("a", 1, at(1)), Row("b", 2, at(2))]
    first, broken = data_file(tmp_path, [both]), data_file(tmp_path, [both, both])
    prefixes = frozenset({PREFIXES["a"]})

    missing = replace(live(broken), path="tp_partition=p/missing.parquet")
    before = all_paths(tmp_path)
    with (
        pytest.raises(LakeError, match=r"missing\.parquet cannot be rewritten.*Nothing was changed") as told,
        transaction_in(tmp_path) as transaction,
    ):
        remove_chosen(address_of(tmp_path), [live(first), missing], Chosen(prefixes), "u", transaction.wrote)
    assert told.value.hint
    assert all_paths(tmp_path) == before

    damage(tmp_path / broken.path)
    files = [live(first), live(broken)]
    with (
        pytest.raises(LakeError, match="cannot be rewritten"),
        transaction_in(tmp_path) as transaction,
    ):
        remove_chosen(address_of(tmp_path), files, Chosen(prefixes), "u", transaction.wrote)
    assert all_paths(tmp_path) == before


def damage(path: Path) -> None:
    """The second row group's messages become unreadable; its ids and the footer stay whole."""
    column = pq.ParquetFile(path).metadata.row_group(1).column(0)
    content = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(content)


def reject_rows(*places: tuple[str, int, str]) -> pa.Table:
    rows = [
        {
            "id": Row(artifact, position, START).tp_id,
            "artifact": f"{artifact}.log",
            "position": position,
            "reason": reason,
            "records": 1,
        }
        for artifact, position, reason in places
    ]
    return pa.Table.from_pylist(rows, schema=REJECTS_SCHEMA)


def test_rejects_leave_quarantine(tmp_path: Path) -> None:
    contents = (
        [("a", 1, "bad"), ("b", 2, "bad"), ("a", 3, "worse")],
        [("a", 4, "bad")],
        [("b", 5, "worse")],
    )
    files = [write_rejects(address_of(tmp_path), "p q", reject_rows(*each), "u").path for each in contents]
    of_a = by_prefix(frozenset({PREFIXES["a"]}))
    found = remove_rejects(address_of(tmp_path), "p q", files, of_a, "again", keep)
    assert (found.removed, found.rows) == (tuple(files[:2]), 3)
    (new,) = found.added
    assert (new.unit, new.rows) == ("again", 1)
    assert new.path.startswith("_rejects/p q/")
    assert pq.ParquetFile(tmp_path / new.path).read().equals(reject_rows(("b", 2, "bad")))

    worse = remove_rejects(
        address_of(tmp_path), "p q", files, lambda rows: pc.equal(rows["reason"], "worse"), "u", keep
    )
    assert (worse.removed, worse.rows) == ((files[0], files[2]), 2)
    nothing = remove_rejects(
        address_of(tmp_path), "p q", files, lambda rows: pc.equal(rows["entry"], "x"), "u", keep
    )
    assert (nothing.removed, nothing.added, nothing.rows) == ((), (), 0)

    before = all_paths(tmp_path)
    files = [files[0], "_rejects/p q/gone.parquet"]
    with (
        pytest.raises(LakeError, match=r"gone\.parquet cannot be rewritten"),
        transaction_in(tmp_path) as transaction,
    ):
        remove_rejects(address_of(tmp_path), "p q", files, of_a, "u", transaction.wrote)
    assert all_paths(tmp_path) == before


def add_action(fact: FileFact) -> AddAction:
    statistics = {
        "numRecords": fact.rows,
        "minValues": {"tp_timestamp": fact.first},
        "maxValues": {"tp_timestamp": fact.last},
        "nullCount": {"tp_timestamp": 0},
    }
    now = int(time.time() * 1000)
    return AddAction(fact.path, fact.size_bytes, fact.partition_values, now, True, json.dumps(statistics))


def delta_table(root: Path) -> DeltaTable:
    hive = [("tp_partition", pa.string()), ("tp_index", pa.string()), ("tp_date", pa.date32())]
    schema = pa.schema([*STORED, *(pa.field(*column) for column in hive)])
    return DeltaTable.create(str(root), Schema.from_arrow(schema), partition_by=list(PARTITION_COLUMNS))


def commit(root: Path, actions: Sequence[Any]) -> None:
    delta = DeltaTable(str(root))
    delta.create_write_transaction(actions, "append", delta.schema(), list(PARTITION_COLUMNS))


def seen(root: Path) -> set[tuple[str, str]]:
    """Index and id of each row; deltalake and DuckDB must see the same."""
    table = DeltaTable(str(root)).to_pyarrow_table(columns=["tp_index", "tp_id"])
    rows = sorted(zip(table["tp_index"].to_pylist(), table["tp_id"].to_pylist(), strict=True))
    with duckdb.connect() as connection:
        load_extension(connection, "delta")
        sql = f"select tp_index, tp_id from delta_scan('{root}') order by all"
        assert sorted(connection.sql(sql).fetchall()) == rows
    assert len(set(rows)) == len(rows)
    return set(rows)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_delta_table_changes_files_in_one_commit(tmp_path: Path, checkpoint: bool) -> None:
    delta_table(tmp_path)
    both = [Row("a", 1, at(1)), Row("b", 2, at(2))]
    facts = [data_file(tmp_path, [both], index) for index in ODD_INDEXES]
    commit(tmp_path, [add_action(fact) for fact in facts])
    if checkpoint:
        DeltaTable(str(tmp_path)).create_checkpoint()

    files = live_files(DeltaTable(str(tmp_path)), "p q")
    assert sorted(files, key=lambda file: file.path) == sorted(map(live, facts), key=lambda file: file.path)
    assert live_files(DeltaTable(str(tmp_path)), "p") == []

    found = remove_chosen(address_of(tmp_path), files, Chosen(frozenset({PREFIXES["a"]})), "u", keep)
    commit(tmp_path, [*map(remove_action, found.removed), *map(add_action, found.added)])
    assert seen(tmp_path) == {(index, both[1].tp_id) for index in ODD_INDEXES}

    if checkpoint:
        DeltaTable(str(tmp_path)).create_checkpoint()
    files = live_files(DeltaTable(str(tmp_path)), "p q")
    found = remove_window(address_of(tmp_path), files, Window(at(0), at(24)), "u", keep)
    commit(tmp_path, [remove_action(file) for file in found.removed])
    assert seen(tmp_path) == set()
    assert live_files(DeltaTable(str(tmp_path)), "p q") == []


def test_a_table_without_files_has_none(tmp_path: Path) -> None:
    assert live_files(delta_table(tmp_path), "p q") == []


def test_statistics_that_a_log_lacks_are_not_needed(tmp_path: Path) -> None:
    delta_table(tmp_path)
    fact = data_file(tmp_path, [[Row("a", 1, at(1)), Row("a", 2, at(5))]])
    now = int(time.time() * 1000)
    commit(tmp_path, [AddAction(fact.path, fact.size_bytes, fact.partition_values, now, True, "{}")])
    (file,) = live_files(DeltaTable(str(tmp_path)), "p q")
    assert (file.first, file.last) == (None, None)
    found = remove_window(address_of(tmp_path), [file], Window(at(0), at(2)), "u", keep)
    assert ids(tmp_path, found.added) == [Row("a", 2, START).tp_id]


@settings(max_examples=40, deadline=None)
@given(
    files=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from(["i", "50% /"]),
            st.lists(
                st.lists(
                    st.tuples(st.sampled_from("abc"), st.integers(0, 86_399_999_999)), min_size=1, max_size=8
                ),
                min_size=1,
                max_size=3,
            ),
        ),
        max_size=5,
    ),
    artifacts=st.frozensets(st.sampled_from("abc")),
    start=st.integers(-30, 80),
    hours=st.integers(0, 60),
)
def test_files_lose_what_a_list_would_lose(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[tuple[int, str, list[list[tuple[str, int]]]]],
    artifacts: frozenset[str],
    start: int,
    hours: int,
) -> None:
    root = tmp_path_factory.mktemp("table")
    model: list[Row] = []
    facts = []
    for day, index, groups in files:
        made = []
        for group in groups:
            times = sorted(group, key=lambda each: each[1])
            rows = [
                Row(artifact, len(model) + k, at(24 * day, microseconds=offset))
                for k, (artifact, offset) in enumerate(times)
            ]
            model += rows
            made.append(rows)
        facts.append(data_file(root, made, index))
    window = Window(at(start), at(start + hours))
    named = frozenset(PREFIXES[name] for name in artifacts)
    lives = [live(fact) for fact in facts]
    check(
        root,
        lives,
        remove_chosen(address_of(root), lives, Chosen(named), "u", keep),
        model,
        lambda row: row.artifact in artifacts,
    )
    check(
        root,
        lives,
        remove_window(address_of(root), lives, window, "u", keep),
        model,
        lambda row: window.contains(row.moment),
    )


def check(root: Path, files: list[LiveFile], found: Removal, model: list[Row], is_gone: Any) -> None:
    untouched = [file for file in files if file not in found.removed]
    kept = [row for row in model if not is_gone(row)]
    assert sorted(ids(root, [*untouched, *found.added])) == sorted(row.tp_id for row in kept)
    assert found.rows == len(model) - len(kept)
    moments = {row.tp_id: row.moment.replace(tzinfo=None) for row in model}
    order = {row.tp_id: k for k, row in enumerate(model)}
    for file in found.removed:
        assert any(is_gone(row) for row in model if row.tp_id in set(ids(root, [file])))
    for fact in found.added:
        inside = ids(root, [fact])
        assert fact.rows == len(inside)
        assert [order[each] for each in inside] == sorted(order[each] for each in inside)
        times = [moments[each] for each in inside]
        millisecond = timedelta(milliseconds=1)
        assert timedelta() <= min(times) - datetime.fromisoformat(fact.first) < millisecond
        assert timedelta() <= datetime.fromisoformat(fact.last) - max(times) < millisecond
