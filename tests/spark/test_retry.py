"""Rejects that are tried again: what is stored, what stays, and that nothing is lost or twice in any order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines import NOW, Place, only
from tailpipe.cli.progress import Silence
from tailpipe.collect.retry import Retry, RetryOutcome
from tailpipe.engine.session import Session
from tailpipe.engine.settings import SAIL, EngineSettings
from tailpipe.lake.catalog import partition_states
from tailpipe.lake.deletion import delete_rejects
from tailpipe.times import Window

on_sail = pytest.mark.parametrize("engine", [SAIL], indirect=True)

WORDS = r"""
format "regex" "words" { layout = `^(?P<at>\S+) (?P<word>[LETTERS]+)$` }
table "words" {
  format = format.regex.words
  column "tp_timestamp" { source = "at" }
}
partition "words" "all" {
  source "file" { paths = ["LOGS"] }
}
"""
NARROW, WIDE = WORDS.replace("LETTERS", "a-m"), WORDS.replace("LETTERS", "a-z")
EARLY, LATE = "2024-06-01T10:00:00Z", "2024-06-05T10:00:00Z"

ANOTHER_YEAR = Window(NOW.replace(year=1999), NOW.replace(year=2000))


def make_retry(place: Place, window: Window | None = None, now: datetime = NOW) -> Retry:
    collection = place.collection(now=now)
    return Retry(
        targets=collection.targets,
        lake=place.lake,
        window=window,
        engine=collection.engine,
        now=now,
        watcher=Silence(),
        open_engine=collection.open_engine,
    )


def retry(place: Place, window: Window | None = None, now: datetime = NOW) -> RetryOutcome:
    (outcome,) = make_retry(place, window, now).execute()
    assert outcome.rows.is_balanced
    check_state(place, outcome.name.split(".")[0])
    return outcome


def check_state(place: Place, table: str) -> None:
    """What is known of artifacts adds up, and is what lies in the lake."""
    states = partition_states(place.lake, table).values()
    records = [record for state in states for record in state.artifacts.known()]
    for record in records:
        assert record.rows.is_balanced
        assert min(msgspec.structs.astuple(record.rows)) >= 0
    assert sum(record.rows.stored for record in records) == len(place.rows(table))
    assert sum(record.rows.rejected for record in records) == len(place.rejects(table))


def counts(outcome: RetryOutcome) -> tuple[int, int, int, int]:
    rows = outcome.rows
    return rows.read, rows.stored, rows.left_out, rows.rejected


def test_a_fixed_layout_moves_exactly_what_it_fits(place: Place) -> None:
    place.write("one.log", f"{EARLY} ab\n{EARLY} xy\n{LATE} no!\n{LATE} z\n")
    place.write("two.log", "".join(f"{LATE} {letter}\n" for letter in "abyz"))
    place.configure(NARROW)
    assert place.collect().rows.rejected == 5
    place.configure(WIDE)
    assert counts(retry(place)) == (5, 4, 0, 1)
    assert [reject["raw"] for reject in place.rejects("words")] == [f"{LATE} no!"]
    moved = place.rows("words")

    other = Place(place.folder / "clean", place.session)
    other.configure(WIDE.replace("LOGS", str(place.logs)))
    other.collect()
    assert moved == other.rows("words")
    assert place.rejects("words") == other.rejects("words")

    assert counts(retry(place)) == (1, 0, 0, 1)
    assert place.rows("words") == moved
    assert place.collect().rows.read == 0


@on_sail
def test_only_the_window_is_tried_and_the_rest_is_carried_over(place: Place) -> None:
    first, second = datetime(2024, 6, 10, tzinfo=UTC), datetime(2024, 6, 11, tzinfo=UTC)
    place.configure(NARROW)
    place.write("one.log", f"{EARLY} xy\n")
    place.collect(now=first)
    place.write("two.log", f"{EARLY} no!\n{EARLY} yz\n")
    place.collect(now=second)
    place.configure(WIDE)
    assert counts(retry(place, Window(second, NOW))) == (2, 1, 0, 1)
    assert only(place.rejects("words"), "raw") == [(f"{EARLY} xy",), (f"{EARLY} no!",)]
    assert counts(retry(place, Window(first, second))) == (1, 1, 0, 0)
    # What failed again was rejected when it was last tried.
    assert counts(retry(place, Window(NOW, NOW.replace(day=16)))) == (1, 0, 0, 1)


@on_sail
def test_rows_outside_the_kept_windows_and_those_the_filter_drops_leave_quarantine(place: Place) -> None:
    place.configure(NARROW)
    place.write("one.log", f"{EARLY} xy\n{LATE} yz\n{LATE} z\n")
    place.collect(start="2024-06-03")
    place.configure(WIDE.replace('source "file"', 'filter = "word <> \'z\'"\n source "file"'))
    outcome = retry(place)
    assert counts(outcome) == (3, 1, 2, 0)
    assert outcome.rows.outside == 1
    assert only(place.rows("words"), "word") == [("yz",)]
    place.collect(start="2024-05-30")
    assert only(place.rows("words"), "word") == [("xy",), ("yz",)]


@on_sail
def test_rejects_of_a_file_from_before_and_after_it_was_moved(place: Place) -> None:
    place.configure(NARROW)
    old = place.write("one.log", f"{EARLY} xy\n")
    place.collect()
    new = old.rename(place.logs / "moved.log")
    place.write("moved.log", f"{EARLY} xy\n{LATE} yz\n")
    place.collect()
    assert only(place.rejects("words"), "file", "position") == [("moved.log", 2), ("one.log", 1)]
    place.configure(WIDE)
    assert counts(retry(place)) == (2, 2, 0, 0)
    rows = place.rows("words")
    assert only(rows, "word", "tp_source_location") == [("xy", str(old)), ("yz", str(new))]
    assert len({row["tp_id"][:12] for row in rows}) == 1


@on_sail
def test_lines_of_which_only_the_beginning_was_kept_stay(place: Place) -> None:
    place.configure(NARROW)
    place.write("one.log", f"{EARLY} {'x' * 9_000_000}\n")
    place.collect()
    before = place.rejects("words")
    place.configure(WIDE)
    outcome = retry(place)
    assert counts(outcome) == (0, 0, 0, 0)
    assert [left.rejects for left in outcome.left] == [1]
    assert place.rejects("words") == before


@on_sail
def test_rejects_with_too_many_values_of_the_index_stay(place: Place) -> None:
    place.configure(NARROW)
    words = ["".join(letters) for letters in product("nopqrstuvwxyz", repeat=4)]
    place.write("one.log", "".join(f"{EARLY} {word}\n" for word in words))
    place.collect()
    place.configure(WIDE.replace('source "file"', 'tp_index = "word"\n source "file"'))
    outcome = retry(place)
    assert 'tp_index "word" has more than 5,000 values' in (outcome.failure or "")
    assert counts(outcome) == (0, 0, 0, 0)
    assert (len(place.rejects("words")), place.rows("words")) == (len(words), [])


CSV = """
table "sales" {
  format = format.csv.default
  column "tp_timestamp" { source = "at" }
  column "COLUMN" { TYPE }
}
partition "sales" "all" {
  source "file" { paths = ["LOGS"] }
}
"""
CSV_BAD = CSV.replace("COLUMN", "price").replace("TYPE", 'type = "int"')
CSV_GOOD = CSV.replace("COLUMN", "paid").replace("TYPE", 'source = "price"')


@on_sail
def test_csv_is_read_by_the_header_of_its_files(place: Place) -> None:
    place.configure(CSV_BAD)
    place.write("a.csv", f'at,item,price\n{EARLY},tea,3\n{EARLY},"a, b",3 EUR\n{EARLY},short\n')
    place.collect()
    place.configure(CSV_GOOD)
    assert counts(retry(place)) == (2, 1, 0, 1)
    assert [row for row in only(place.rows("sales"), "item", "paid") if row[1]] == [("a, b", "3 EUR")]


@on_sail
def test_csv_stays_where_nobody_can_say_which_value_is_which(place: Place) -> None:
    place.configure(CSV_BAD)
    first = place.write("a.csv", f"at,item,price\n{EARLY},tea,dear\n")
    place.collect()
    place.configure(CSV_GOOD)
    place.write("b.csv", f"at,price,item\n{EARLY},3,tea\n")
    place.collect()
    outcome = retry(place)
    assert counts(outcome) == (0, 0, 0, 0)
    assert "headers differ" in outcome.left[0].reason
    first.unlink()
    (place.logs / "b.csv").unlink()
    assert "none of the files can be read" in retry(place).left[0].reason
    assert len(place.rejects("sales")) == 1


JSON = """
table "events" {
  format = format.json.records
  column "tp_timestamp" { source = "at" }
  MORE
}
partition "events" "all" {
  source "file" {
    paths       = ["LOGS"]
    file_layout = `%{DATA:tp_index}-%{DATA}.json.gz`
  }
}
"""


@on_sail
def test_records_of_documents_keep_their_fields_though_the_files_are_gone(place: Place) -> None:
    place.configure(JSON.replace("MORE", 'column "size" { type = "int" }'))
    events: list[dict[str, Any]] = [
        {"at": EARLY, "size": 1},
        {"at": EARLY, "size": "x", "Who": ["me", "you"]},
    ]
    path = place.write("web-1.json.gz", json.dumps({"Records": events}))
    place.collect()
    path.unlink()
    place.configure(JSON.replace("MORE", 'column "length" { source = "size" }'))
    assert counts(retry(place)) == (1, 1, 0, 0)
    rows = [row for row in place.rows("events") if row["Who"]]
    assert only(rows, "length", "tp_source_location") == [("x", str(path))]
    assert json.loads(rows[0]["Who"]) == ["me", "you"]


@on_sail
def test_a_retry_that_was_overtaken_plans_again(place: Place) -> None:
    place.configure(NARROW)
    place.write("one.log", f"{EARLY} xy\n{EARLY} yz\n")
    place.collect()
    place.configure(WIDE)
    mine = make_retry(place)
    overtaking: list[RetryOutcome] = []

    @contextmanager
    def after_the_other(settings: EngineSettings, log: Path | None) -> Iterator[Session]:
        overtaking.append(retry(place))
        yield place.session

    mine.open_engine = after_the_other
    (outcome,) = mine.execute()
    assert counts(overtaking[0]) == (2, 2, 0, 0)
    assert counts(outcome) == (0, 0, 0, 0)
    check_state(place, "words")
    assert len(place.rows("words")) == 2
    known = {path.name for path in (place.data / "words").rglob("*.parquet") if "tp_date=" in str(path)}
    assert len(known) == 1, "files of the attempt that lost are gone"


line = st.builds(
    lambda day, word: f"2024-06-{day:02d}T10:00:00Z {word}\n",
    st.integers(1, 9),
    st.sampled_from(["ab", "cd", "xy", "yz", "no!"]),
)
step = st.one_of(
    st.just("fix"),
    st.just("retry"),
    st.just("widen"),
    st.just("collect"),
    st.just("drop of another year"),
    st.lists(line, min_size=1, max_size=3).map("".join),
)


@on_sail
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.lists(line, min_size=1, max_size=8).map("".join), steps=st.lists(step, max_size=5))
def test_any_order_of_fixes_retries_and_windows_ends_in_the_same_table(
    tmp_path_factory: pytest.TempPathFactory, engine: Session, first: str, steps: list[str]
) -> None:
    place = Place(tmp_path_factory.mktemp("any"), engine)
    place.configure(NARROW)
    text = first
    place.write("one.log", text)
    place.collect(start="2024-06-05")
    for action in [*steps, "fix", "widen", "retry"]:
        match action:
            case "fix":
                place.configure(WIDE)
            case "retry":
                retry(place)
            case "widen":
                place.collect(start="2024-06-02")
            case "collect":
                place.collect()
            case "drop of another year":
                assert delete_rejects(place.lake, "words", "all", ANOTHER_YEAR) == 0
            case _:
                text += action
                place.write("one.log", text)
    place.collect()
    retry(place)
    clean = Place(place.folder / "clean", engine)
    clean.configure(WIDE.replace("LOGS", str(place.logs)))
    clean.collect(start="2024-06-02")
    assert place.rows("words") == clean.rows("words")
    assert place.rejects("words") == clean.rejects("words")
