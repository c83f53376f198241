"""Logs that grow, move, are replaced, read again or taken out: the same on every engine, each record once."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
from datetime import date, timedelta

from installed import APP_TABLE, line
from pipelines import BY_PLACE, BY_RUN, NOW, Place, only
from tailpipe.lake.deletion import delete_window
from tailpipe.times import Window, day_window, parse_moment

DATED = (
    APP_TABLE
    + """
    partition "app_log" "one" {
      source "file" {
        paths       = ["LOGS"]
        file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`
      }
    }
    """
)
UNDATED = APP_TABLE + 'partition "app_log" "one" { source "file" { paths = ["LOGS"] } }\n'
JUNE = "2024-06-01"
DAY_11 = day_window(date(2024, 6, 11))


def lines(first: int, last: int, level: str = "info") -> str:
    """One line an hour, numbered in `size`."""
    start = parse_moment("2024-06-10", now=NOW)
    return "".join(
        line((start + timedelta(hours=number)).isoformat(), level, number) for number in range(first, last)
    )


def sizes(place: Place) -> list[int]:
    return [size for (size,) in only(place.rows("app_log"), "size")]


def test_a_growing_log_is_read_on_through_its_rotations(place: Place) -> None:
    place.configure(UNDATED)
    log = place.write("app.log", lines(0, 5))
    assert place.collect(start=JUNE).rows.read == 5
    place.write("app.log", lines(0, 8) + "broken\n" + lines(8, 9))
    assert place.collect(start=JUNE).rows.read == 5
    log.rename(place.logs / "app.log.1")
    place.write("app.log", lines(9, 12))
    assert place.collect(start=JUNE).rows.read == 3
    place.write("app.log.2.gz", (place.logs / "app.log.1").read_bytes() + lines(12, 14).encode())
    (place.logs / "app.log.1").unlink()
    shutil.copy(place.logs / "app.log", place.logs / "app.log.1")
    place.write("app.log", lines(14, 15))
    assert place.collect(start=JUNE).rows.read == 3
    assert place.collect(start=JUNE).rows.read == 0
    assert sizes(place) == list(range(15))
    (reject,) = place.rejects("app_log")
    assert (reject["file"], reject["position"], reject["raw"]) == ("app.log", 9, "broken")
    ids = only(place.rows("app_log"), "tp_id")
    assert len(set(ids)) == 15


def test_a_young_half_line_waits_for_its_end(place: Place) -> None:
    place.configure(UNDATED)
    log = place.write("app.log", "")
    whole = lines(0, 4)
    for written in (10, 70, 150, len(whole)):
        log.write_text(whole[:written])
        os.utime(log, (NOW.timestamp(), NOW.timestamp() - 1))
        outcome = place.collect(start=JUNE)
        assert sizes(place) == list(range(whole[:written].count("\n")))
        assert outcome.rows.rejected == 0


MEASURED = r"""
format "regex" "measured" { layout = `^(?P<at>\S+) (?P<level>\w+) (?P<size>\d+)` }
table "app_log" {
  format = format.regex.measured
  column "tp_timestamp" { source = "at" }
  column "size" { type = "int" }
}
partition "app_log" "one" {
  filter = "size <> 2"
  source "file" { paths = ["LOGS"] }
}
"""
MEASUREMENTS = (
    "2024-06-10T01:00:00Z info 123\n",
    "2024-06-11T02:00:00Z info 23456\n",
    "2024-06-10T03:00:00Z debug 9\n",
    "2024-06-10T04:00:00Z warn 2\n",
)


def holds_what_one_run_gives(place: Place, case: str) -> bool:
    anew = Place(place.folder, place.session, place.folder / f"anew {case}")
    anew.collect(start=JUNE)
    return (place.rows("app_log"), place.rejects("app_log")) == (
        anew.rows("app_log"),
        anew.rejects("app_log"),
    )


def test_what_a_half_line_gave_is_replaced_when_it_goes_on(place: Place) -> None:
    """Half of it may be a row with another value, a row that is filtered, or a reject."""
    place.configure(MEASURED)
    text = "".join(MEASUREMENTS)
    first, second, third = (len("".join(MEASUREMENTS[:count])) for count in (1, 2, 3))
    ends = (
        first - 3,
        first - 2,
        first - 1,
        first + 12,
        second - 5,
        second - 2,
        third,
        third + 24,
        len(text) - 1,
    )
    went_on = []
    for end in (*ends, len(text)):
        place.write("app.log", text[:end])
        outcome = place.collect(start=JUNE)
        went_on += [unit.went_on for partition in outcome.partitions for unit in partition.done]
        assert holds_what_one_run_gives(place, str(end))
        assert place.collect(start=JUNE).rows.read == 0
    assert went_on == [0, 1, 1, 0, 1, 1, 1, 0, 1, 0]
    assert sizes(place) == [123, 9, 23456]


def test_a_half_line_that_was_taken_is_known_wherever_its_file_goes(place: Place) -> None:
    place.configure(MEASURED)
    one, two, three, _ = MEASUREMENTS
    log = place.write("app.log", one + two[:27])
    place.collect(start=JUNE)
    log.rename(place.logs / "app.log.1")
    assert place.collect(start=JUNE).rows.read == 0
    place.write("app.log.1", one + two[:29])
    place.write("app.log", three[:-1])
    place.collect(start=JUNE)
    assert sizes(place) == [123, 9, 234]
    place.write("app.log.2.gz", one + two)
    (place.logs / "app.log.1").unlink()
    shutil.copy2(log, place.logs / "app.log.1")
    place.write("app.log", one)
    place.collect(start=JUNE)
    assert sizes(place) == [123, 123, 9, 23456]
    assert place.collect(start=JUNE).rows.read == 0


def test_a_half_line_that_was_taken_and_its_window(place: Place) -> None:
    """Deleted, outside the window, wanted again, overwritten: what is left of it goes when it goes on."""
    place.configure(MEASURED)
    one, two, _, _ = MEASUREMENTS
    place.write("app.log", one + two[:27])
    place.collect(start="2024-06-11", end="2024-06-11")
    assert sizes(place) == []
    place.write("app.log", one + two[:29])
    place.collect(start="2024-06-10", end="2024-06-10")
    assert sizes(place) == [123, 234]
    delete_window(place.lake, "app_log", "one", DAY_11)
    place.write("app.log", one + two[:30])
    place.collect(start="2024-06-10", end="2024-06-10")
    assert sizes(place) == [123]
    place.collect(start="2024-06-10", is_overwrite=True)
    assert sizes(place) == [123, 2345]
    place.write("app.log", one + two)
    place.collect()
    assert sizes(place) == [123, 23456]
    assert holds_what_one_run_gives(place, "in the end")


def test_a_changed_day_replaces_what_it_gave(place: Place) -> None:
    place.configure(DATED)
    place.write("2024-06-10.log", lines(0, 3) + "broken\n")
    place.write("2024-06-10-b.log", lines(3, 5) + "bad\n")
    place.collect(start=JUNE)
    place.write("2024-06-10.log", lines(5, 7, "new"))
    outcome = place.collect(start=JUNE)
    assert (outcome.rows.read, outcome.rows.stored) == (2, 2)
    assert sizes(place) == [3, 4, 5, 6]
    assert [reject["raw"] for reject in place.rejects("app_log")] == ["bad"]


def test_overwriting_gives_what_a_first_collection_gives(place: Place) -> None:
    place.configure(DATED)
    for day in (9, 10, 11):
        place.write(f"2024-06-{day:02d}.log", lines(24 * (day - 10), 24 * (day - 9)) + f"bad {day}\n")
    place.collect(start=JUNE)
    before = place.rows("app_log")
    assert place.collect(start="2024-06-10", is_overwrite=True).rows.read == 50
    assert place.rows("app_log") == before
    place.configure(DATED.replace('source "file"', 'filter = "size % 2 = 0"\n source "file"'))
    place.collect(start="2024-06-10", end="2024-06-10", is_overwrite=True)
    assert sizes(place) == [*range(-24, 0), *range(0, 24, 2), *range(24, 48)]
    assert [reject["raw"] for reject in place.rejects("app_log")] == ["bad 9", "bad 10", "bad 11"]


def test_what_was_deleted_comes_back_exactly(place: Place) -> None:
    place.configure(UNDATED)
    place.write("a.log", lines(0, 40) + "bad\n")
    place.write("b.log.gz", gzip.decompress(gzip.compress(lines(40, 60).encode())))
    place.collect(start=JUNE)
    before = place.rows("app_log", BY_RUN | BY_PLACE)
    window = Window(
        parse_moment("2024-06-10T06:30:00Z", now=NOW), parse_moment("2024-06-12T01:00:00Z", now=NOW)
    )
    deleted = delete_window(place.lake, "app_log", "one", window)
    assert deleted.rows == 42
    assert sizes(place) == [*range(7), *range(49, 60)]
    outcome = place.collect(start=JUNE)
    assert (outcome.rows.stored, outcome.rows.rejected) == (42, 0)
    assert place.rows("app_log", BY_RUN | BY_PLACE) == before
    assert [reject["raw"] for reject in place.rejects("app_log")] == ["bad"]


def test_equal_files_at_two_places_both_count(place: Place) -> None:
    place.configure(UNDATED)
    place.write("a.log", lines(0, 3))
    place.collect(start=JUNE)
    place.write("b.log", lines(0, 3))
    assert place.collect(start=JUNE).rows.stored == 3
    assert sizes(place) == [0, 0, 1, 1, 2, 2]


def test_sources_may_be_renamed_and_files_move_between_them(place: Place) -> None:
    """A source without a label has its name by its number: one that is put before it takes that name."""

    def configure(*folders: str) -> None:
        sources = "".join(f'source "file" {{ paths = ["LOGS/{folder}"] }}\n' for folder in folders)
        place.configure(f'{APP_TABLE} partition "app_log" "one" {{ {sources} }}')

    place.write("a/app.log", lines(0, 3))
    place.write("b/app.log", lines(3, 5))
    configure("a")
    place.collect(start=JUNE)
    configure("b", "a")
    assert place.collect(start=JUNE).rows.stored == 2
    place.write("a/app.log", lines(0, 3) + lines(5, 7) + "bad\n")
    assert place.collect(start=JUNE).rows.stored == 2
    (place.logs / "a" / "app.log").rename(place.logs / "b" / "old.log")
    assert place.collect(start=JUNE).rows.read == 0
    assert place.collect(start=JUNE, is_overwrite=True).rows.read == 8
    assert sizes(place) == list(range(7))
    assert len(place.rejects("app_log")) == 1
    assert len(set(only(place.rows("app_log"), "tp_id"))) == 7


def test_two_sources_over_one_folder_both_count(place: Place) -> None:
    source = 'source "file" { paths = ["LOGS"] }'
    place.configure(f'{APP_TABLE} partition "app_log" "one" {{ {source} }}')
    place.write("app.log", lines(0, 3))
    place.collect(start=JUNE)
    place.configure(f'{APP_TABLE} partition "app_log" "one" {{ {source}\n{source} }}')
    assert place.collect(start=JUNE).rows.stored == 3
    assert place.collect(start=JUNE).rows.stored == 0


def test_an_archive_that_got_another_entry_gives_each_record_once(place: Place) -> None:
    place.configure(UNDATED)
    for count in (1, 2):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for number in range(count):
                content = lines(3 * number, 3 * number + 3).encode()
                entry = tarfile.TarInfo(f"{number}.log")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        place.write("logs.tar", buffer.getvalue())
        place.collect(start=JUNE)
    assert sizes(place) == list(range(6))
