"""Which rejects are tried again, and the records that an executor makes of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailpipe.collect.recipes import common_header
from tailpipe.collect.reject_reading import Choice, RejectJob
from tailpipe.errors import SourceError
from tailpipe.formats.jsonl import JsonLines
from tailpipe.lake.address import TableAddress
from tailpipe.lake.rejects import REJECTS_SCHEMA, write_rejects
from tailpipe.records import CLOSING_POSITION, Reading, decode_closing
from tailpipe.times import Window

START = datetime(2024, 6, 1, tzinfo=UTC)
PREFIXES = ("a" * 12, "b" * 12)
CODES = [None, "unreadable", "bad_value", "too_long", "not_kept"]
FINAL = CODES[3:]

Reject = dict[str, Any]


def reject(
    prefix: str, artifact: str, day: int, code: str | None = None, raw: str = "{}", position: int = 1
) -> Reject:
    return {
        **dict.fromkeys(REJECTS_SCHEMA.names),
        "id": f"{prefix}{position:08d}",
        "artifact": artifact,
        "position": position,
        "raw": raw,
        "reason": "bad",
        "code": code,
        "rejected_at": (START + timedelta(days=day)).replace(tzinfo=None),
        "records": 1,
    }


places = st.tuples(st.sampled_from(PREFIXES), st.sampled_from(["x", "y"]))
rejects = st.builds(
    lambda place, day, code: reject(*place, day, code),
    places,
    st.integers(0, 3),
    st.sampled_from(CODES),
)


@settings(deadline=None)
@given(
    rows=st.lists(rejects, max_size=10),
    slots=st.lists(places, unique=True, max_size=4),
    days=st.none() | st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_slots_are_those_of_the_artifact_and_the_window(
    rows: list[Reject], slots: list[tuple[str, str]], days: tuple[int, int] | None
) -> None:
    window = Window(*(START + timedelta(days=day) for day in days)) if days else None
    table = pa.Table.from_pylist(rows, schema=REJECTS_SCHEMA)
    expected = []
    for row in rows:
        place = row["id"][:12], row["artifact"]
        is_tried = window is None or window.contains(row["rejected_at"].replace(tzinfo=UTC))
        is_tried &= row["code"] not in FINAL and place in slots
        expected.append(slots.index(place) if is_tried else None)
    assert Choice(tuple(slots), window).slots_of(table).to_pylist() == expected


def test_a_pack_gives_its_records_and_a_closing_row_for_each_slot(tmp_path: Path) -> None:
    address = TableAddress(str(tmp_path))
    a, b = PREFIXES
    files = [
        [reject(a, "x", 0, raw='{"k": 1}', position=3), reject(b, "x", 0, raw="{", position=4)],
        [reject(a, "x", 0, raw="[]", position=9), reject(a, "z", 0, position=1)],
        [reject(b, "y", 0)],
    ]
    paths = [
        write_rejects(address, "p", pa.Table.from_pylist(rows, schema=REJECTS_SCHEMA), "u").path
        for rows in files
    ]
    choice = Choice(((b, "x"), (a, "x")), None)
    job = RejectJob(address, JsonLines(), choice, (tuple(paths[:2]), tuple(paths[2:])))
    given_numbers = pa.RecordBatch.from_pydict({"id": pa.array([0, 1])})
    batches = list(job(iter([given_numbers])))
    found = [row for batch in batches for row in batch.to_pylist()]
    records = [(row["raw"], row["artifact"], row["position"]) for row in found if row["position"] >= 0]
    assert records == [('{"k": 1}', 1, 3), ("{", 0, 4), ("[]", 1, 9)]
    assert [row["reason"] for row in found[:3]] == [
        None,
        "JSON ends in the middle",
        "record is not a JSON object",
    ]
    closings = [row for row in found if row["position"] == CLOSING_POSITION]
    said = {row["artifact"]: decode_closing(row["raw"]) for row in closings}
    assert said == {0: Reading(1, 1), 1: Reading(2, 10)}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([("a", "b")], ("a", "b")),
        ([(), ("a", "b"), ("a", "b")], ("a", "b")),
        ([("a",), ("a", "b"), ()], ("a", "b")),
        ([("a", "b"), ("b", "a")], "headers differ"),
        ([("a", "b", "c"), ("a", "c")], "headers differ"),
        ([(), ()], "none of the files can be read"),
        ([], "none of the files can be read"),
    ],
)
def test_headers_must_agree(headers: list[tuple[str, ...]], expected: tuple[str, ...] | str) -> None:
    if isinstance(expected, tuple):
        assert common_header(headers) == expected
        return
    with pytest.raises(SourceError, match=expected):
        common_header(headers)
