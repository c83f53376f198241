"""Artifacts as columns are the artifacts of the state, whatever was committed."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.artifacts import known_artifacts
from tailpipe.lake.catalog import partition_names, partition_states
from tailpipe.lake.log import Change, TableLog
from tailpipe.lake.manifest import KnownArtifact, read_kept
from tailpipe.times import Window, merge

SCHEMA = pa.schema(
    [
        ("tp_timestamp", pa.timestamp("us")),
        ("tp_partition", pa.string()),
        ("tp_index", pa.string()),
        ("tp_date", pa.date32()),
    ]
)
START = datetime(2024, 6, 1, tzinfo=UTC)
COLUMNS = ("source", "identity", "location", "kept", "rows", "stored", "outside", "first", "last", "run")
READ = {
    "kept": read_kept,
    "first": lambda text: text and datetime.fromisoformat(text),
    "last": lambda text: text and datetime.fromisoformat(text),
}


def days(first: int, last: int) -> Window:
    return Window(START + timedelta(days=first), START + timedelta(days=last))


def some_days(chance: random.Random) -> Window:
    first = chance.randrange(8)
    return days(first, first + chance.randrange(1, 4))


def some_record(chance: random.Random, number: int) -> KnownArtifact:
    source, identity = chance.choice(("file", "archive")), f"{chance.randrange(6)}.log"
    kept = merge([some_days(chance), some_days(chance)])
    record = KnownArtifact(
        source, identity, f"at {number}", "1", 1, None, kept, rows=number, run=f"r{number}"
    )
    if chance.random() < 0.3:
        return record
    first, last = kept[0].start, chance.choice(kept).end - timedelta(hours=chance.randrange(1, 30))
    return msgspec.structs.replace(record, stored=number, first=min(first, last), last=last)


def some_change(chance: random.Random, number: int, log: TableLog) -> Change:
    kind = chance.choice(("collect", "collect", "collect", "delete", "both", "snapshot"))
    records = {record.key: record for record in (some_record(chance, number) for _ in range(3))}
    facts: dict[str, Any] = {}
    if kind in ("collect", "both"):
        facts["artifacts"] = tuple(records.values())
    if kind in ("delete", "both"):
        facts["deleted"] = (some_days(chance),)
    if kind == "snapshot":
        facts |= {"artifacts": tuple(log.state("p").artifacts.known()), "is_snapshot": True}
    return Change("p", kind, "", f"r{number}", **facts)


@pytest.mark.parametrize("seed", range(3))
def test_columns_and_state_agree(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    log = TableLog(TableAddress(str(tmp_path / "t")), SCHEMA)
    for number in range(30):
        log.commit(some_change(chance, number, log), number)
        log.refresh()
        if number % 5 == 4:
            assert from_columns(tmp_path) == from_state(tmp_path)


def from_columns(data_dir: Path) -> set[tuple[Any, ...]]:
    rows = known_artifacts(Lake(str(data_dir)), "t", COLUMNS, lambda name: name == "p")["p"].to_pylist()
    assert len(rows) == len({(row["source"], row["identity"]) for row in rows})
    return {tuple(READ[name](row[name]) if name in READ else row[name] for name in COLUMNS) for row in rows}


def from_state(data_dir: Path) -> set[tuple[Any, ...]]:
    records = partition_states(Lake(str(data_dir)), "t")["p"].artifacts.known()
    return {tuple(getattr(record, name) for name in COLUMNS) for record in records if record.kept}


def test_partitions_that_only_failed_have_a_name(tmp_path: Path) -> None:
    log = TableLog(TableAddress(str(tmp_path / "t")), SCHEMA)
    log.commit(Change("p", "run", "", "r"), 0)
    assert partition_names(Lake(str(tmp_path)), "t") == ["p"]
    assert partition_names(Lake(str(tmp_path)), "never") == []
