"""What a run will do: which files, how, in which units and order, and why others are left alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from planning import LAYOUT, NOW, Site, done, line, make_target, units, window

from tailpipe.collect.jobs import batches, make_packs
from tailpipe.collect.plan import Action, PlannedArtifact, Unit
from tailpipe.collect.windows import ALWAYS, END_OF_TIME
from tailpipe.sources.artifact import Artifact
from tailpipe.times import Window, day_window


@pytest.fixture
def dated(tmp_path: Path) -> Site:
    return Site(tmp_path, make_target(tmp_path, LAYOUT))


@pytest.fixture
def undated(tmp_path: Path) -> Site:
    return Site(tmp_path, make_target(tmp_path))


def write_days(site: Site, *days: str) -> None:
    for day in days:
        site.write(f"{day}.log", line(f"{day}T00:00:00"))


def only(site: Site, *arguments: str | None) -> PlannedArtifact:
    """The one thing that is planned."""
    ((planned,),) = [unit.artifacts for unit in site.plan(*arguments).units]
    return planned


def june(first: int, last: int) -> Window:
    return window(f"2024-06-{first:02d}", f"2024-06-{last:02d}")


def test_first_time_newest_day_first_and_only_the_last_thirty_days(dated: Site) -> None:
    write_days(dated, "2024-06-01", "2024-06-14", "2024-05-17", "2024-05-15")
    dated.write("notes.txt", "x\n")
    first = dated.plan()
    assert units(first) == ["2024-06-14", "2024-06-01", "2024-05-17"]
    assert first.window == Window(datetime(2024, 5, 16, tzinfo=UTC), END_OF_TIME)
    (listing,) = first.listings
    assert (listing.listed, listing.planned, listing.known) == (5, 3, 0)
    assert listing.skipped == {"layout": 1, "outside window": 1}
    assert listing.skip_examples["layout"] == str(dated.path("notes.txt"))
    assert listing.newest == str(dated.path("2024-06-14.log"))


def test_later_runs_go_oldest_first_and_leave_out_what_is_known(dated: Site) -> None:
    write_days(dated, "2024-06-10")
    dated.run()
    assert dated.plan().units == ()
    write_days(dated, "2024-06-12", "2024-06-11")
    later = dated.plan()
    assert units(later) == ["2024-06-11", "2024-06-12"]
    assert later.listings[0].known == 1


def test_a_long_pause_leaves_no_gap(dated: Site) -> None:
    """Collected up to February: the next run starts there, though that is more than thirty days ago."""
    dated.now = datetime(2024, 2, 2, tzinfo=UTC)
    write_days(dated, "2024-02-01")
    dated.run("2024-02-01")
    dated.now = NOW
    write_days(dated, "2024-02-02", "2024-01-31", "2024-04-01")
    assert units(dated.plan()) == ["2024-02-02", "2024-04-01"]


def test_late_days_within_the_horizon_are_taken_and_others_told(dated: Site) -> None:
    write_days(dated, "2024-06-10", "2024-06-15")
    dated.run()
    write_days(dated, "2024-06-09", "2024-06-11", "2024-06-13", "2024-06-14")
    later = dated.plan()
    assert units(later) == ["2024-06-13", "2024-06-14"]
    assert later.listings[0].skipped == {"late": 2}
    assert later.listings[0].late_example == str(dated.path("2024-06-09.log"))
    assert units(dated.plan("2024-06-09", "2024-06-12")) == ["2024-06-09", "2024-06-11"]


def test_a_day_is_taken_whole_though_the_window_begins_within_it(dated: Site) -> None:
    write_days(dated, "2024-06-10")
    planned = only(dated, "2024-06-10T12:00:00", "2024-06-10T13:00:00")
    assert (planned.action, planned.keep, planned.kept) == (Action.TAKE, (ALWAYS,), (ALWAYS,))


def test_a_known_day_within_the_horizon_is_read_on_and_an_older_one_is_late(dated: Site) -> None:
    write_days(dated, "2024-06-10", "2024-06-15")
    dated.run()
    for day in ("2024-06-10", "2024-06-15"):
        dated.append(f"{day}.log", line(f"{day}T01:00:00"))
    plan = dated.plan()
    assert done(dated, plan) == [("2024-06-15.log", "read on")]
    assert plan.listings[0].skipped == {"late": 1}
    assert plan.listings[0].grown == 1


def test_a_dated_file_with_other_content_is_replaced(dated: Site) -> None:
    write_days(dated, "2024-06-15")
    dated.run()
    dated.write("2024-06-15.log", line("2024-06-15T02:00:00"))
    planned = only(dated)
    assert (planned.action, planned.artifact.start) == (Action.REPLACE, None)
    (listing,) = dated.plan().listings
    assert (listing.replaced, listing.replaced_example) == (1, str(dated.path("2024-06-15.log")))


def test_undated_files_share_a_unit_and_are_read_again_for_what_is_missing(undated: Site) -> None:
    for name in ("a.log", "b.log"):
        undated.write(name, line("2024-06-02T00:00:00") + line("2024-06-12T00:00:00"))
    undated.write("c.log", line("2024-06-11T00:00:00"))
    first = undated.run("2024-06-10")
    assert units(first) == ["undated-1"]
    assert done(undated, first) == [("a.log", "take"), ("b.log", "take"), ("c.log", "take")]
    assert {item.keep for item in first.units[0].artifacts} == {(first.window,)}
    assert undated.plan("2024-06-11").units == ()
    wider = undated.plan("2024-06-01")
    assert [(item.action, item.keep, item.kept) for item in wider.units[0].artifacts] == [
        (Action.WIDEN, (june(1, 10),), (Window(june(1, 10).start, END_OF_TIME),))
    ] * 2


def test_a_new_undated_file_is_taken_for_all_that_was_ever_asked(undated: Site) -> None:
    """So the order of runs does not matter: a window asked for before the file came holds its rows too."""
    undated.write("a.log", line("2024-06-01T00:00:00") + line("2024-06-10T00:00:00"))
    undated.run("2024-06-01", "2024-06-02")
    undated.write("b.log", line("2024-06-01T01:00:00"))
    undated.run("2024-06-10", "2024-06-11")
    both = (june(1, 3), june(10, 12))
    assert {record.kept for record in undated.state.artifacts.known()} == {both}


def test_a_file_that_grew_is_read_on_for_all_that_is_kept_of_it(undated: Site) -> None:
    undated.write("a.log", line("2024-06-10T00:00:00"))
    undated.run("2024-06-10", "2024-06-10")
    undated.append("a.log", line("2024-06-10T01:00:00"))
    planned = only(undated, "2024-06-10", "2024-06-10")
    assert (planned.action, planned.keep, planned.kept) == (Action.READ_ON, (june(10, 11),), (june(10, 11),))
    assert planned.artifact.start is not None
    assert planned.artifact.start.position == 1


def test_a_file_that_grew_and_is_wanted_wider_is_replaced(undated: Site) -> None:
    undated.write("a.log", line("2024-06-11T00:00:00") + line("2024-06-10T00:00:00"))
    undated.run("2024-06-10", "2024-06-10")
    undated.append("a.log", line("2024-06-11T01:00:00"))
    planned = only(undated, "2024-06-11", "2024-06-11")
    assert (planned.action, planned.keep, planned.kept) == (Action.REPLACE, (june(10, 12),), (june(10, 12),))
    assert planned.artifact.start is None


@pytest.mark.parametrize(("format", "action"), [("jsonl.default", "read on"), ("csv.default", "replace")])
def test_what_can_only_be_read_from_its_beginning_is_replaced_when_it_grew(
    tmp_path: Path, format: str, action: str
) -> None:
    site = Site(tmp_path, make_target(tmp_path, format=format))
    site.write("a.log", "at\n2024-06-10\n")
    site.run()
    site.append("a.log", "2024-06-11\n")
    assert done(site, site.plan()) == [("a.log", action)]


def test_a_last_line_that_was_taken_for_whole_and_went_on_is_replaced(undated: Site) -> None:
    undated.write("a.log", '{"at": "2024-06-10"')
    undated.run()
    assert len(undated.lake.rejects) == 1
    undated.append("a.log", ', "number": 1}\n' + line("2024-06-11"))
    assert done(undated, undated.run()) == [("a.log", "read on")]
    assert (len(undated.lake.rows), len(undated.lake.rejects)) == (2, 0)
    (record,) = undated.state.artifacts.known()
    assert (record.rows.read, record.rows.stored, record.rows.rejected, record.mark.open_bytes) == (
        2,
        2,
        0,
        0,
    )


def test_a_last_line_that_only_gets_its_line_end_is_not_read_again(undated: Site) -> None:
    undated.write("a.log", line("2024-06-10").rstrip("\n"))
    undated.run()
    rows = dict(undated.lake.rows)
    undated.append("a.log", "\n")
    assert done(undated, undated.run()) == [("a.log", "read on")]
    assert undated.lake.rows == rows
    (record,) = undated.state.artifacts.known()
    assert (record.rows.read, record.rows.stored) == (1, 1)


def test_a_last_line_of_text_that_needs_what_stands_before_is_replaced_with_all_of_it(tmp_path: Path) -> None:
    site = Site(tmp_path, make_target(tmp_path, format="delimited.default"))
    site.write("a.csv", "at\n2024-06-10\n2024-0")
    site.run()
    site.append("a.csv", "6-11\n")
    assert done(site, site.plan()) == [("a.csv", "replace")]


def test_a_last_line_that_was_taken_for_whole_does_not_wait_when_the_window_widens(undated: Site) -> None:
    """It would be read once more when it is quiet again, and its row stored twice."""
    undated.write("a.log", line("2024-06-01T00:00:00") + line("2024-06-10T00:00:00").rstrip("\n"))
    undated.run("2024-06-05")
    undated.touch("a.log", timedelta(0))
    widened = only(undated, "2024-05-01")
    size_bytes = undated.path("a.log").stat().st_size
    assert (widened.action, widened.artifact.waits_after) == (Action.WIDEN, size_bytes)


def test_overwriting_replaces_what_the_window_touches(undated: Site) -> None:
    write_days(undated, "2024-06-01", "2024-06-10")
    undated.run()
    plan = undated.plan("2024-06-09", is_overwrite=True)
    assert done(undated, plan) == [("2024-06-10.log", "replace")]
    assert plan.is_overwrite


def test_overwriting_a_dated_window(dated: Site) -> None:
    write_days(dated, "2024-06-01", "2024-06-10", "2024-06-11")
    dated.run()
    dated.path("2024-06-11.log").unlink()
    plan = dated.plan("2024-06-09", is_overwrite=True)
    assert done(dated, plan) == [("2024-06-10.log", "replace")]
    assert plan.listings[0].gone == 1


def test_a_file_that_only_moved_is_remembered_at_its_new_place(undated: Site) -> None:
    write_days(undated, "a")
    undated.run()
    undated.move("a.log", "a.log.1")
    plan = undated.plan()
    (record,) = plan.renamed
    assert (plan.units, plan.listings[0].moved) == ((), 1)
    assert (undated.name(record.location), undated.name(record.identity)) == ("a.log.1", "a.log")


def test_text_that_may_still_be_written_waits_for_its_line_ends(tmp_path: Path) -> None:
    site = Site(tmp_path, make_target(tmp_path))
    site.write("a.log", "x\n", timedelta(seconds=9))
    site.write("b.log", "x\n", timedelta(seconds=11))
    site.write("c.log", "x\n", timedelta(seconds=-9))
    site.write("d.log", "x\n", timedelta(days=-9))
    (unit,) = site.plan().units
    assert [item.artifact.waits_after for item in unit.artifacts] == [0, None, 0, None]


def test_documents_are_not_cut_at_line_ends(tmp_path: Path) -> None:
    site = Site(tmp_path, make_target(tmp_path, format="json.default"))
    site.write("a.json", "[\n]", timedelta(seconds=1))
    assert only(site).artifact.waits_after is None


def artifact(number: int, size_bytes: int, suffix: str = ".log") -> Artifact:
    return Artifact(f"{number:03d}{suffix}", size_bytes, "1", day_window(NOW.date()))


def test_packs_hold_neighbours_of_about_the_same_size() -> None:
    artifacts = [artifact(k, 10_000_000) for k in range(100)]
    packs = make_packs(artifacts, 4)
    assert [len(pack) for pack in packs] == [25, 25, 25, 25]
    assert [number for pack in packs for number, _ in pack] == list(range(100))
    assert all(artifacts[number] == item for pack in packs for number, item in pack)


def test_little_work_is_one_pack_and_one_large_file_does_not_starve_the_rest() -> None:
    assert len(make_packs([artifact(k, 100) for k in range(50)], 4)) == 1
    uneven = make_packs([artifact(0, 10**9), *(artifact(k, 1000) for k in range(1, 50))], 4)
    assert [number for pack in uneven for number, _ in pack] == list(range(50))
    assert 2 <= len(uneven) <= 4


def test_batches_keep_the_order_and_count_compressed_bytes_as_what_they_become() -> None:
    plain = [Unit(None, k, (PlannedArtifact(0, artifact(k, 100)),)) for k in range(4)]
    assert [len(batch) for batch in batches(plain, 200)] == [2, 2]
    packed = [Unit(None, k, (PlannedArtifact(0, artifact(k, 100, ".log.gz")),)) for k in range(3)]
    assert [len(batch) for batch in batches(packed, 200)] == [1, 1, 1]
    assert [unit.number for batch in batches(plain, 200) for unit in batch] == [0, 1, 2, 3]
    assert list(batches([])) == []


def test_a_file_that_another_source_of_the_partition_collected_is_told(undated: Site) -> None:
    undated.write("a.log", line("2024-06-01T00:00:00"))
    undated.write("b.log", line("2024-06-01T00:00:00"))
    undated.run()
    assert undated.plan().listings[0].twice == 0
    renamed = replace(undated.feed, source=replace(undated.feed.source, name="file_2"))
    undated.target = replace(undated.target, feeds=(renamed,))
    (listing,) = undated.plan().listings
    assert (listing.planned, listing.twice) == (2, 2)
    assert listing.twice_example == f"{undated.path('a.log')} (source file)"
