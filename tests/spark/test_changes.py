"""Logs that grow, move, are replaced, read again or taken out: the same on every engine, each record once."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
from datetime import timedelta

from installed import APP_TABLE, line
from pipelines import BY_PLACE, BY_RUN, NOW, Place, only
from tailpipe.lake.deletion import delete_window
from tailpipe.times import Window, parse_moment

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


def test_half_a_line_waits_for_its_end(place: Place) -> None:
    place.configure(UNDATED)
    log = place.logs / "app.log"
    log.parent.mkdir()
    whole = lines(0, 4)
    for written in (10, 70, 150, len(whole)):
        log.write_text(whole[:written])
        outcome = place.collect(start=JUNE)
        assert sizes(place) == list(range(whole[:written].count("\n")))
        assert outcome.rows.rejected == 0


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
    deleted = delete_window(place.data, "app_log", "one", window)
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
