"""Jobs that end early, so that what was read is committed: the table is the same in the end."""

from __future__ import annotations

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from installed import APP, APP_TABLE, line
from pipelines import Place
from tailpipe.collect import stopping
from tailpipe.collect.outcome import RunOutcome
from tailpipe.collect.spool import Counts
from tailpipe.collect.stopping import Stopping
from tailpipe.lake.address import TableAddress
from tailpipe.lake.log import TableLog

ROWS = 20_000
DATED = (
    APP_TABLE
    + """
    partition "app_log" "one" {
      source "file" {
        paths       = ["LOGS"]
        file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}`
      }
    }
    """
)


class Interruption(BaseException):
    pass


def write(place: Place) -> None:
    for number in range(1, 9):
        broken = "broken\n" if number == 3 else ""
        place.write(f"2024-06-{number:02d}/a.jsonl", line(f"2024-06-{number:02d}T00:00:00Z") * ROWS + broken)


def ids(place: Place) -> list[str]:
    table = DeltaTable(str(place.data / "app_log")).to_pyarrow_table(columns=["tp_id"])
    return sorted(table.column("tp_id").to_pylist())


def collect(place: Place, monkeypatch: pytest.MonkeyPatch, is_interrupted: bool = False) -> RunOutcome:
    """Jobs are asked to stop, or the first is interrupted, as soon as something was read."""
    read = Counts()
    interruptions = iter([Interruption()] if is_interrupted else [])

    def counted(counts: Counts) -> None:
        nonlocal read
        read = counts
        if counts.rows and (interruption := next(interruptions, None)):
            raise interruption

    collection = place.collection(start="2024-06-01")
    monkeypatch.setattr(stopping, "_LOOK_SECONDS", 0.001)
    monkeypatch.setattr(
        Stopping, "is_due", lambda self, _: self.can_be_due and not self.is_requested and read.rows > 0
    )
    monkeypatch.setattr(collection.watcher, "counted", counted, raising=False)
    return collection.execute()


def test_files_without_a_date_are_committed_as_they_are_read(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.configure(APP)
    write(place)
    outcome = collect(place, monkeypatch)
    assert (outcome.rows.stored, outcome.rows.rejected) == (8 * ROWS, 1)
    assert len(outcome.partitions[0].done) > 1
    assert outcome.partitions[0].artifacts == 8
    anew = Place(place.folder, place.session, place.folder / "anew")
    assert anew.collect(start="2024-06-01").partitions[0].done[0].rows.stored == 8 * ROWS
    assert ids(place) == ids(anew)
    assert place.rejects("app_log") == anew.rejects("app_log")


@pytest.mark.parametrize("config", [APP, DATED], ids=["undated", "dated"])
def test_what_was_read_when_a_run_is_interrupted_is_kept(
    place: Place, monkeypatch: pytest.MonkeyPatch, config: str
) -> None:
    place.configure(config)
    write(place)
    with monkeypatch.context() as patch, pytest.raises(Interruption):
        collect(place, patch, is_interrupted=True)
    kept = len(ids(place))
    assert 0 < kept < 8 * ROWS
    assert kept % ROWS == 0
    assert TableLog(TableAddress(str(place.data / "app_log")), pa.schema([])).state("one").covered == {}
    assert place.collect(start="2024-06-01").rows.stored == 8 * ROWS - kept
    assert len(set(ids(place))) == len(ids(place)) == 8 * ROWS
