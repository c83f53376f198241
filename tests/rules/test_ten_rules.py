"""The ten rules of collection, each as a user meets it: by the installed command, and by what the lake then holds."""

from __future__ import annotations

import gzip
import re
import shutil
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from memory import LINES_PER_MEGABYTE, noise, peak_memory
from stories import (
    DATED,
    JUNE,
    TWO_SOURCES,
    actions,
    collect,
    coverage,
    dated,
    day_lines,
    days,
    days_ago,
    files,
    finished_units,
    last_version,
    levels,
    planned_units,
    rows,
)

from installed import APP, APP_TABLE, Home, line
from lakes import BucketLake
from object_store import ObjectStore

BROKEN_GZIP = b"\x1f\x8b\x08\x00broken"
FROM_JUNE = ("--from", JUNE[0])
ENGINES = ["sail", pytest.param("spark", marks=pytest.mark.slow)]
MEGABYTES_PER_FILE = 20


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.slow)])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    """The rules are the same wherever the lake is."""
    if request.param == "folder":
        return Home(tmp_path)
    store: ObjectStore = request.getfixturevalue("object_store")
    return Home(tmp_path, elsewhere=BucketLake(store, store.new_uri()))


def in_june(home: Home) -> None:
    """Three days of one, two and three rows."""
    home.configure(DATED)
    for number, day in enumerate(JUNE, 1):
        home.write(f"{day}.jsonl", day_lines(day, number))


def test_rule_01_window_of_a_first_collection_is_thirty_days_or_the_lookback(home: Home) -> None:
    own = dated("LOGS", name="own", options='lookback = "60d"')
    home.configure(DATED + own + 'workspace "short" { lookback = "10d" }\n')
    ago = {count: days_ago(count) for count in (8, 12, 29, 32, 59, 62)}
    for day in ago.values():
        home.write(f"{day}.jsonl", day_lines(day, 1))
    assert planned_units(home) == {
        "app_log.one": [ago[8], ago[12], ago[29]],
        "app_log.own": [ago[8], ago[12], ago[29], ago[32], ago[59]],
    }
    assert planned_units(home, "--workspace", "short")["app_log.one"] == [ago[8]]


@pytest.mark.parametrize(
    ("start", "end", "window"),
    [
        ("2024-01-01", "2024-01-31", ("2024-01-01T00:00:00+00:00", "2024-02-01T00:00:00+00:00")),
        ("1/31/2024", "2024-02-01T10:00:00Z", ("2024-01-31T00:00:00+00:00", "2024-02-01T10:00:00+00:00")),
    ],
)
def test_rule_01_window_as_people_write_it(home: Home, start: str, end: str, window: tuple[str, str]) -> None:
    home.configure(APP)
    home.write("app.jsonl", day_lines(JUNE[0], 1))
    (partition,) = collect(home, "--dry-run", "--from", start, "--to", end)["partitions"]
    assert (partition["window"]["from"], partition["window"]["to"]) == window


def test_rule_01_window_before_now_in_every_unit(home: Home) -> None:
    """Hours and minutes are exact, longer ones begin with their day."""
    home.configure(APP)
    home.write("app.jsonl", day_lines(JUNE[0], 1))

    def start(text: str) -> datetime:
        (partition,) = collect(home, "--dry-run", "--from", text)["partitions"]
        return datetime.fromisoformat(partition["window"]["from"])

    for unit, length in {"H": 3600, "M": 60}.items():
        late = start(f"T-3{unit}") - (datetime.now(UTC) - timedelta(seconds=3 * length))
        assert timedelta(seconds=-30) < late <= timedelta(), unit
    assert start("T-3W").isoformat() == f"{days_ago(21)}T00:00:00+00:00"
    assert start("T-1d").isoformat() == f"{days_ago(1)}T00:00:00+00:00"
    assert home.run("collect", "--from", "T-3x").returncode == 2


def test_rule_02_order_newest_first_then_oldest_first(home: Home) -> None:
    in_june(home)
    assert finished_units(home.run("collect", *FROM_JUNE)) == list(reversed(JUNE))
    more = ["2024-05-30", "2024-06-04", "2024-06-05"]
    for day in more:
        home.write(f"{day}.jsonl", day_lines(day, 1))
    assert finished_units(home.run("collect", "--from", "2024-05-01")) == more


def test_rule_02_order_leaves_no_gap_behind_the_last_collected_point(home: Home) -> None:
    """Later runs name no window, and a lateness of two days before now would not reach what they have to collect."""
    home.configure(DATED)
    ago = {count: days_ago(count) for count in (9, 8, 7, 6, 5, 4, 1)}

    def write(*counts: int) -> None:
        for count in counts:
            home.write(f"{ago[count]}.jsonl", day_lines(ago[count], 1))

    write(9, 8, 7, 6)
    collect(home, "--from", ago[9], "--to", ago[8])
    assert set(days(home)) == {ago[9], ago[8]}
    assert finished_units(home.run("collect")) == [ago[7], ago[6]]
    write(5, 4, 1)
    assert finished_units(home.run("collect")) == [ago[5], ago[4], ago[1]]


@pytest.mark.parametrize("engine", ENGINES)
def test_rule_03_atomic_unit_of_all_sources(tmp_path: Path, engine: str) -> None:
    home = Home(tmp_path, {"TAILPIPE_ENGINE": engine})
    home.configure(TWO_SOURCES)
    for day in JUNE:
        home.write(f"web/{day}.jsonl", day_lines(day, 3, "web"))
        home.write(f"db/{day}.jsonl", day_lines(day, 2, "db"))
    home.write(f"db/{JUNE[1]}.jsonl", BROKEN_GZIP)

    failed = home.run("collect", *FROM_JUNE)
    assert days(home) == {JUNE[0]: 5, JUNE[2]: 5}
    assert failed.returncode == 1
    assert f"failed: {JUNE[1]}: {home.logs}/db/{JUNE[1]}.jsonl" in failed.stdout
    assert f"Nothing of {JUNE[1]} was stored; the day stays pending" in failed.stdout

    home.write(f"db/{JUNE[1]}.jsonl", day_lines(JUNE[1], 2, "db"))
    sail = Home(tmp_path)
    again = collect(sail)
    assert again["rows"]["in"] == 5
    assert days(sail) == dict.fromkeys(JUNE, 5)
    assert levels(sail) == {"web": 9, "db": 6}


def test_rule_03_atomic_unit_that_fails_after_its_day_was_collected(home: Home) -> None:
    """A file that came later broke the day: it is tried again, though an earlier run had found the day complete."""
    in_june(home)
    collect(home, *FROM_JUNE)
    home.write(f"{JUNE[1]}-late.jsonl", BROKEN_GZIP)
    collect(home, *FROM_JUNE, code=1)
    assert days(home)[JUNE[1]] == 2
    home.write(f"{JUNE[1]}-late.jsonl", day_lines(JUNE[1], 1))
    assert collect(home)["rows"]["stored"] == 1
    assert days(home)[JUNE[1]] == 3


def test_rule_04_exactly_once_when_run_again(home: Home) -> None:
    in_june(home)
    collect(home, *FROM_JUNE)
    once = rows(home, "tp_id")
    assert len(once) == 6
    again = home.run("collect", *FROM_JUNE)
    assert rows(home, "tp_id") == once
    assert "rows in 0 = stored 0 + filtered 0 + rejected 0" in again.stdout
    assert "starting" not in again.stderr


def test_rule_04_exactly_once_when_the_window_widens(tmp_path: Path) -> None:
    """Windows that overlap, in any order, end in the table that one run over all of them makes."""
    content = "".join(day_lines(day, 24) for day in JUNE)
    whole, parts = Home(tmp_path / "whole"), Home(tmp_path / "parts")
    for home in (whole, parts):
        home.configure(APP.replace("LOGS", str(tmp_path / "logs")))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "app.jsonl").write_text(content)
    collect(whole, *FROM_JUNE, "--to", JUNE[2])
    stored = [
        collect(parts, "--from", start, "--to", end)["rows"]["stored"]
        for start, end in (
            (f"{JUNE[1]}T06:00:00Z", f"{JUNE[1]}T12:00:00Z"),
            (f"{JUNE[1]}T09:00:00Z", JUNE[2]),
            (JUNE[0], JUNE[1]),
        )
    ]
    assert stored == [6, 12 + 24, 24 + 6]
    assert rows(parts, "tp_id", "tp_timestamp") == rows(whole, "tp_id", "tp_timestamp")


def test_rule_04_exactly_once_after_kill_minus_nine(home: Home) -> None:
    """Killed as soon as its first day is visible: the others are not there by halves, and come with the next run."""
    in_june(home)
    for number in range(5, 30):
        home.write(f"2024-06-{number:02d}.jsonl", day_lines(f"2024-06-{number:02d}", 2))
    process = home.start("collect", *FROM_JUNE, "--progress=false")
    deadline = time.monotonic() + 120
    while not home.lake.has_entry("app_log", 1) and time.monotonic() < deadline:
        time.sleep(0.001)
    process.kill()
    process.communicate()
    before = days(home)
    assert 0 < before.total() < 56
    expected = Counter({day: number for number, day in enumerate(JUNE, 1)})
    expected += Counter({f"2024-06-{number:02d}": 2 for number in range(5, 30)})
    assert before == {day: expected[day] for day in before}
    assert collect(home, *FROM_JUNE)["rows"]["stored"] == expected.total() - before.total()
    assert days(home) == expected


def test_rule_04_exactly_once_overwrite_replaces_a_window_in_one_commit_a_day(home: Home) -> None:
    in_june(home)
    collect(home, *FROM_JUNE)
    others = files(home, JUNE[0]) | files(home, JUNE[2])
    before = last_version(home)
    home.configure(APP_TABLE + dated("LOGS", options='filter = "size > 0"'))
    collect(home, "--from", JUNE[1], "--to", JUNE[1], "--overwrite")
    assert days(home) == {JUNE[0]: 1, JUNE[1]: 1, JUNE[2]: 3}
    assert files(home, JUNE[0]) | files(home, JUNE[2]) == others
    changes = [actions(home, version) for version in range(before + 1, last_version(home) + 1)]
    assert [change for change in changes if change] == [{f"add {JUNE[1]}": 1, f"remove {JUNE[1]}": 1}]


def test_rule_05_day_of_an_artifact_comes_from_its_path(home: Home) -> None:
    """A row just after midnight in the file of the day before: the path decides whether it is read."""
    home.configure(DATED)
    home.write(
        f"{JUNE[0]}.jsonl", line(f"{JUNE[0]}T23:59:59Z", "before") + line(f"{JUNE[1]}T00:00:01Z", "after")
    )
    nothing = collect(home, "--from", JUNE[1], "--to", JUNE[2])
    assert nothing["rows"]["in"] == 0
    assert nothing["partitions"][0]["sources"][0]["skipped"] == {"outside window": 1}
    assert planned_units(home, *FROM_JUNE, "--to", JUNE[0]) == {"app_log.one": [JUNE[0]]}
    collect(home, *FROM_JUNE, "--to", JUNE[0])
    assert days(home) == {JUNE[0]: 1, JUNE[1]: 1}


def test_rule_05_day_of_rows_without_a_date_in_the_path_is_their_own(home: Home) -> None:
    home.configure(APP)
    home.write("app.jsonl", "".join(day_lines(day, 2) for day in JUNE))
    summary = collect(home, "--from", JUNE[1], "--to", JUNE[1])
    assert summary["rows"] == {
        "in": 6,
        "stored": 2,
        "filtered": 4,
        "rejected": 0,
        "outside_window": 4,
        "stored_before": 0,
    }
    assert days(home) == {JUNE[1]: 2}
    kept = "select kept_from::varchar as start, kept_to::varchar as end, span_from from tailpipe.artifacts"
    assert home.query(kept) == [
        {"start": f"{JUNE[1]} 00:00:00", "end": f"{JUNE[2]} 00:00:00", "span_from": None}
    ]


def test_rule_06_late_artifacts_within_the_horizon(home: Home) -> None:
    home.configure(DATED)
    old, young = days_ago(5), days_ago(1)
    home.write(f"{old}.jsonl", day_lines(old, 1))
    home.write(f"{young}.jsonl", day_lines(young, 1))
    collect(home)
    home.write(f"{old}-late.jsonl", day_lines(old, 1))
    home.write(f"{young}-late.jsonl", day_lines(young, 1))
    late = home.run("collect")
    assert "stored 1 " in late.stdout
    assert (
        f"1 artifact came later than the lateness allows, for example {home.logs}/{old}-late" in late.stdout
    )
    assert days(home) == {old: 1, young: 2}
    home.configure(APP_TABLE + dated("LOGS", options='lateness = "7d"'))
    collect(home)
    assert days(home) == {old: 2, young: 2}


def test_rule_06_growing_files_are_read_on_from_the_last_whole_line(home: Home) -> None:
    home.configure(APP)
    half, rest = line(f"{JUNE[0]}T05:00:00Z", "half")[:25], line(f"{JUNE[0]}T05:00:00Z", "half")[25:]
    log = home.write("app.log", day_lines(JUNE[0], 3, "old") + half)
    assert collect(home, *FROM_JUNE)["rows"]["in"] == 3
    with log.open("a") as file:
        file.write(rest + day_lines(JUNE[1], 2, "new"))
    assert collect(home, *FROM_JUNE)["rows"]["in"] == 3
    assert levels(home) == {"old": 3, "half": 1, "new": 2}


def test_rule_06_rotated_files_are_the_same_data(home: Home) -> None:
    home.configure(APP)
    log = home.write("app.log", day_lines(JUNE[0], 3, "first"))
    collect(home, *FROM_JUNE)

    log.rename(home.logs / "app.log.1")
    home.write("app.log", day_lines(JUNE[1], 2, "second"))
    assert collect(home, *FROM_JUNE)["rows"]["in"] == 2

    packed = gzip.compress((home.logs / "app.log.1").read_bytes())
    (home.logs / "app.log.1").rename(home.logs / "gone")
    (home.logs / "gone").unlink()
    home.write("app.log.2.gz", packed)
    shutil.copy(log, home.logs / "app.log.1")
    log.write_text(day_lines(JUNE[2], 1, "third"))
    assert collect(home, *FROM_JUNE)["rows"]["in"] == 1
    assert levels(home) == {"first": 3, "second": 2, "third": 1}


def test_rule_06_equal_files_at_two_living_places_both_count(home: Home) -> None:
    home.configure(APP)
    log = home.write("a.log", day_lines(JUNE[0], 3))
    home.write("b.log", day_lines(JUNE[0], 3))
    collect(home, *FROM_JUNE)
    shutil.copy(log, home.logs / "c.log")
    collect(home, *FROM_JUNE)
    assert days(home) == {JUNE[0]: 9}


def test_rule_08_query_sees_whole_units_at_every_version_there_ever_was(home: Home) -> None:
    home.configure(TWO_SOURCES)
    for day in JUNE:
        home.write(f"web/{day}.jsonl", day_lines(day, 3, "web"))
        home.write(f"db/{day}.jsonl", day_lines(day, 2, "db"))
    process = home.start("collect", *FROM_JUNE, "--progress=false")
    while process.poll() is None:
        assert set(days(home).values()) <= {5}
    assert process.returncode == 0, process.communicate()
    process.communicate()
    home.write(f"web/{JUNE[0]}.jsonl", day_lines(JUNE[0], 7, "changed"))
    collect(home, *FROM_JUNE)
    seen = [days(home, version) for version in range(last_version(home) + 1)]
    assert seen[-1] == {JUNE[0]: 9, JUNE[1]: 5, JUNE[2]: 5}
    assert {count for day in JUNE[1:] for count in (snapshot[day] for snapshot in seen)} == {0, 5}
    assert [*dict.fromkeys(snapshot[JUNE[0]] for snapshot in seen)] == [0, 5, 9]
    assert home.query("select count(*)::int as n from app_log") == [{"n": 19}]


@pytest.mark.parametrize("engine", ENGINES)
def test_rule_07_rejects_are_counted_kept_and_retried(tmp_path: Path, engine: str) -> None:
    home = Home(tmp_path, {"TAILPIPE_ENGINE": engine})
    filtered = """partition "app_log" "one" {
      filter = "level <> 'debug'"
      source "file" { paths = ["LOGS"] }
    }
    """
    home.configure(APP_TABLE + filtered)
    good, huge = line(f"{JUNE[0]}T01:00:00Z"), line(f"{JUNE[0]}T02:00:00Z", size="huge")
    debug = line(f"{JUNE[0]}T03:00:00Z", "debug")
    path = home.write("app.jsonl", good * 3 + "not JSON\n" + debug * 2 + huge)
    summary = collect(home, *FROM_JUNE)
    assert summary["rows"] == {
        "in": 7,
        "stored": 3,
        "filtered": 2,
        "rejected": 2,
        "outside_window": 0,
        "stored_before": 0,
    }
    rejects = "select artifact, position, raw, reason from tailpipe.rejects order by position"
    broken, refused = home.query(rejects)
    assert (broken["artifact"], broken["position"], broken["raw"]) == (str(path), 4, "not JSON")
    assert refused == {
        "artifact": str(path),
        "position": 7,
        "raw": huge.rstrip("\n"),
        "reason": 'size "huge" is not a valid INTEGER',
    }

    fixed = APP_TABLE.replace('type = "int"', 'type = "int"\n null_if = "huge"\n')
    home.configure(fixed + filtered)
    for again in (home, Home(tmp_path)):
        again.run("rejects", "retry", "app_log.one")
        collect(again, *FROM_JUNE)
        assert rows(home, "level") == [("info",)] * 4
        assert home.query(rejects) == [broken]


def test_rule_09_explain_why_nothing_was_stored(home: Home) -> None:
    in_june(home)
    notes = home.write("notes.txt", "no log")
    collect(home, "--from", JUNE[2])
    nothing = home.run("collect", "--from", JUNE[2])
    assert nothing.returncode == 0
    assert (
        "source file: 4 listed, 3 matched, 1 known, 2 outside the window, 1 do not match the file_layout"
        in nothing.stdout
    )
    assert f"for example {notes}" in nothing.stdout
    assert f"newest: {home.logs}/{JUNE[2]}.jsonl" in nothing.stdout

    home.configure(APP_TABLE + dated("LOGS", name="two"))
    outside = home.run("collect", "app_log.two", "--from", "2024-07-01")
    assert f"newest: {home.logs}/{JUNE[2]}.jsonl" in outside.stdout
    assert "hint: the window is 2024-07-01 00:00 to now; --from and --to choose another" in outside.stdout


def test_rule_09_no_day_is_called_complete_of_which_rows_are_missing(home: Home) -> None:
    """The file of the second day begins with a row of the first. The hint of coverage brings all back."""
    home.configure(DATED)
    first, second, third = (days_ago(count) for count in (6, 5, 4))
    home.write(f"{first}.jsonl", day_lines(first, 2))
    path = home.write(f"{second}.jsonl", line(f"{first}T23:59:00Z") + day_lines(second, 2))
    home.write(f"{third}.jsonl", day_lines(third, 2))
    collect(home)
    assert set(coverage(home).values()) == {"collected", "empty"}
    whole = {first: 3, second: 2, third: 2}
    assert days(home) == whole

    home.run("partition", "delete", "app_log.one", "--from", first, "--to", first, "--force")
    collect(home)
    assert days(home) == {second: 2, third: 2}
    assert coverage(home)[first] == "missing"
    (hint,) = re.findall(r"hint: tailpipe (.*)", home.run("coverage").stdout)
    assert hint.split()[-4:] == ["--from", first, "--to", first]
    summary = home.run(*hint.split())
    assert "2 artifacts" in summary.stdout
    assert days(home) == whole
    assert set(coverage(home).values()) == {"collected", "empty"}

    home.run("partition", "delete", "app_log.one", "--from", first, "--to", first, "--force")
    path.unlink()
    told = home.run(*hint.split()).stdout
    assert (
        f"1 artifact no longer there has rows of the window that are not in the lake, for example {path}"
        in told
    )
    assert days(home) == {first: 2, second: 2, third: 2}
    assert coverage(home)[first] == "partial"
    assert f"not all rows of it are kept, and gone from the source: {path}" in home.run("coverage").stdout


def test_rule_09_explain_before_it_is_done(home: Home) -> None:
    in_june(home)
    plan = home.run("collect", *FROM_JUNE, "--dry-run")
    assert "starting" not in plan.stderr
    sizes = [(home.logs / f"{day}.jsonl").stat().st_size for day in JUNE]
    for day, size in zip(JUNE, sizes, strict=True):
        assert re.search(rf"^ +{day} +1 artifact +{size} B$", plan.stdout, re.M)
    assert f"3 units, 3 artifacts, {sum(sizes)} B" in plan.stdout
    assert home.lake.paths() == []


def test_rule_10_bounded_memory(home: Home) -> None:
    """Four times the logs take hardly more memory: what a task holds is full long before the smaller ones end."""
    content = noise(MEGABYTES_PER_FILE)
    peaks = []
    for count in (3, 12):
        home = replace(home, elsewhere=home.lake.new())
        home.configure(DATED + 'workspace "default" { cores = 1 }\n')
        for number in range(count):
            home.write(f"{JUNE[0]}-{number}.jsonl", content)
        peaks.append(peak_memory(home.start("collect", *FROM_JUNE, "--progress=false")))
        assert days(home) == {JUNE[0]: count * MEGABYTES_PER_FILE * LINES_PER_MEGABYTE}
    assert peaks[1] < 1.2 * peaks[0]
