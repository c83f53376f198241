"""What is done about a unit that was read: committed, failed, or read again."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from tailpipe.collect.outcome import UnitFailed
from tailpipe.collect.plan import Action, PlannedArtifact, Rejects, Unit
from tailpipe.collect.settle import Limits, Verdict, judge
from tailpipe.collect.tally import UnitTally, add_facts
from tailpipe.collect.target import Target
from tailpipe.config.reject_limit import RejectLimit
from tailpipe.config.values import PartitionConfig
from tailpipe.lake.facts import ErrorFact, Fact, FileFact, ReadFact, RowsFact
from tailpipe.lake.folder_limit import MAX_INDEX_VALUES
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.records import Reading, RowCounts
from tailpipe.sources.artifact import Artifact
from tailpipe.tables.table import Table

NOW = datetime(2024, 6, 15, tzinfo=UTC)
DAY = date(2024, 6, 1)


TARGET = Target(PartitionConfig("app_log", "p"), Table("app_log", ()), ())


def planned(name: str) -> PlannedArtifact:
    return PlannedArtifact(0, Artifact(name, 100, "v1"), identity=name, known=known(name, RowCounts()))


def known(name: str, rows: RowCounts) -> KnownArtifact:
    return KnownArtifact("a", name, name, "v1", 100, None, (), rows=rows)


def make_tally(day: date | None, **read: RowCounts | str | None) -> UnitTally:
    """By artifact the rows that it gave, the sentence why it was not read, or None where nobody began with it."""
    tally = UnitTally(TARGET, Unit(day, 1, tuple(map(planned, read))), "run", NOW)
    for name, what in read.items():
        if isinstance(what, str):
            tally.errors[planned(name).key] = what
        elif what is not None:
            tally.by_artifact[planned(name).key] = what
            tally.rows += what
            tally.known["a", name] = known(name, what)
    return tally


def unit(day: date | None, *names: str) -> Unit:
    return Unit(day, 1, tuple(map(planned, names)))


FINE, BAD = RowCounts(10, 10), RowCounts(10, 8, rejected=2)


@pytest.mark.parametrize(
    ("tally", "verdict"),
    [
        (make_tally(DAY, a=FINE, b=BAD), Verdict(is_committed=True)),
        (make_tally(None, a=FINE, b=BAD), Verdict(is_committed=True)),
        (make_tally(DAY, a=FINE, b=None), Verdict(left=(unit(DAY, "a", "b"),))),
        (make_tally(None, a=FINE, b=None), Verdict(is_committed=True, left=(unit(None, "b"),))),
        (make_tally(None, a=None, b=None), Verdict(left=(unit(None, "a", "b"),))),
    ],
)
def test_what_was_read_is_committed_and_the_rest_read_again(tally: UnitTally, verdict: Verdict) -> None:
    assert judge(tally, Limits()) == verdict


def test_a_day_fails_as_a_whole() -> None:
    message = "b: damaged (and 1 more). Nothing of 2024-06-01 was stored; the day stays pending."
    failure = UnitFailed("2024-06-01", 3, message, day=DAY)
    assert judge(make_tally(DAY, a=FINE, b="b: damaged", c="c: gone"), Limits()) == Verdict(failed=(failure,))


def test_files_without_a_date_fail_alone_and_the_others_are_read_again() -> None:
    failure = UnitFailed("b", 1, "damaged. Nothing of it was stored.", location="b")
    verdict = judge(make_tally(None, a=FINE, b="b: damaged", c=None), Limits())
    assert verdict == Verdict(failed=(failure,), left=(unit(None, "a", "c"),))


def test_a_day_answers_for_the_rejects_of_earlier_runs_too() -> None:
    tally = make_tally(DAY, a=BAD)
    assert judge(tally, Limits(rejects=RejectLimit(count=2))).is_committed
    limits = Limits(
        lambda day: [known("a", FINE), known("z", RowCounts(5, 4, rejected=1))], RejectLimit(count=2)
    )
    (failure,) = judge(tally, limits).failed
    assert failure.day == DAY
    assert failure.message.startswith("3 of 15 records were rejected, which is more than max_rejects = 2.")


def test_files_answer_for_their_own_rejects() -> None:
    verdict = judge(make_tally(None, a=FINE, b=BAD), Limits(rejects=RejectLimit(count=1)))
    assert [failure.location for failure in verdict.failed] == ["b"]
    assert verdict.left == (unit(None, "a"),)


@pytest.mark.parametrize("day", [DAY, None])
def test_tasks_may_fill_too_many_folders_only_together(day: date | None) -> None:
    tally = make_tally(day, a=FINE)
    for number in range(MAX_INDEX_VALUES + 1):
        values = {"tp_index": str(number), "tp_date": "2024-06-01"}
        tally.files.append(FileFact("u", "f", 1, 1, values, "", ""))
    verdict = judge(tally, Limits(index="host"))
    assert 'tp_index "host" has more than' in verdict.failed[0].message
    assert verdict.left == ()


def test_counts_must_add_up() -> None:
    verdict = judge(make_tally(None, a=RowCounts(10, 9), b=None), Limits())
    assert "the counts do not add up: 10 rows in, 9 stored" in verdict.failed[0].message
    assert verdict.left == (unit(None, "b"),)


def retried(rejects: int, *facts: Fact) -> UnitTally:
    """What came of the rejects of one artifact that was moved: some were rejected at `x`, others at `y`."""
    before = known("x", RowCounts(10, 4, rejected=6))
    places = tuple(
        PlannedArtifact(0, Artifact(location, 100, "v1"), Action.RETRY, "x", known=before)
        for location in "xy"
    )
    unit = Unit(None, 1, places, Rejects(("f",), {0: rejects}))
    tally = UnitTally(TARGET, unit, "run", NOW)
    add_facts({unit.key: tally}, [(unit, place) for place in places], facts)
    return tally


READ = (ReadFact(0, Reading(2, 20)), ReadFact(0, Reading(1, 10)), ReadFact(1, Reading(3, 30)))
ROWS = (RowsFact(0, 1, 1, 0, 5, 5, 3, 5), RowsFact(1, 2, 0, 1, 7, 9, 7, 9))


def test_rejects_of_an_artifact_from_several_tasks_and_places_are_added_up() -> None:
    tally = retried(6, *READ, *ROWS)
    assert judge(tally, Limits()) == Verdict(is_committed=True)
    assert tally.rows == RowCounts(6, 3, 1, 1, 1)
    (after,) = tally.known.values()
    assert after.rows == RowCounts(10, 7, 1, 1, 1)


@pytest.mark.parametrize(
    ("rejects", "facts", "words"),
    [
        (7, (*READ, *ROWS), "the counts do not add up: 7 rejects to try, 6 rows in"),
        (6, (*READ, *ROWS, ErrorFact(1, "too many folders")), "too many folders"),
        (6, (*READ[:2], *ROWS), "y: the engine did not read it to its end"),
    ],
)
def test_rejects_stay_where_not_all_of_them_could_be_tried(
    rejects: int, facts: tuple[Fact, ...], words: str
) -> None:
    verdict = judge(retried(rejects, *facts), Limits())
    assert not verdict.is_committed
    assert verdict.failed[0].message.startswith(words)
    assert verdict.left == ()
