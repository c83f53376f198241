"""What was deleted is gone from the disk at once, with earlier files that held it, and nothing else is."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from lake_history import FIRST_DAY, Table
from tailpipe.lake.address import Lake
from tailpipe.lake.floor import floor_of
from tailpipe.lake.kinds import Kind
from tailpipe.lake.purge import purge
from tailpipe.times import Window, day_window

DAY = timedelta(days=1)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(Lake(str(tmp_path)))


def window(day: int) -> Window:
    return day_window(FIRST_DAY + timedelta(days=day))


def on_disk(table: Table) -> str:
    """All texts of all data and reject files, whether anybody names them or not."""
    return "\n".join(
        path.read_bytes().decode("latin-1")
        for path in table.folder.rglob("*.parquet")
        if "_delta_log" not in path.parts and "_manifests" not in path.parts
    )


def test_deleted_rows_are_gone_with_every_file_that_held_them(table: Table) -> None:
    for day in (0, 0, 1, 1):
        table.collect("p", day)
    table.compact("p", 0)
    table.compact("p", 1)
    table.collect("q", 0)
    before = table.readable()
    table.delete_day("p", 0)
    freed = purge(table.address, "p", window(0))
    assert freed.files == {Kind.DATA: 3}, "two small ones, and that into which they were compacted"
    assert (freed.left, freed.undecided) == ([], 0)
    assert "p-1-0" not in on_disk(table)
    assert "p-2-1" not in on_disk(table)
    assert table.readable()[0] == tuple(row for row in before[0] if not row.startswith(("p-1", "p-2")))
    small = [path for path in table.paths() if "tp_date=2024-06-02" in path]
    assert len(small) == 3, "other days keep their past"
    assert floor_of(table.delta) == 0
    table.collect("p", 0)
    assert len(table.readable()[0]) == 2 + 4 + 2


def test_a_part_of_a_day_takes_the_files_of_the_whole_day(table: Table) -> None:
    table.collect("p", 0)
    noon = window(0).start + timedelta(hours=12)
    table.delete(Window(noon, noon + timedelta(hours=1)), "p")
    assert purge(table.address, "p", Window(noon, noon + timedelta(hours=1))).files == {Kind.DATA: 1}
    assert not purge(table.address, "p", window(1)).files


def test_dropped_rejects_are_gone_also_those_of_earlier_drops(table: Table) -> None:
    table.collect("p", rejects=2)
    table.drop_rejects("p")
    table.collect("p", rejects=1)
    table.collect("q", rejects=1)
    table.drop_rejects("p")
    assert "p-1-bad1" in on_disk(table)
    assert purge(table.address, "p").files == {Kind.REJECTS: 2}
    assert "p-1-bad" not in on_disk(table)
    assert "p-2-bad" not in on_disk(table)
    assert table.readable()[1]["q"][1] == ("q-3-bad0",)


def test_what_a_collector_is_about_to_commit_stays_and_is_told(table: Table) -> None:
    table.collect("p")
    table.delete_day("p")
    file = table.data_file("p", 0, ["not yet"])
    freed = purge(table.address, "p", window(0))
    assert (freed.files, freed.undecided) == ({Kind.DATA: 1}, 1)
    assert file.path in table.paths()
    table.pass_time(2 * DAY)
    assert purge(table.address, "p", window(0)).files == {Kind.DATA: 1}
    assert file.path not in table.paths()


def test_partitions_are_told_apart_whatever_they_are_called(table: Table) -> None:
    names = ["p", "p2", "p/q", "ü" * 100]
    for name in names:
        table.collect(name, rejects=1)
    for name in names:
        table.delete_day(name)
        table.drop_rejects(name)
        assert purge(table.address, name, window(0)).files == {Kind.DATA: 1, Kind.REJECTS: 1}


def test_there_is_nothing_to_purge_of_a_table_that_is_not_there(table: Table) -> None:
    assert not purge(table.address, "p", window(0)).files
    assert not table.folder.exists()
