"""Quarantine without an engine: which files count, counts by reason, what is found, what is dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_log import SCHEMA

from tailpipe.errors import LakeError
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.catalog import partition_states
from tailpipe.lake.columns import id_prefix
from tailpipe.lake.deletion import delete_rejects
from tailpipe.lake.log import TableLog
from tailpipe.lake.manifest import Failure, KnownArtifact
from tailpipe.lake.quarantine import count_reasons, find_rejects, read_file
from tailpipe.lake.rejects import REJECTS_SCHEMA, write_rejects
from tailpipe.lake.transaction import Change
from tailpipe.records import RowCounts, is_final
from tailpipe.times import Window

START = datetime(2024, 6, 1, tzinfo=UTC)
ALL = Window(START, START + timedelta(days=1000))


def reject(
    number: int, reason: str = "bad", source: str = "file", artifact: str = "a", day: int = 0
) -> dict[str, Any]:
    prefix = id_prefix("app_log.one", source, artifact).decode()
    return {
        "id": f"{prefix}{number:08d}",
        "table_name": "app_log",
        "partition": "one",
        "source": source,
        "artifact": artifact,
        "entry": None,
        "position": number,
        "raw": f"text {number}",
        "reason": reason,
        "rejected_at": (START + timedelta(days=day)).replace(tzinfo=None),
        "records": 1,
    }


def record(artifact: str, rejected: int) -> KnownArtifact:
    rows = RowCounts(10, stored=10 - rejected, rejected=rejected)
    return KnownArtifact("file", artifact, artifact, "v", 1, None, (ALL,), rows=rows)


def commit(
    location: Path, files: Sequence[Sequence[dict[str, Any]]], failures: Sequence[Failure] = ()
) -> list[str]:
    """A commit of reject files, with records of the artifacts they are of."""
    address = TableAddress(str(location))
    tables = [pa.Table.from_pylist(list(rows), schema=REJECTS_SCHEMA) for rows in files]
    paths = [write_rejects(address, "one", rows, "u").path for rows in tables]
    counts = Counter(row["artifact"] for rows in files for row in rows)
    log = TableLog(TableAddress(str(location)), SCHEMA)
    change = Change(
        "one",
        "collect",
        "u",
        "r",
        rejects=tuple(paths),
        artifacts=tuple(record(artifact, count) for artifact, count in counts.items()),
        failures=tuple(failures),
    )
    log.commit(change, log.state("one").version)
    return paths


rejects = st.lists(
    st.tuples(
        st.sampled_from(['size "a" is bad', 'size "b" is bad', "line 7 is bad", "line 1,000 is bad", "bad"]),
        st.sampled_from(["file", "other"]),
        st.integers(0, 3),
    ),
    max_size=12,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.lists(rejects, max_size=3), first=st.integers(0, 3), days=st.integers(0, 3))
def test_counts_by_kind_of_reason(
    tmp_path: Path, files: list[list[tuple[str, str, int]]], first: int, days: int
) -> None:
    address = TableAddress(str(tmp_path))
    paths = []
    for rows in files:
        made = [reject(n, reason, source, day=day) for n, (reason, source, day) in enumerate(rows)]
        table = pa.Table.from_pylist(made, schema=REJECTS_SCHEMA)
        paths.append(write_rejects(address, "one", table, "u").path)
    window = Window(START + timedelta(days=first), START + timedelta(days=first + days))
    found = count_reasons(TableAddress(str(tmp_path)), paths, window)

    kinds = {'size "a" is bad': "size … is bad", 'size "b" is bad': "size … is bad"}
    kinds |= {"line 7 is bad": "line … is bad", "line 1,000 is bad": "line … is bad"}
    expected: dict[tuple[str, str], list[str]] = {}
    for rows in files:
        for reason, source, day in rows:
            if first <= day < first + days:
                expected.setdefault((source, kinds.get(reason, reason)), []).append(reason)
    assert {(count.source, count.kind): count.rejects for count in found} == {
        key: len(reasons) for key, reasons in expected.items()
    }
    for count in found:
        reasons = expected[count.source, count.kind]
        assert count.reason == (reasons[0] if len(set(reasons)) == 1 else count.kind)
    assert [count.rejects for count in found] == sorted((count.rejects for count in found), reverse=True)


def test_newest_files_are_found_first_and_texts_are_read_up_to_the_limit(tmp_path: Path) -> None:
    location = tmp_path / "app_log"
    paths = [*commit(location, [[reject(1), reject(2)]]), *commit(location, [[reject(3), reject(4, day=2)]])]
    assert partition_states(Lake(str(tmp_path)), "app_log")["one"].reject_files == tuple(paths)
    found, total = find_rejects(TableAddress(str(location)), paths, None, (), 3)
    assert ([row["position"] for row in found], total) == ([3, 4, 1], 4)
    found, total = find_rejects(TableAddress(str(location)), paths, None, [reject(2)["id"]], 20)
    assert ([row["raw"] for row in found], total) == (["text 2"], 1)
    window = Window(START + timedelta(days=1), START + timedelta(days=3))
    assert [
        row["position"] for row in find_rejects(TableAddress(str(location)), paths, window, (), 9)[0]
    ] == [4]


def test_dropped_rejects_count_as_filtered_and_settle_no_failure(tmp_path: Path) -> None:
    location = tmp_path / "app_log"
    failure = Failure("a", "cannot be read", 1, START, "r", location="a")
    commit(location, [[reject(1), reject(2, day=2)], [reject(3, artifact="b", day=2)]])
    commit(location, [], [failure])
    window = Window(START + timedelta(days=1), START + timedelta(days=3))
    assert delete_rejects(Lake(str(tmp_path)), "app_log", "one", window) == 2
    state = TableLog(TableAddress(str(location)), SCHEMA).state("one")
    left, total = find_rejects(TableAddress(str(location)), state.reject_files, None, (), 9)
    assert ([row["position"] for row in left], total) == ([1], 1)
    known = {name: state.artifacts.of("file", name) for name in ("a", "b")}
    assert {name: (r.rows.rejected, r.rows.filtered, r.rows.stored) for name, r in known.items()} == {
        "a": (1, 1, 8),
        "b": (0, 1, 9),
    }
    assert state.failures == (failure,)
    assert delete_rejects(Lake(str(tmp_path)), "app_log", "one", window) == 0
    assert TableLog(TableAddress(str(location)), SCHEMA).state("one").version == state.version
    assert delete_rejects(Lake(str(tmp_path)), "app_log", "one") == 1


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    location = tmp_path / "app_log"
    (path,) = commit(location, [[reject(1)]])
    (location / path).write_bytes(b"not parquet")
    with pytest.raises(LakeError, match=path):
        count_reasons(TableAddress(str(location)), [path])
    with pytest.raises(LakeError, match="Nothing was changed"):
        delete_rejects(Lake(str(tmp_path)), "app_log", "one")


def test_files_of_before_codes_are_judged_by_their_reasons(tmp_path: Path) -> None:
    address = TableAddress(str(tmp_path))
    reasons = [
        "line is 9,000,000 bytes, the limit is 8,388,608",
        "line holds the control character 0x01",
        "12 bytes behind the end of the gzip data are of another kind and were not read",
        'the first: "line is 9 bytes, the limit is 8"',
        "3 more rejects of this artifact were only counted; the first: bad\nand worse",
    ]
    made = [reject(number, reason) for number, reason in enumerate(reasons)]
    old = pa.Table.from_pylist(made, schema=REJECTS_SCHEMA).drop_columns(["code", "records"])
    path = write_rejects(address, "one", old.append_column("records", pa.array([1] * 5)), "u").path
    found = read_file(address, path, ["id", "code"])
    assert found.column_names == ["id", "code"]
    expected = ["too_long", "control_character", "not_read", None, "not_kept"]
    assert found.column("code").to_pylist() == expected
    assert is_final(found.column("code")).to_pylist() == [code is not None for code in expected]
    whole = read_file(address, path)
    assert whole.schema.equals(REJECTS_SCHEMA)
    again = write_rejects(address, "one", whole, "u").path
    assert read_file(address, again).equals(whole)
