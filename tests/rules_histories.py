"""Histories of files, runs and upkeep: random ones, and short ones of which each breaks with one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from rules_play import (
    Collect,
    Compact,
    Configure,
    Delete,
    Expire,
    Fate,
    Operation,
    Restore,
    Vacuum,
)
from rules_world import (
    DATED,
    UNDATED,
    Advance,
    Append,
    Copy,
    CopyTruncate,
    Damage,
    Entry,
    Happening,
    Line,
    NewDated,
    NewUndated,
    Pack,
    PackBeside,
    Remove,
    Rename,
    Repair,
    Replace,
    Rotate,
)


def weighted(choices: Sequence[tuple[int, st.SearchStrategy[Any]]]) -> st.SearchStrategy[Any]:
    """One of the strategies, each as often as its weight says."""
    drawn = [strategy for weight, strategy in choices for _ in range(weight)]
    return st.integers(0, len(drawn) - 1).flatmap(drawn.__getitem__)


ago = st.sampled_from([0, 5, 20, 30, 50, 75, 100, 130, 170, 200])
line = st.builds(
    Line,
    st.one_of(ago, st.integers(-3, 24 * 8)),
    st.sampled_from([False, False, True]),
    st.sampled_from([0, 0, 0, -1, 1, -3]),
)
entries = st.builds(
    Entry,
    st.lists(line, min_size=1, max_size=3).map(tuple),
    st.sampled_from([0, 0, 0, 1, 2, 9, 30]),
    st.booleans(),
)
maybe_entries = weighted([(2, entries), (1, st.just(Entry()))])
which = st.integers(0, 3)
sources = st.sampled_from([(DATED, UNDATED)] * 4 + [(DATED,), (UNDATED,)])
traps = weighted([(2, st.none()), (1, st.tuples(st.integers(1, 4), st.sampled_from(Fate)))])
lengths = st.one_of(st.none(), st.integers(1, 72))
collects = weighted(
    [
        (3, st.builds(Collect, sources=sources, trap=traps)),
        (1, st.builds(Collect, st.just(24 * 9), trap=traps)),
        (3, st.builds(Collect, ago, lengths, sources, st.sampled_from([False, False, True]), traps)),
        (1, st.builds(Collect, st.none(), st.integers(-100, 12), sources, st.booleans())),
        (1, st.builds(Collect, sources=sources, hours_ahead=st.sampled_from([30, 24 * 40, -50]))),
    ]
)
deletes = weighted([(4, st.builds(Delete, ago, st.integers(1, 60))), (1, st.just(Delete()))])
new_dated = st.builds(NewDated, st.integers(0, 8), entries)
new_undated = st.builds(NewUndated, entries)
happenings = weighted(
    [
        (3, new_dated),
        (1, new_undated),
        (6, st.builds(Append, which, entries)),
        (2, st.builds(Replace, which, entries)),
        (2, st.builds(Rotate, which, maybe_entries)),
        (1, st.builds(CopyTruncate, which, maybe_entries)),
        (1, st.builds(Pack, which)),
        (1, st.builds(PackBeside, which)),
        (1, st.builds(Rename, which)),
        (1, st.builds(Remove, which)),
        (1, st.builds(Damage, which)),
        (1, st.builds(Repair, which)),
        (1, st.builds(Copy, which)),
        (4, st.builds(Advance, st.sampled_from([1, 5, 24, 30, 72, 100, -30]))),
    ]
)
# Something to collect, then rounds of happenings with a run or a deletion after each.
beginnings: st.SearchStrategy[list[Happening]] = st.builds(
    list.__add__, st.lists(new_dated, max_size=3), st.lists(new_undated, min_size=1, max_size=2)
)
# What was deleted is asked for again, by the window that it was deleted by or another that begins with it.
again = st.builds(
    lambda ago, hours, more: [Delete(ago, hours), Collect(ago, None if more is None else hours + more)],
    ago,
    st.integers(1, 60),
    st.sampled_from([0, 0, 24, None]),
)
spans = st.sampled_from([1, 2, 3, 5, 8, 10])
upkeeps = weighted(
    [
        (2, st.builds(Configure, st.one_of(st.none(), spans))),
        (
            3,
            st.builds(
                Expire,
                spans,
                st.sampled_from([0, 0, 24 * 40, 24 * 9, -50]),
                st.sampled_from([False, False, True]),
            ),
        ),
        (3, st.just(Compact())),
        (2, st.just(Vacuum())),
        (3, st.builds(Restore, st.integers(0, 5))),
    ]
)
# Something is too old, by what is configured or once; files of days at the edge come, and are collected.
ageing = st.builds(
    lambda waits, limit, come, run: [*waits, limit, *come, run],
    st.lists(st.builds(Advance, st.sampled_from([24, 100])), max_size=1),
    st.one_of(st.builds(Configure, spans), st.builds(Expire, spans)),
    st.lists(
        weighted([(3, new_dated), (1, new_undated), (1, st.builds(Append, which, entries))]), max_size=2
    ),
    weighted([(2, st.just(Collect())), (1, st.builds(Collect, ago)), (1, collects)]),
)
one = weighted([(6, collects), (1, deletes), (3, upkeeps)]).map(lambda operation: [operation])
rounds = st.tuples(st.lists(happenings, max_size=2), weighted([(6, one), (1, again), (3, ageing)]))
operations: st.SearchStrategy[list[Operation]] = st.builds(
    lambda beginning, rounds: [
        *beginning,
        *(operation for done, runs in rounds for operation in (*done, *runs)),
    ],
    beginnings,
    st.lists(rounds, min_size=3, max_size=7),
)


@st.composite
def divided_windows(draw: st.DrawFn) -> tuple[Collect, list[Collect]]:
    """A window, and windows that together are it, in any order."""
    start, length = draw(st.integers(30, 24 * 9)), draw(st.integers(1, 24 * 7))
    cuts = sorted({0, length, *draw(st.lists(st.integers(0, length), max_size=4))})
    overlaps = [draw(st.integers(0, 10)) for _ in cuts]
    parts = [
        Collect(start - max(0, begin - overlap), end - max(0, begin - overlap))
        for begin, end, overlap in zip(cuts, cuts[1:], overlaps, strict=False)
    ]
    return Collect(start, length), draw(st.permutations(parts))


# Short histories of which each breaks when one sentence about upkeep does not hold.
UPKEEPS: dict[str, list[Operation]] = {
    "merged files hold the same rows, and older versions the files before": [
        NewDated(1, Entry((Line(0), Line(3)))),
        Collect(),
        Append(0, Entry((Line(1), Line(5), Line(0, is_bad=True)))),
        Collect(),
        NewDated(1, Entry((Line(2),))),
        Collect(),
        Compact(),
        Collect(),
        Restore(2),
        Compact(),
        Restore(1),
    ],
    "a vacuum keeps what is there and what is known": [
        NewDated(3, Entry((Line(0), Line(0, is_bad=True)))),
        NewUndated(Entry((Line(0), Line(50)))),
        Collect(),
        Collect(24 * 2, 24, is_overwrite=True),
        NewDated(1, Entry((Line(0), Line(0, is_bad=True)))),
        Append(0, Entry((Line(0),))),
        Collect(),
        Delete(24 * 2, 30),
        Compact(),
        Vacuum(),
        Collect(),
        Restore(1),
        Restore(6),
        Append(1, Entry((Line(0),))),
        Collect(),
        Vacuum(),
        Vacuum(),
        Collect(24 * 8),
    ],
    "a restore forgets what came since, and it comes again": [
        NewDated(2, Entry((Line(0),))),
        Collect(),
        NewDated(1, Entry((Line(0), Line(0, is_bad=True)))),
        NewUndated(Entry((Line(10),))),
        Collect(),
        Restore(1),
        Collect(),
        Restore(2),
        Restore(1),
    ],
    "a clock that leapt ahead takes no more than a week too much": [
        NewUndated(Entry((Line(0),))),
        Collect(),
        Expire(10, hours_ahead=24 * 40),
        Collect(),
        Expire(10, hours_ahead=24 * 40, is_forced=True),
    ],
    "what expired is not wanted though nothing else was asked for": [
        NewDated(5, Entry((Line(0),))),
        Collect(24 * 8, 24 * 5),
        Expire(1),
        NewDated(5, Entry((Line(1),))),
        Collect(),
        Collect(24 * 8, 24 * 5),
    ],
    "rows of days that nobody asked for leave with the next collection": [
        NewDated(0, Entry((Line(0), Line(0, days_astray=-3)))),
        Collect(9),
        Configure(1),
        Collect(),
    ],
    "a file at the edge gives what stays, and is not read again for the rest": [
        NewDated(1, Entry((Line(0), Line(0, days_astray=-3), Line(0, is_bad=True)))),
        NewUndated(Entry((Line(30), Line(100)))),
        Configure(2),
        Collect(24 * 8),
        Append(0, Entry((Line(0), Line(0, days_astray=-3)))),
        Collect(),
        Advance(100),
        Collect(),
        Configure(None),
        Collect(24 * 12),
    ],
    "a restore knows again what expired since": [
        NewDated(5, Entry((Line(0),))),
        Collect(24 * 8),
        Expire(2),
        Compact(),
        Restore(1),
        Collect(),
        Expire(2),
        Vacuum(),
        Restore(5),
        Collect(),
    ],
}
