"""Manifests folded into what is known of a partition: upserts, deletions, failures, snapshots."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.lake.manifest import (
    Failure,
    KnownArtifact,
    Windows,
)
from tailpipe.lake.manifest_file import Manifest
from tailpipe.lake.state import PartitionState, fold
from tailpipe.lake.transaction import Change, manifest_of, snapshot
from tailpipe.records import RowCounts
from tailpipe.times import Window, day_window, merge

START = datetime(2024, 6, 1, tzinfo=UTC)
ALWAYS = Window(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))


def june(first: int, last: int) -> Window:
    """From midnight of the first day to midnight of the last."""
    return Window(START + timedelta(days=first - 1), START + timedelta(days=last - 1))


def record(
    identity: str, location: str | None = None, kept: Windows = (ALWAYS,), source: str = "file", rows: int = 1
) -> KnownArtifact:
    span = day_window(START.date())
    counts = RowCounts(rows, rows)
    return KnownArtifact(source, identity, location or identity, "1", 10, span, kept, rows=counts)


def failure(label: str) -> Failure:
    day = date.fromisoformat(label) if label.startswith("2024") else None
    return Failure(label, f"{label} is broken", 1, START, "run", day, None if day else label)


def unit(key: str = "2024-06-01", **more: object) -> Manifest:
    return manifest_of(Change("p", "collect", key, "run", **more))  # type: ignore[arg-type]


def folded(*manifests: Manifest) -> PartitionState:
    return fold(len(manifests), manifests)


def facts(state: PartitionState) -> dict[str, Any]:
    """All that two states of the same partition have in common, whatever was read for them."""
    return vars(state) | {"covered": state.covered}


def known_of(state: PartitionState, identity: str) -> KnownArtifact:
    known = state.artifacts.of("file", identity)
    assert known is not None
    return known


def test_nothing_is_known_of_a_partition_without_manifests() -> None:
    assert facts(folded()) == facts(PartitionState())
    assert folded().is_new


def test_the_last_record_of_an_identity_counts_and_comes_last() -> None:
    moved = record("a", "a.1", rows=2)
    state = folded(unit(artifacts=(record("a"), record("b"))), unit(artifacts=(moved,)))
    assert state.artifacts.known() == [record("b"), moved]
    assert (state.version, state.is_new) == (2, False)


def test_sources_know_their_artifacts_apart() -> None:
    first, second = record("a"), record("a", source="other")
    known = folded(unit(artifacts=(first,)), unit(artifacts=(second,))).artifacts
    assert (known.of("file", "a"), known.of("other", "a"), known.of("third", "a")) == (first, second, None)


def test_windows_are_merged_by_source() -> None:
    state = folded(
        unit(asked={"file": (june(1, 3),)}, covered={"file": (june(1, 2),)}),
        unit(asked={"file": (june(3, 5),), "other": (june(9, 10),)}),
    )
    assert state.asked == {"file": (june(1, 5),), "other": (june(9, 10),)}
    assert state.covered == {"file": (june(1, 2),)}


def test_deleting_a_window_takes_it_out_of_everything() -> None:
    state = folded(
        unit(
            artifacts=(record("in", kept=(june(2, 3),)), record("over", kept=(june(1, 9),)), record("out")),
            asked={"file": (june(1, 9),)},
            covered={"file": (june(1, 9),)},
        ),
        manifest_of(Change("p", "delete", "", "run", deleted=(june(2, 4),))),
    )
    assert state.asked == state.covered == {"file": (june(1, 2), june(4, 9))}
    assert {known.identity: known.kept for known in state.artifacts.known()} == {
        "in": (),
        "over": (june(1, 2), june(4, 9)),
        "out": (Window(ALWAYS.start, june(2, 2).start), Window(june(4, 4).end, ALWAYS.end)),
    }


def test_no_time_is_covered_of_which_an_artifact_lacks_rows() -> None:
    """Unless it is gone. What was claimed counts again when the rows are kept."""
    rows = msgspec.structs.replace(record("a"), oldest=june(3, 4).start, newest=june(4, 5).start)
    run = manifest_of(Change("p", "run", "", "run", covered={"file": (june(1, 9),), "other": (june(1, 9),)}))
    delete = manifest_of(Change("p", "delete", "", "run", deleted=(june(2, 5),)))
    history = (unit(artifacts=(rows,)), delete, run)
    lacking = folded(*history)
    assert lacking.covered == {
        "file": (june(1, 3), Window(june(4, 5).start + timedelta(hours=1), june(1, 9).end)),
        "other": (june(1, 9),),
    }
    assert lacking.claimed["file"] == (june(1, 9),)
    gone = msgspec.structs.replace(known_of(lacking, "a"), is_gone=True)
    for later in (gone, rows):
        assert folded(*history, unit(artifacts=(later,))).covered["file"] == (june(1, 9),)
    whole = folded(*history, unit(artifacts=(rows,)))
    short = fold(4, [snapshot("p", "run", lacking), unit(artifacts=(rows,))])
    assert short.covered == whole.covered


def test_of_an_artifact_of_which_all_is_deleted_the_times_stay_known() -> None:
    day = day_window(START.date())
    rows = msgspec.structs.replace(
        record("a", kept=(day,), rows=3), rows=RowCounts(4, 3, rejected=1), oldest=day.start, newest=day.end
    )
    delete = manifest_of(Change("p", "delete", "", "run", deleted=(day,)))
    state = folded(unit(artifacts=(rows,)), delete)
    left = known_of(state, "a")
    assert (left.kept, left.rows) == ((), RowCounts(3, 3))
    assert (left.oldest, left.newest) == (day.start, day.end)
    assert state.is_new


def test_rows_are_counted_as_outside_when_all_of_them_are_deleted() -> None:
    day = day_window(START.date())
    rows = msgspec.structs.replace(record("a", rows=3), first=day.start, last=day.end - timedelta(hours=1))
    delete = Change("p", "delete", "", "run", deleted=(day,))
    gone = known_of(folded(unit(artifacts=(rows,)), manifest_of(delete)), "a")
    assert (gone.rows, gone.first, gone.last) == (RowCounts(3, outside=3), None, None)
    wider = msgspec.structs.replace(rows, last=day.end)
    some = known_of(folded(unit(artifacts=(wider,)), manifest_of(delete)), "a")
    assert (some.rows.stored, some.first, some.last) == (3, day.start, day.end)


def test_reject_files_come_and_go() -> None:
    state = folded(
        unit(rejects=("a", "b")),
        unit(rejects=("c",), removed_rejects=("a",)),
        unit(rejects=("a",), removed_rejects=("b",)),
    )
    assert state.reject_files == ("c", "a")


def test_a_failure_is_made_good_by_its_unit_or_its_artifact() -> None:
    failed = manifest_of(
        Change(
            "p", "run", "", "run", failures=(failure("2024-06-01"), failure("a.log"), failure("2024-06-05"))
        )
    )
    assert folded(failed).failures == failed.header.failures
    later = folded(failed, unit("2024-06-01"), unit("undated-1", artifacts=(record("x", "a.log"),)))
    assert later.failures == (failure("2024-06-05"),)


def test_a_failure_is_made_good_by_a_run_that_covers_its_day() -> None:
    """The file that broke a day may be gone: a run that looked and found nothing wrong settles it."""
    failed = manifest_of(Change("p", "run", "", "run", failures=(failure("2024-06-05"), failure("a.log"))))
    missed = manifest_of(Change("p", "run", "", "run", covered={"file": (june(1, 5),)}))
    assert folded(failed, missed).failures == (failure("2024-06-05"),)
    settled = manifest_of(Change("p", "run", "", "run", covered={"file": (june(1, 6),)}))
    assert folded(failed, settled).failures == ()


def test_a_day_that_fails_again_stays_with_its_last_message() -> None:
    again = msgspec.structs.replace(failure("2024-06-05"), message="still broken", run="later")
    state = folded(
        manifest_of(Change("p", "run", "", "run", failures=(failure("2024-06-05"),))),
        manifest_of(Change("p", "run", "", "later", covered={"file": (june(1, 5),)}, failures=(again,))),
    )
    assert state.failures == (again,)


def test_a_day_that_fails_is_not_covered_any_more() -> None:
    """Only of the sources that were collected then; a run that covers the day makes it whole again."""
    whole = manifest_of(
        Change("p", "run", "", "run", covered={"file": (june(1, 9),), "other": (june(1, 9),)})
    )
    failed = manifest_of(
        Change(
            "p",
            "run",
            "",
            "later",
            asked={"file": (june(1, 9),)},
            covered={"file": (june(1, 5), june(6, 9))},
            failures=(failure("2024-06-05"),),
        )
    )
    assert folded(whole, failed).covered == {"file": (june(1, 5), june(6, 9)), "other": (june(1, 9),)}
    assert folded(whole, failed, whole).covered["file"] == (june(1, 9),)


def test_a_snapshot_stands_for_all_before_it() -> None:
    history = (
        unit(artifacts=(record("a"), record("b", kept=(june(1, 2),))), asked={"file": (june(1, 9),)}),
        manifest_of(Change("p", "run", "", "run", failures=(failure("2024-06-05"),), rejects=("x",))),
    )
    state = folded(*history)
    short = fold(2, [snapshot("p", "run", state)])
    assert facts(short) == facts(state)


names = st.sampled_from("abc")
parts = st.lists(
    st.tuples(st.integers(1, 9), st.integers(1, 9)).map(lambda pair: june(min(pair), max(pair) + 1)),
    min_size=1,
    max_size=2,
).map(merge)
by_source = st.dictionaries(st.sampled_from(["file", "other"]), parts, max_size=2)
changes = st.one_of(
    st.builds(
        lambda records, asked, rejects, removed: unit(
            f"2024-06-0{len(records) + 1}",
            artifacts=tuple(records),
            asked=asked,
            rejects=rejects,
            removed_rejects=removed,
        ),
        st.lists(st.builds(record, names, names, parts), max_size=3, unique_by=lambda one: one.key),
        by_source,
        st.sets(names, max_size=2).map(sorted).map(tuple),
        st.sets(names, max_size=2).map(sorted).map(tuple),
    ),
    st.builds(
        lambda covered, labels: manifest_of(
            Change("p", "run", "", "run", covered=covered, failures=tuple(map(failure, labels)))
        ),
        by_source,
        st.lists(st.sampled_from(["2024-06-01", "2024-06-02", "a"]), max_size=2, unique=True),
    ),
    st.builds(lambda deleted: manifest_of(Change("p", "delete", "", "run", deleted=deleted)), parts),
)


@given(before=st.lists(changes, max_size=6), after=st.lists(changes, max_size=6))
def test_a_snapshot_at_any_point_changes_nothing(before: list[Manifest], after: list[Manifest]) -> None:
    whole = fold(9, [*before, *after])
    short = fold(9, [snapshot("p", "run", fold(9, before)), *after])
    assert facts(short) == facts(whole)


@given(history=st.lists(changes, max_size=6), windows=parts)
def test_nothing_is_left_of_a_deleted_window(history: list[Manifest], windows: Windows) -> None:
    state = folded(*history, manifest_of(Change("p", "delete", "", "run", deleted=windows)))
    known = [*state.asked.values(), *state.covered.values(), *(one.kept for one in state.artifacts.known())]
    assert not any(part.overlaps(gone) for parts in known for part in parts for gone in windows)


def test_what_expired_stays_so_until_it_is_asked_for() -> None:
    asked = unit(asked={"file": (june(1, 20),)}, failures=(failure("2024-06-02"), failure("2024-06-12")))
    expiry = unit("", deleted=(Window(ALWAYS.start, june(1, 10).end),), expired=(june(1, 10),))
    state = folded(asked, expiry)
    assert (state.expired, state.asked) == ((june(1, 10),), {"file": (june(10, 20),)})
    assert [each.label for each in state.failures] == ["2024-06-12"]
    again = folded(asked, expiry, unit("2024-06-05", asked={"file": (june(5, 7),)}))
    assert again.expired == (june(1, 5), june(7, 10))
    later = folded(asked, expiry, unit("", expired=(june(10, 12),)))
    assert later.expired == (june(1, 12),)


def test_a_snapshot_keeps_what_expired() -> None:
    state = folded(
        unit(asked={"file": (june(1, 20),)}), unit("", deleted=(june(1, 9),), expired=(june(1, 9),))
    )
    assert fold(2, [snapshot("p", "run", state)]).expired == state.expired == (june(1, 9),)
