"""What holds for every input: no row is lost or counted twice, however lines are mixed and split."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines import BY_PLACE, BY_RUN, Place
from tailpipe.engine.session import Session

FILTERS = {
    None: lambda size: True,
    "size > 10": lambda size: size is not None and size > 10,
    "size is null or size % 2 = 0": lambda size: size is None or size % 2 == 0,
    "level like 'l%' and size between 3 and 30": lambda size: size is not None and 3 <= size <= 30,
}


@dataclass(frozen=True)
class Line:
    """`fate` is what must come of it when its row passes the filter."""

    text: str
    fate: str
    size: int | None = None


def good(size: int | None, day: int) -> Line:
    record = {"at": f"2024-06-{day:02d}T00:00:00Z", "level": "l", "size": size}
    return Line(json.dumps(record), "stored", size)


def outside(size: int) -> Line:
    record = {"at": "2020-01-01T00:00:00Z", "level": "l", "size": size}
    return Line(json.dumps(record), "outside", size)


BAD = (
    "{",
    "[]",
    "17",
    "\x00\x01",
    '{"at": "never"}',
    '{"at": "2024-06-01", "size": "x"}',
    '{"size": 1}',
    "�",
)

lines = st.lists(
    st.one_of(
        st.builds(good, st.one_of(st.none(), st.integers(0, 40)), st.integers(1, 5)),
        st.builds(outside, st.integers(0, 40)),
        st.sampled_from([Line(text, "rejected") for text in BAD]),
        st.just(Line("", "nothing")),
    ),
    max_size=60,
)


def config(condition: str | None) -> str:
    chosen = f"filter = {json.dumps(condition)}" if condition else ""
    return f"""
    table "app_log" {{
      format = format.jsonl.default
      map_fields = []
      column "tp_timestamp" {{ source = "at" }}
      column "level" {{}}
      column "size" {{ type = "int" }}
    }}
    partition "app_log" "one" {{
      {chosen}
      source "file" {{ paths = ["LOGS"] }}
    }}
    """


@pytest.mark.parametrize("engine", ["sail"], indirect=True)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lines=lines, cuts=st.sets(st.integers(1, 59), max_size=5), condition=st.sampled_from(list(FILTERS)))
def test_rows_in_are_stored_or_filtered_or_rejected(
    engine: Session,
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[Line],
    cuts: set[int],
    condition: str | None,
) -> None:
    whole = _collected(tmp_path_factory.mktemp("whole"), engine, lines, set(), condition)
    split = _collected(tmp_path_factory.mktemp("split"), engine, lines, cuts, condition)
    assert split == whole


def _collected(
    folder: Path, session: Session, lines: list[Line], cuts: set[int], condition: str | None
) -> tuple[object, ...]:
    place = Place(folder, session)
    place.configure(config(condition))
    place.logs.mkdir()
    for start, end in pairwise(sorted({0, len(lines), *(cut for cut in cuts if cut < len(lines))})):
        place.write(f"{start:02d}.jsonl", "".join(line.text + "\n" for line in lines[start:end]))
    passes = FILTERS[condition]
    kept = [line for line in lines if line.fate in ("stored", "outside") and passes(line.size)]
    rejected = sum(line.fate == "rejected" for line in lines)

    rows = place.collect(start="2024-05-01").rows

    assert rows.read == sum(line.fate != "nothing" for line in lines)
    assert rows.stored == sum(line.fate == "stored" for line in kept)
    assert rows.outside == sum(line.fate == "outside" for line in kept)
    assert rows.rejected == rejected
    stored = place.rows("app_log", BY_RUN | BY_PLACE)
    assert len(stored) == rows.stored
    rejects = (
        [(reject["raw"], reject["reason"]) for reject in place.rejects("app_log")] if rows.rejected else []
    )
    assert len(rejects) == rejected
    return rows, stored, sorted(rejects)
