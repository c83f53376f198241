"""`tailpipe compact` as installed, and what `collect` merges of itself."""

from __future__ import annotations

import json
import os
import signal
import time
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from installed import APP, Home, line
from tailpipe.lake.address import Lake
from tailpipe.lake.datafile import open_data_file
from tailpipe.lake.log import TableLog
from tailpipe.lake.transaction import Change

FROM = ("--from", "2024-01-01")
DAY = "2024-06-01"
INDEXED = '"one" {\n  tp_index = "size"\n  source "file" { paths = ["LOGS"] }\n}'
COUNTED = "select count(*)::int as n, count(distinct tp_id)::int as ids, sum(size)::int as s from app_log"


def collected(home: Home, rows: int, *days: str) -> None:
    """Each row of the days in a file of its own, as if each had come in a run of its own."""
    for day in days or (DAY,):
        home.write(f"{day}.jsonl", "".join(line(f"{day}T00:00:{k:02}Z", size=k) for k in range(rows)))
    done = home.run("collect", *FROM, "--progress=false")
    assert done.returncode == 0, done.stderr
    split(home)


def split(home: Home) -> None:
    """Each row in a file of its own, as small as files can be."""
    address = Lake(str(home.data)).table("app_log")
    log = TableLog(address, pa.schema([]))
    log.refresh()
    for file in log.live_files():
        whole = pq.ParquetFile(address.path(file.path)).read()
        folder = file.path.rpartition("/")[0]
        added = []
        for number in range(whole.num_rows):
            part = open_data_file(address, folder, file.partition_values, whole.schema)
            part.write(whole.slice(number, 1))
            added.append(part.close(DAY))
        with log.transaction(0) as transaction:
            transaction.rearrange(Change("one", "test", DAY, uuid.uuid4().hex, tuple(added), (file,)))
    for path in set(data_files(home)) - {Path(address.path(file.path)) for file in log.live_files()}:
        path.unlink()


def data_files(home: Home) -> list[Path]:
    return sorted(home.data.rglob("tp_date=*/*.parquet"))


def live_files(home: Home) -> int:
    facts = json.loads(home.run("partition", "list", "--output", "json").stdout)
    return sum(each["files"] or 0 for each in facts)


def test_a_user_compacts_what_is_collected(home: Home) -> None:
    home.configure(APP)
    collected(home, 3, DAY, "2024-06-02")
    before = home.query(COUNTED)

    plan = home.run("compact", "--dry-run")
    assert plan.returncode == 0, plan.stderr
    assert "app_log.one" in plan.stdout
    assert "  2024-06-01: 3 files would become 1 (" in plan.stdout
    assert "  2024-06-02: 3 files would become 1 (" in plan.stdout
    assert live_files(home) == 6

    done = home.run("compact", "app_log", "--to", "2024-06-01")
    assert done.returncode == 0, done.stderr
    assert "app_log.one: 1 day compacted: 3 files became 1 (" in done.stdout
    assert "compacting app_log.one 2024-06-01 (3 files, " in done.stderr
    assert live_files(home) == 4

    rest = home.run("compact", "app_*.one", "--output", "json", "--progress=false")
    assert (rest.returncode, rest.stderr) == (0, "")
    (partition,) = json.loads(rest.stdout)["partitions"]
    (day,) = partition["days"]
    assert (partition["partition"], day["day"], day["rows"], day["files"], day["files_after"]) == (
        "app_log.one",
        "2024-06-02",
        3,
        3,
        1,
    )
    assert home.run("compact").stdout == "Nothing to compact.\n"
    assert home.query(COUNTED) == before
    assert home.collect()["rows"]["stored"] == 0


def test_a_collection_compacts_what_it_made_small(home: Home) -> None:
    home.configure(APP)
    collected(home, 15)
    home.write("last.jsonl", line("2024-06-01T12:00:00Z", size=100))
    done = home.run("collect", *FROM)
    assert done.returncode == 0, done.stderr
    assert "  1 day compacted: 16 files became 1 (" in done.stdout
    assert live_files(home) == 1
    assert home.query("select count(*)::int as n, sum(size)::int as s from app_log") == [{"n": 16, "s": 205}]
    home.write("more.jsonl", line("2024-06-01T13:00:00Z", size=1))
    facts = home.collect()["partitions"][0]
    assert (facts["compacted"]["days"], facts["warnings"]) == (0, [])
    assert live_files(home) == 2


def test_upkeep_that_fails_is_a_warning(home: Home) -> None:
    home.configure(APP)
    collected(home, 15)
    data_files(home)[0].write_bytes(b"no parquet")
    home.write("last.jsonl", line("2024-06-01T12:00:00Z"))
    done = home.run("collect", *FROM)
    assert done.returncode == 0, done.stderr
    assert "  warning: 2024-06-01 was not compacted: " in done.stdout
    assert "Nothing was changed" in done.stdout
    failed = home.run("compact")
    assert failed.returncode == 4
    assert "  failed: 2024-06-01: " in failed.stdout


def test_rows_get_the_index_that_is_configured_now(home: Home) -> None:
    home.configure(APP)
    collected(home, 3)
    home.configure(APP.replace('"one" { source "file" { paths = ["LOGS"] } }', INDEXED))
    plan = home.run("compact", "--reindex", "--dry-run")
    assert "2024-06-01: 3 files would become 3, 3 rows under another index (" in plan.stdout
    done = home.run("compact", "one", "--reindex")
    assert done.returncode == 0, done.stderr
    assert "3 files became 3, 3 rows under another index" in done.stdout
    found = home.query("select tp_index, size from app_log order by size")
    assert [(each["tp_index"], each["size"]) for each in found] == [("0", 0), ("1", 1), ("2", 2)]
    assert home.run("compact", "--reindex").stdout == "Nothing to compact.\n"
    other = 'partition "app_log" "two" { source "file" { paths = ["LOGS"] } }\n'
    home.configure(APP.replace('"one" { source "file" { paths = ["LOGS"] } }', INDEXED) + other)
    home.collect("two")
    home.configure(APP.replace('"one" { source "file" { paths = ["LOGS"] } }', INDEXED))
    beside = home.run("compact", "--reindex")
    assert (beside.returncode, beside.stdout) == (0, "Nothing to compact.\n")
    assert "left alone, because they are not configured here: app_log.two" in beside.stderr
    assert home.run("compact", "two", "--reindex").returncode == 4
    home.configure("")
    stranger = home.run("compact", "--reindex")
    assert stranger.returncode == 4
    assert "it is not configured, so nothing says which index its rows have" in stranger.stdout


def test_names_and_windows_that_mean_nothing_are_told(home: Home) -> None:
    home.configure(APP)
    collected(home, 1)
    unknown = home.run("compact", "ap_log")
    assert unknown.returncode == 2
    assert 'no partition matches "ap_log". There are: app_log.one.' in unknown.stderr
    assert "did you mean app_log?" in unknown.stderr
    assert home.run("compact", "--from", "2024-06-02", "--to", "2024-06-01").returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_end_in_the_middle_changes_nothing(home: Home, number: signal.Signals) -> None:
    home.configure(APP)
    collected(home, 3)
    before = home.query(COUNTED)
    process = home.start("compact")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None and len(data_files(home)) == 3:
        time.sleep(0.001)
    if process.poll() is None:
        os.kill(process.pid, number)
    process.wait(60)
    assert home.query(COUNTED) == before
    done = home.run("compact")
    assert done.returncode == 0
    assert live_files(home) == 1
    assert home.query(COUNTED) == before


def test_days_that_are_read_again_beside_a_compaction_lose_nothing(home: Home) -> None:
    home.configure(APP)
    collected(home, 6, DAY, "2024-06-02")
    before = home.query(COUNTED)
    for _ in range(3):
        commands = [
            ("collect", *FROM, "--overwrite", "--progress=false"),
            ("compact", "--progress=false"),
            ("compact", "--progress=false"),
        ]
        processes = [home.start(*command) for command in commands]
        ended = [(process.communicate(timeout=240), process.returncode) for process in processes]
        assert [code for _, code in ended] == [0, 0, 0], ended
        assert home.query(COUNTED) == before
        split(home)
