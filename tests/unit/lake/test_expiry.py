"""Which rows expire: the edge by the clock and by what the lake has seen, and one commit on a real Delta log."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from test_log import SCHEMA

from tailpipe.lake.address import Lake
from tailpipe.lake.coverage import EXPIRED, cover
from tailpipe.lake.facts import FileFact
from tailpipe.lake.known import Artifacts
from tailpipe.lake.lifecycle import MAX_LEAP, Expired, edge_of, expirable, expire, may_expire
from tailpipe.lake.log import TableLog
from tailpipe.lake.manifest import Failure, KnownArtifact, RunReport
from tailpipe.lake.manifest_columns import as_columns
from tailpipe.lake.sizes import rows_per_day
from tailpipe.lake.state import PartitionState
from tailpipe.lake.transaction import Change
from tailpipe.times import Window, midnight, parse_lookback

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
EDGE = datetime(2024, 6, 2, tzinfo=UTC)
ASKED = Window(datetime(2024, 5, 20, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))


def june(day: int) -> datetime:
    return datetime(2024, 6, day, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expire_after", "edge"),
    [("1d", june(14)), ("2W", june(1)), ("1m", datetime(2024, 5, 15, tzinfo=UTC)), ("36H", june(14))],
)
def test_whole_days_leave(expire_after: str, edge: datetime) -> None:
    assert edge_of(parse_lookback(expire_after), NOW, None) == edge


def test_a_clock_is_believed_a_few_days_beyond_the_last_run() -> None:
    """One that is years ahead must not take everything; one that is behind takes less."""
    after, last_run = parse_lookback("10d"), NOW
    right = edge_of(after, NOW + timedelta(days=2), last_run)
    assert right == june(7)
    ahead = edge_of(after, NOW + timedelta(days=4000), last_run)
    assert ahead == midnight((NOW + MAX_LEAP - timedelta(days=10)).date())
    assert edge_of(after, NOW - timedelta(days=400), last_run) < right
    assert edge_of(after, NOW, NOW + timedelta(days=4000)) == june(5)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "data"))


def data_file(location: str, day: str) -> FileFact:
    values = {"tp_partition": "p", "tp_index": "default", "tp_date": day}
    path = "/".join([*(f"{name}={value}" for name, value in values.items()), "file.parquet"])
    file = Path(location, path)
    file.parent.mkdir(parents=True)
    moment = datetime.fromisoformat(f"{day}T12:00:00")
    pq.write_table(pa.table({"message": ["m"], "tp_timestamp": [moment]}), file)
    return FileFact(day, path, file.stat().st_size, 1, values, f"{day}T12:00:00.000", f"{day}T12:00:00.000")


def collected(lake: Lake, *days: str, **more: object) -> TableLog:
    log = TableLog(lake.table("app_log"), SCHEMA)
    location = lake.table("app_log").uri
    files = tuple(data_file(location, day) for day in days)
    log.commit(Change("p", "collect", "", "run", files, asked={"file": (ASKED,)}, **more), 0)  # type: ignore[arg-type]
    return log


def days_of(lake: Lake) -> set[date]:
    return set(rows_per_day(lake, "app_log").get("p", {}))


def state_of(lake: Lake) -> PartitionState:
    return TableLog(lake.table("app_log"), SCHEMA).state("p")


def test_days_leave_in_one_commit_and_no_file_is_opened(lake: Lake) -> None:
    collected(lake, "2024-05-30", "2024-06-01", "2024-06-02", "2024-06-03")
    address = lake.table("app_log")
    for path in Path(address.uri).glob("tp_partition=p/*/tp_date=2024-0[56]-[30]*/*.parquet"):
        path.write_bytes(b"nobody reads this")
    foretold = expirable(lake, "app_log", "p", EDGE)
    version = DeltaTable(address.uri).version()
    done = expire(lake, "app_log", "p", EDGE)
    assert done == foretold
    assert (done.days, done.rows, done.files) == (2, 2, 2)
    assert days_of(lake) == {date(2024, 6, 2), date(2024, 6, 3)}
    assert DeltaTable(address.uri).version() == version + 1
    assert expire(lake, "app_log", "p", EDGE) == Expired(EDGE)
    assert DeltaTable(address.uri).version() == version + 1


def test_expired_days_are_known_as_such_and_not_as_pending(lake: Lake) -> None:
    failure = Failure("2024-05-31", "broken", 1, NOW, "run", date(2024, 5, 31))
    collected(lake, "2024-06-01", "2024-06-03", failures=(failure,))
    expire(lake, "app_log", "p", EDGE)
    state = state_of(lake)
    assert state.expired == (Window(ASKED.start, EDGE),)
    assert state.asked == {"file": (Window(EDGE, ASKED.end),)}
    assert state.failures == ()
    days = cover(state, {date(2024, 6, 3): 1}, Window(june(1), june(3)), NOW)
    assert [day.state == EXPIRED for day in days] == [True, False]


def test_an_edge_that_moves_on_without_rows_is_kept(lake: Lake) -> None:
    collected(lake, "2024-06-10")
    for day in (2, 4):
        assert expire(lake, "app_log", "p", june(day)) == Expired(june(day))
    assert state_of(lake).expired == (Window(ASKED.start, june(4)),)
    assert days_of(lake) == {date(2024, 6, 10)}


def test_rows_that_nobody_asked_for_are_noticed_by_the_times_of_their_file() -> None:
    always = Window(datetime(1, 1, 1, tzinfo=UTC), ASKED.end)
    old = KnownArtifact("file", "a", "a", "1", 1, None, (always,), oldest=june(1), newest=june(9))
    state = PartitionState(1, Artifacts([as_columns((old,))]), asked={"file": (Window(june(5), ASKED.end),)})
    assert may_expire(state, EDGE)
    assert not may_expire(state, june(1))
    kept = msgspec.structs.replace(old, kept=(Window(EDGE, ASKED.end),))
    assert not may_expire(replace(state, artifacts=Artifacts([as_columns((kept,))])), EDGE)


def test_a_partition_that_the_lake_does_not_know_has_nothing_to_expire(lake: Lake) -> None:
    collected(lake, "2024-06-01")
    assert expire(lake, "app_log", "q", EDGE) == Expired(EDGE)
    assert expire(lake, "other", "p", EDGE) == Expired(EDGE)


def test_a_report_of_a_run_is_what_the_lake_has_seen(lake: Lake) -> None:
    report = RunReport(NOW, NOW, "sail", NOW, None, ("file",), False, *[0] * 8)
    log = collected(lake, "2024-06-01")
    log.commit(Change("p", "run", "", "run", report=report), log.version("p"))
    last = state_of(lake).last_run
    assert last is not None
    assert last.started_at == NOW
