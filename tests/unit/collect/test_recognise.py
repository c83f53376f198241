"""Content is known again wherever it lies; equal files at two living places are two."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from planning import LAYOUT, Site, done, line, make_target

from tailpipe.collect.listing import Relation

FRESH = timedelta(seconds=1)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, make_target(tmp_path))


@pytest.fixture
def dated(tmp_path: Path) -> Site:
    return Site(tmp_path, make_target(tmp_path, LAYOUT))


def lines(*numbers: int) -> str:
    return "".join(line("2024-06-10T00:00:00", number) for number in numbers)


def seen(site: Site) -> dict[str, tuple[str, str | None]]:
    """By name: the relation, and where the content it is known as was first seen."""
    return {
        name: (sighting.relation.value, site.name(sighting.known.identity) if sighting.known else None)
        for name, sighting in site.sightings().items()
    }


def test_nothing_is_known_at_first_and_everything_afterwards(site: Site) -> None:
    site.write("a.log", lines(1))
    assert seen(site) == {"a.log": ("new", None)}
    site.run()
    assert seen(site) == {"a.log": ("same", "a.log")}
    assert not site.sightings()["a.log"].is_renamed


def test_a_file_that_grew(site: Site) -> None:
    site.write("a.log", lines(1))
    site.run()
    site.append("a.log", lines(2))
    assert seen(site) == {"a.log": ("grown", "a.log")}


def test_a_renamed_file_is_the_one_it_was(site: Site) -> None:
    site.write("app.log", lines(1))
    site.run()
    site.move("app.log", "app.log.1")
    assert seen(site) == {"app.log.1": ("same", "app.log")}
    assert site.sightings()["app.log.1"].is_renamed
    site.run()
    assert seen(site) == {"app.log.1": ("same", "app.log")}
    assert not site.sightings()["app.log.1"].is_renamed


def test_a_new_file_at_the_place_of_a_renamed_one_is_new(site: Site) -> None:
    site.write("app.log", lines(1))
    site.run()
    site.move("app.log", "app.log.1")
    site.write("app.log", lines(2))
    assert seen(site) == {"app.log": ("new", None), "app.log.1": ("same", "app.log")}
    identity = site.sightings()["app.log"].identity
    assert identity.startswith(str(site.path("app.log#")))
    site.run()
    assert site.sightings()["app.log"].identity == identity
    assert {record.identity for record in site.state.artifacts.known()} == {
        str(site.path("app.log")),
        identity,
    }


@pytest.mark.parametrize("runs_between", [True, False])
def test_a_chain_of_rotations(site: Site, runs_between: bool) -> None:
    """.1 becomes .2 while the log becomes .1: every content keeps its identity, seen at each step or not."""
    site.write("app.log", lines(0))
    site.run()
    identities = {0: site.sightings()["app.log"].identity}
    for number in (1, 2, 3):
        for k in reversed(range(1, number)):
            site.move(f"app.log.{k}", f"app.log.{k + 1}")
        site.move("app.log", "app.log.1")
        site.write("app.log", lines(number))
        if runs_between:
            assert done(site, site.run()) == [("app.log", "take")]
            identities[number] = site.sightings()["app.log"].identity
    found = site.sightings()
    assert found["app.log.3"].identity == identities[0]
    if runs_between:
        assert [found[name].identity for name in ("app.log.2", "app.log.1", "app.log")] == [
            identities[number] for number in (1, 2, 3)
        ]
        assert {sighting.relation for sighting in found.values()} == {Relation.SAME}
    else:
        assert [found[name].relation for name in sorted(found)] == [Relation.NEW] * 3 + [Relation.SAME]


def test_lines_written_before_a_rename_are_read_on_at_the_new_place(site: Site) -> None:
    site.write("app.log", lines(1))
    site.run()
    site.append("app.log", lines(2))
    site.move("app.log", "app.log.1")
    site.write("app.log", lines(3))
    assert seen(site) == {"app.log": ("new", None), "app.log.1": ("grown", "app.log")}
    assert done(site, site.run()) == [("app.log", "take"), ("app.log.1", "read on")]


def test_copytruncate(site: Site) -> None:
    """The log keeps its place and begins anew, its content goes on as a copy."""
    site.write("app.log", lines(1, 2))
    site.run()
    site.append("app.log", lines(3))
    site.write("app.log.1", site.path("app.log").read_text())
    site.write("app.log", lines(4))
    assert seen(site) == {"app.log": ("new", None), "app.log.1": ("grown", "app.log")}


def test_a_copy_before_the_log_is_emptied_is_a_second_file(site: Site) -> None:
    """Both places live: whoever looks between the copy and the cut sees two files."""
    site.write("app.log", lines(1, 2))
    site.run()
    site.write("app.log.1", lines(1, 2))
    assert seen(site) == {"app.log": ("same", "app.log"), "app.log.1": ("new", None)}


def test_gzip_after_rotation(site: Site) -> None:
    site.write("app.log", lines(1))
    site.run()
    site.move("app.log", "app.log.1")
    site.write("app.log", lines(2))
    site.run()
    site.pack("app.log.1", "app.log.1.gz")
    assert seen(site)["app.log.1.gz"] == ("grown", "app.log")
    assert done(site, site.run()) == [("app.log.1.gz", "read on")]
    record = site.sightings()["app.log.1.gz"].known
    assert record is not None
    assert (record.rows.read, site.name(record.location)) == (1, "app.log.1.gz")
    assert seen(site)["app.log.1.gz"] == ("same", "app.log")


def test_a_packed_file_as_large_as_what_was_read_of_the_plain_one_may_hold_more(site: Site) -> None:
    site.write("app.log", lines(*range(10)))
    site.run()
    read = site.path("app.log").read_text()
    more = lines(*range(10, 60))
    site.path("app.log").unlink()
    site.write("app.log.1.gz", read + more)
    packed = site.path("app.log.1.gz")
    with packed.open("ab") as file:
        file.write(bytes(len(read) - packed.stat().st_size))
    assert packed.stat().st_size == len(read)
    assert seen(site) == {"app.log.1.gz": ("grown", "app.log")}


def test_a_packed_file_that_only_moves_is_not_read_again(site: Site) -> None:
    site.write("app.log.1.gz", lines(1, 2))
    site.run()
    site.move("app.log.1.gz", "app.log.2.gz")
    assert seen(site) == {"app.log.2.gz": ("same", "app.log.1.gz")}
    assert site.run().units == ()


def test_a_document_that_grew_before_it_moved_is_a_new_version(tmp_path: Path) -> None:
    site = Site(tmp_path, make_target(tmp_path, format="json.default"))
    site.write("a.json", '{"at": "2024-06-10"}\n')
    site.run()
    site.move("a.json", "b.json")
    assert seen(site) == {"b.json": ("same", "a.json")}
    site.append("b.json", '{"at": "2024-06-11"}\n')
    assert seen(site) == {"b.json": ("changed", "a.json")}
    assert done(site, site.run()) == [("b.json", "replace")]


def test_a_chain_of_packed_files(site: Site) -> None:
    site.write("app.log", lines(0))
    site.run()
    for number in (1, 2, 3):
        for k in reversed(range(1, number)):
            site.move(f"app.log.{k}.gz", f"app.log.{k + 1}.gz")
        site.pack("app.log", "app.log.1.gz")
        site.write("app.log", lines(number))
        site.run()
    names = ["app.log", "app.log.1.gz", "app.log.2.gz", "app.log.3.gz"]
    assert {name: relation for name, (relation, _) in seen(site).items()} == dict.fromkeys(names, "same")
    assert seen(site)["app.log.3.gz"] == ("same", "app.log")
    assert len(site.state.artifacts) == 4
    assert sum(record.rows.read for record in site.state.artifacts.known()) == 4


def test_a_file_being_packed_waits_until_its_original_is_gone(site: Site) -> None:
    site.write("app.log.1", lines(1))
    site.run()
    site.write("app.log.1.gz", lines(1), FRESH)
    assert seen(site) == {"app.log.1": ("same", "app.log.1"), "app.log.1.gz": ("waiting", None)}
    plan = site.run()
    assert (done(site, plan), plan.listings[0].skipped) == ([], {"waiting": 1})
    site.path("app.log.1").unlink()
    assert seen(site) == {"app.log.1.gz": ("grown", "app.log.1")}


def test_a_packed_file_that_stays_beside_its_original_is_a_second_file(site: Site) -> None:
    site.write("app.log.1", lines(1))
    site.run()
    site.write("app.log.1.gz", lines(1))
    assert seen(site)["app.log.1.gz"] == ("new", None)


def test_an_undated_log_that_begins_anew_is_new_and_what_was_collected_stays(site: Site) -> None:
    site.write("app.log", lines(1, 2))
    site.run()
    site.write("app.log", lines(3))
    assert seen(site) == {"app.log": ("new", None)}
    site.run()
    assert len(site.state.artifacts) == 2


def test_a_dated_file_with_other_content_is_a_new_version(dated: Site) -> None:
    dated.write("2024-06-10.log", lines(1, 2))
    dated.run()
    dated.write("2024-06-10.log", lines(3))
    assert seen(dated) == {"2024-06-10.log": ("changed", "2024-06-10.log")}


@pytest.mark.parametrize(
    "content", ['[{"at": "2024-06-11"}]', '[{"at": "2024-06-10"}, {"at": "2024-06-11"}]']
)
def test_a_changed_document_is_a_new_version(tmp_path: Path, content: str) -> None:
    site = Site(tmp_path, make_target(tmp_path, format="json.default"))
    site.write("a.json", '[{"at": "2024-06-10"}]')
    site.run()
    site.write("a.json", content)
    assert seen(site) == {"a.json": ("changed", "a.json")}


@pytest.mark.parametrize("layout", [None, LAYOUT])
@pytest.mark.parametrize("format", ["jsonl.default", "json.default"])
def test_a_touched_file_is_the_same(tmp_path: Path, layout: str | None, format: str) -> None:
    site = Site(tmp_path, make_target(tmp_path, layout, format))
    site.write("2024-06-10.log", '[{"at": "2024-06-10"}]\n')
    site.run()
    site.touch("2024-06-10.log", timedelta(minutes=30))
    sighting = site.sightings()["2024-06-10.log"]
    assert (sighting.relation, sighting.is_renamed) == (Relation.SAME, True)
    assert site.run().units == ()
    assert not site.sightings()["2024-06-10.log"].is_renamed


def test_equal_files_at_two_living_places_are_two(site: Site) -> None:
    site.write("a.log", lines(1))
    site.run()
    site.write("b.log", lines(1))
    assert seen(site) == {"a.log": ("same", "a.log"), "b.log": ("new", None)}
    site.run()
    assert seen(site) == {"a.log": ("same", "a.log"), "b.log": ("same", "b.log")}


def test_two_equal_files_that_swap_their_places(site: Site) -> None:
    site.write("a.log", lines(1))
    site.write("b.log", lines(1))
    site.run()
    site.move("a.log", "c.log")
    site.move("b.log", "a.log")
    found = site.sightings()
    assert {sighting.relation for sighting in found.values()} == {Relation.SAME}
    assert {site.name(sighting.identity) for sighting in found.values()} == {"a.log", "b.log"}


def test_a_file_back_at_its_place(site: Site) -> None:
    site.write("a.log", lines(1))
    site.write("b.log", lines(2))
    site.run()
    content = site.path("a.log").read_text()
    site.path("a.log").unlink()
    assert seen(site) == {"b.log": ("same", "b.log")}
    site.run()
    site.write("a.log", content)
    assert seen(site) == {"a.log": ("same", "a.log"), "b.log": ("same", "b.log")}


def test_a_common_beginning_is_not_enough(site: Site) -> None:
    """The first 4 KB are equal, what stood before the mark is not."""
    head = lines(*range(200))
    site.write("a.log", head + lines(1000))
    site.run()
    site.path("a.log").unlink()
    site.write("b.log", head + lines(2000) + lines(3000))
    assert seen(site) == {"b.log": ("new", None)}


def test_of_two_known_beginnings_the_longer_one_is_taken(site: Site) -> None:
    site.write("short.log", lines(1))
    site.write("long.log", lines(1, 2))
    site.run()
    site.path("short.log").unlink()
    site.move("long.log", "moved.log")
    assert seen(site) == {"moved.log": ("same", "long.log")}


def test_half_a_line_waits_and_is_ready_when_nobody_wrote_for_a_while(site: Site) -> None:
    half = '{"at": "2024-06-10T00:00:00", "numb'
    site.write("a.log", lines(1) + half, FRESH)
    site.run()
    record = site.sightings()["a.log"].known
    assert record is not None
    assert (record.rows.read, record.waiting_bytes) == (1, len(half))
    assert seen(site) == {"a.log": ("same", "a.log")}
    listing = site.run().listings[0]
    assert (listing.unended, site.name(listing.unended_example or "")) == (1, "a.log")
    site.now += timedelta(seconds=10)
    assert seen(site) == {"a.log": ("grown", "a.log")}
    assert done(site, site.run()) == [("a.log", "read on")]
    assert seen(site) == {"a.log": ("same", "a.log")}


def test_a_file_of_half_a_line_is_taken_when_it_is_whole(site: Site) -> None:
    site.write("a.log", '{"at": ', FRESH)
    site.run()
    site.append("a.log", '"2024-06-10T00:00:00"}\n', FRESH)
    assert seen(site) == {"a.log": ("grown", "a.log")}
    assert done(site, site.run()) == [("a.log", "take")]
    record = site.sightings()["a.log"].known
    assert record is not None
    assert (record.rows.read, record.rows.stored) == (1, 1)
