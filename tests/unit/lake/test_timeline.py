"""Versions and times of real tables: what each commit did, and which version a moment means."""

from __future__ import annotations

import json
import os
import random
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from histories import TABLE, History, truth
from tailpipe.errors import LakeError, UsageError
from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.deletion import delete_window
from tailpipe.lake.log_entries import kept_of
from tailpipe.lake.timeline import commits, version_at
from tailpipe.times import day_window

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(Lake(str(tmp_path / "lake")))


def stamp(address: TableAddress, times: dict[int, datetime]) -> None:
    """Entries say that they were made at these times."""
    for version, at in times.items():
        path = Path(address.path(f"_delta_log/{version:020d}.json"))
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            if "commitInfo" in line:
                line["commitInfo"]["timestamp"] = int(at.timestamp() * 1000)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def shorten(address: TableAddress, version: int) -> None:
    """As vacuum does: a checkpoint stands for entries before it."""
    address.at(version).opened().create_checkpoint()
    for path in Path(address.path("_delta_log")).glob("*.json"):
        if int(path.stem) < version:
            path.unlink()


def test_a_commit_tells_what_came_and_went(history: History) -> None:
    history.collect("one", day=0, rows=3)
    history.collect("two", day=1, rows=2, rejected=1)
    history.overwrite("one")
    delete_window(history.lake, TABLE, "two", day_window(datetime(2024, 6, 2, tzinfo=UTC).date()))
    found = list(commits(history.address, kept_of(history.address)))
    facts = [(each.version, each.kind, each.partition, each.unit) for each in found]
    assert facts == [
        (4, "delete", "two", None),
        (3, "overwrite", "one", None),
        (2, "collect", "two", "2024-06-02"),
        (1, "collect", "one", "2024-06-01"),
        (0, "create table", None, None),
    ]
    assert [(each.rows_added, each.rows_removed) for each in found] == [
        (0, 2),
        (3, 3),
        (2, 0),
        (3, 0),
        (0, 0),
    ]
    assert [(each.files_added, each.files_removed) for each in found] == [
        (0, 1),
        (1, 1),
        (1, 0),
        (1, 0),
        (0, 0),
    ]
    assert all(newer.at >= older.at for newer, older in pairwise(found))


def test_files_that_are_merged_bring_and_take_no_rows(history: History) -> None:
    history.collect("one", rows=3)
    history.collect("one", rows=2)
    history.compact()
    merged = next(commits(history.address, kept_of(history.address)))
    assert (merged.kind, merged.partition, merged.unit) == ("compact", "one", "2024-06-01")
    assert (merged.rows_added, merged.rows_removed) == (0, 0)
    assert (merged.files_added, merged.files_removed) == (1, 2)


def test_rows_that_went_are_told_by_what_lies_before_the_entries_that_are_read(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.collect("a b=c", rows=5)
    history.overwrite("a b=c")
    monkeypatch.setattr("tailpipe.lake.timeline._FIRST_BATCH", 1)
    assert next(commits(history.address, kept_of(history.address))).rows_removed == 5


def test_entries_are_read_when_they_are_asked_for(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailpipe.lake.timeline._FIRST_BATCH", 2)
    for _ in range(4):
        history.collect("one", rows=1)
    older = Path(history.address.path(f"_delta_log/{2:020d}.json"))
    older.write_text("{")
    found = commits(history.address, kept_of(history.address))
    assert [next(found).version for _ in range(2)] == [4, 3]
    with pytest.raises(LakeError, match=older.name):
        next(found)


@pytest.mark.parametrize("seed", range(3))
def test_each_version_is_as_it_was(history: History, seed: int) -> None:
    choice = random.Random(seed)
    history.collect("one")
    while len(history.past) < 12:
        history.move(choice)
        time.sleep(0.002)
    for commit in commits(history.address, kept_of(history.address)):
        assert version_at(history.address, commit.at) == commit.version
        if commit.version in history.past:
            assert truth(history.address.at(commit.version)) == history.past[commit.version]


def test_a_moment_means_the_last_commit_before_it(history: History) -> None:
    for _ in range(12):
        history.collect("one", rows=1)
    times = {version: NOON + timedelta(hours=version) for version in range(13)}
    stamp(history.address, times)
    for version, at in times.items():
        assert version_at(history.address, at) == version
        assert version_at(history.address, at + timedelta(minutes=59)) == version
    assert version_at(history.address, NOON - timedelta(seconds=1)) is None
    assert version_at(history.address, NOON + timedelta(days=900)) == 12


def test_nothing_is_seen_that_says_it_was_committed_later(history: History) -> None:
    """A collector whose clock is behind commits after one whose clock is right."""
    for _ in range(6):
        history.collect("one", rows=1)
    minutes = [0, 10, 20, 50, 30, 40, 70]
    stamp(history.address, {version: NOON + timedelta(minutes=each) for version, each in enumerate(minutes)})
    assert version_at(history.address, NOON + timedelta(minutes=45)) == 2
    assert version_at(history.address, NOON + timedelta(minutes=60)) == 5


def test_versions_that_are_not_there_are_told(history: History) -> None:
    history.collect("one")
    assert version_at(history.address, 1) == 1
    with pytest.raises(UsageError, match=f"{TABLE} has no version 2: its newest is 1"):
        version_at(history.address, 2)


def test_what_the_log_no_longer_has_is_told(history: History) -> None:
    for _ in range(8):
        history.collect("one", rows=1)
    stamp(history.address, {version: NOON + timedelta(hours=version) for version in range(9)})
    shorten(history.address, 5)
    beginning = "begins with version 5 of 2026-03-01 17:00:00 UTC"
    with pytest.raises(LakeError, match=beginning):
        version_at(history.address, 4)
    with pytest.raises(LakeError, match=beginning):
        version_at(history.address, NOON)
    assert version_at(history.address, NOON + timedelta(hours=6)) == 6
    assert len(truth(history.address.at(6)).rows) == 6
    assert [each.version for each in commits(history.address, kept_of(history.address))] == [8, 7, 6, 5]


def test_a_commit_that_tells_no_time_has_that_of_its_entry(history: History) -> None:
    history.collect("one")
    path = Path(history.address.path(f"_delta_log/{1:020d}.json"))
    lines = [line for line in path.read_text().splitlines() if "commitInfo" not in line]
    path.write_text("\n".join(lines))
    os.utime(path, (NOON.timestamp(), NOON.timestamp()))
    newest = next(commits(history.address, kept_of(history.address)))
    assert (newest.at, newest.kind, newest.partition) == (NOON, "", None)
