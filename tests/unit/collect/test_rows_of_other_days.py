"""Rows whose day is not that of their file: deleted, asked for again, and what is said of their days meanwhile."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from pathlib import Path

import msgspec
import pytest
from memory_lake import moment_of
from planning import LAYOUT, NOW, Site, done, line, make_target, units, window

from tailpipe.collect.windows import ALWAYS
from tailpipe.lake.coverage import Day, cover
from tailpipe.lake.known import Artifacts
from tailpipe.lake.manifest_file import Manifest
from tailpipe.records import RowCounts
from tailpipe.times import day_window

DAYS = window("2024-06-01", "2024-06-15")


@pytest.fixture
def dated(tmp_path: Path) -> Site:
    return Site(tmp_path, make_target(tmp_path, LAYOUT))


@pytest.fixture
def undated(tmp_path: Path) -> Site:
    return Site(tmp_path, make_target(tmp_path))


def rows(site: Site) -> list[str]:
    return sorted(f"{moment_of(raw):%m-%d %H:%M}" for raw in site.lake.rows.values())


def calendar(site: Site) -> dict[int, Day]:
    """Days of June by number."""
    found = Counter(at.date() for raw in site.lake.rows.values() if (at := moment_of(raw)))
    return {day.date.day: day for day in cover(site.state, found, DAYS, site.now)}


def states(site: Site, *days: int) -> list[str]:
    found = calendar(site)
    return [found[day].state for day in days]


def june(day: int) -> date:
    return date(2024, 6, day)


@pytest.fixture
def late(dated: Site) -> Site:
    """The file of the 5th begins with a row of the 4th; the others hold their own."""
    dated.write("2024-06-03.log", line("2024-06-03T10:00:00"))
    dated.write("2024-06-04.log", line("2024-06-04T10:00:00"))
    dated.write("2024-06-05.log", line("2024-06-04T23:59:00") + line("2024-06-05T10:00:00"))
    dated.write("2024-06-06.log", line("2024-06-06T10:00:00"))
    dated.run()
    return dated


def test_a_deleted_day_comes_back_whole_by_its_own_window(late: Site) -> None:
    before = rows(late)
    late.lake.delete(day_window(june(4)))
    assert states(late, 3, 4, 5) == ["collected", "missing", "collected"]
    plan = late.run("2024-06-04", "2024-06-04")
    assert done(late, plan) == [("2024-06-04.log", "widen"), ("2024-06-05.log", "widen")]
    assert rows(late) == before
    assert states(late, 3, 4, 5) == ["collected"] * 3


def test_files_whose_names_are_a_day_late_come_back_and_no_others_are_read(dated: Site) -> None:
    for day in range(3, 9):
        dated.write(f"2024-06-{day + 1:02}.log", line(f"2024-06-{day:02}T10:00:00"))
    dated.run()
    dated.lake.delete(day_window(june(5)))
    plan = dated.run("2024-06-05", "2024-06-05")
    assert done(dated, plan) == [("2024-06-06.log", "widen")]
    assert rows(dated) == [f"06-{day:02} 10:00" for day in range(3, 9)]
    assert states(dated, 5) == ["collected"]


def test_what_was_deleted_stays_away_until_it_is_asked_for(late: Site) -> None:
    late.lake.delete(day_window(june(4)))
    late.run("2024-06-05", "2024-06-05")
    late.run()
    assert [at for at in rows(late) if at.startswith("06-04")] == []
    late.run("2024-06-01")
    assert [at for at in rows(late) if at.startswith("06-04")] == ["06-04 10:00", "06-04 23:59"]


def test_rows_that_could_not_be_read_again_are_taken_up_by_the_next_run(late: Site) -> None:
    """The file of the 5th is broken when the 4th is asked for."""
    late.lake.delete(day_window(june(4)))
    whole = late.path("2024-06-05.log").read_bytes()
    late.path("2024-06-05.log").write_bytes(b"\x1f\x8b broken")
    late.run("2024-06-04", "2024-06-04")
    assert states(late, 4, 5) == ["partial", "failed"]
    late.path("2024-06-05.log").write_bytes(whole)
    late.touch("2024-06-05.log", timedelta(hours=1))
    late.run()
    assert "06-04 23:59" in rows(late)
    assert states(late, 4, 5) == ["collected"] * 2


def test_a_file_that_is_gone_is_told_and_its_day_is_not_whole(late: Site) -> None:
    late.lake.delete(day_window(june(4)))
    text = late.path("2024-06-05.log").read_text()
    late.path("2024-06-05.log").unlink()
    (listing,) = late.run("2024-06-04", "2024-06-04").listings
    assert (listing.lost, listing.lost_example) == (1, str(late.path("2024-06-05.log")))
    day = calendar(late)[4]
    assert (day.state, day.is_stuck) == ("partial", True)
    assert day.reason == (
        f"not all rows of it are kept, and gone from the source: {late.path('2024-06-05.log')}"
    )
    assert late.plan().window.start > day_window(june(5)).end
    late.write("2024-06-05.log", text)
    assert done(late, late.run("2024-06-04", "2024-06-04")) == [("2024-06-05.log", "widen")]
    assert states(late, 4) == ["collected"]


def test_a_file_that_moved_within_its_day_is_known_again_for_its_rows(late: Site) -> None:
    late.lake.delete(day_window(june(4)))
    late.move("2024-06-05.log", "2024-06-05-renamed.log")
    late.run("2024-06-04", "2024-06-04")
    assert "06-04 23:59" in rows(late)


def test_a_file_that_grew_meanwhile_gives_what_is_missing_once(late: Site) -> None:
    late.lake.delete(day_window(june(4)))
    late.append("2024-06-05.log", line("2024-06-05T11:00:00"))
    late.run("2024-06-04", "2024-06-05")
    assert rows(late) == [
        "06-03 10:00",
        "06-04 10:00",
        "06-04 23:59",
        "06-05 10:00",
        "06-05 11:00",
        "06-06 10:00",
    ]


def test_a_file_that_grows_after_a_deletion_is_read_on_without_what_was_deleted(late: Site) -> None:
    late.write("2024-06-14.log", line("2024-06-13T23:00:00") + line("2024-06-14T10:00:00"))
    late.run()
    late.lake.delete(window("2024-06-13", "2024-06-14"))
    late.append("2024-06-14.log", line("2024-06-13T23:30:00") + line("2024-06-14T11:00:00"))
    plan = late.run("2024-06-14", "2024-06-14")
    assert done(late, plan) == [("2024-06-14.log", "read on")]
    assert rows(late)[-2:] == ["06-14 10:00", "06-14 11:00"]
    late.run("2024-06-13", "2024-06-13")
    assert rows(late)[-4:] == ["06-13 23:00", "06-13 23:30", "06-14 10:00", "06-14 11:00"]


def test_all_that_was_deleted_comes_back_by_a_window_of_its_rows(late: Site) -> None:
    before = rows(late)
    late.lake.delete(ALWAYS)
    assert late.state.is_new
    late.run("2024-06-04", "2024-06-04")
    assert [at for at in rows(late) if at.startswith("06-04")] == ["06-04 10:00", "06-04 23:59"]
    late.run("2024-06-01")
    assert rows(late) == before


def test_rejects_come_back_with_an_artifact_of_which_nothing_was_left(undated: Site) -> None:
    undated.write("a.log", line("2024-06-10T00:00:00") + line("never"))
    undated.run("2024-06-10", "2024-06-10")
    undated.lake.delete(day_window(june(10)))
    assert (undated.lake.rows, undated.lake.rejects) == ({}, {})
    undated.run("2024-06-10", "2024-06-10")
    assert (len(undated.lake.rows), len(undated.lake.rejects)) == (1, 1)


def test_of_files_without_a_date_only_those_with_rows_of_the_day_are_read_again(undated: Site) -> None:
    for day in range(1, 9):
        undated.write(
            f"{day}.log", line(f"2024-06-{day:02}T00:00:00") + line(f"2024-06-{day + 1:02}T00:00:00")
        )
    undated.run()
    before = rows(undated)
    undated.lake.delete(day_window(june(5)))
    plan = undated.run("2024-06-05", "2024-06-05")
    assert done(undated, plan) == [("4.log", "widen"), ("5.log", "widen")]
    assert rows(undated) == before


def test_rows_that_a_filter_left_out_may_be_of_any_day(undated: Site) -> None:
    """Nobody noted their times, and the filter may be another one now."""
    undated.write("a.log", line("2024-06-10T00:00:00"))
    undated.run()
    undated.lake.delete(day_window(june(5)))
    assert units(undated.plan("2024-06-05", "2024-06-05")) == []
    (manifest, *others) = undated.lake.manifests
    (record,) = Artifacts([manifest.rows]).known()
    some = msgspec.structs.replace(record, rows=record.rows + RowCounts(1, filtered=1))
    undated.lake.manifests = [Manifest.of(manifest.header, (some,)), *others]
    assert units(undated.plan("2024-06-05", "2024-06-05")) == ["undated-1"]


def test_overwriting_a_day_reaches_its_rows_in_files_of_other_days(late: Site) -> None:
    plan = late.run("2024-06-04", "2024-06-04", is_overwrite=True)
    assert done(late, plan) == [("2024-06-04.log", "replace"), ("2024-06-05.log", "replace")]


def test_a_window_that_leaves_rows_of_today_out_does_not_make_it_whole(undated: Site) -> None:
    undated.write("a.log", line("2024-06-15T01:00:00") + line("2024-06-15T10:00:00"))
    undated.run(end="2024-06-15T05:00:00Z")
    days = cover(undated.state, {june(15): 1}, day_window(june(15)), NOW)
    assert [(day.state, day.reason) for day in days] == [
        ("partial", f"not all rows of it are kept: {undated.path('a.log')}")
    ]
    undated.run()
    assert cover(undated.state, {june(15): 2}, day_window(june(15)), NOW)[0].state == "collected"
