"""What is known of the artifacts of a partition, as columns: a value exists only for those that somebody asks for."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from tailpipe.arrow import np, pa, pc
from tailpipe.lake.columns import Numbers
from tailpipe.lake.manifest import KnownArtifact, Windows, read_kept, read_window
from tailpipe.lake.manifest_columns import SCHEMA, as_values
from tailpipe.lake.manifest_file import Rows
from tailpipe.lake.row_folding import (
    KEYS,
    NARROWED,
    hashes,
    last_rows,
    shared_codes,
    taken,
    text_hashes,
    without_deleted,
)
from tailpipe.lake.row_groups import TIMES, alike_rows
from tailpipe.times import Window, without

Key = tuple[str, str]


class Artifacts:
    """Known artifacts, one row for each source and identity, in the order in which they were last seen to change.

    Rows are named by their numbers, from 0; a mask has one boolean for each. Columns are those of `manifest_columns`,
    and are read from the manifests when they are asked for.
    """

    def __init__(self, parts: Iterable[Rows] = (), deletions: Iterable[tuple[int, Windows]] = ()) -> None:
        """Rows of manifests, oldest first; a deletion is of what the first so many of them say."""
        self._parts = tuple(parts)
        self._starts = np.cumsum([0, *(part.num_rows for part in self._parts)])
        self._deletions = tuple((int(self._starts[number]), windows) for number, windows in deletions)

    def __len__(self) -> int:
        return len(self._folded.live)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Artifacts) and self.known() == other.known()

    @property
    def num_rows(self) -> int:
        return len(self)

    def known(self, which: Any = None) -> list[KnownArtifact]:
        """Values of the rows that a mask or their numbers choose, else of all. Reads all their columns."""
        return as_values(self.take(np.arange(len(self)) if which is None else which))

    def of(self, source: str, identity: str) -> KnownArtifact | None:
        rows = self.named(source, [identity])
        return self.known(rows)[0] if rows[0] >= 0 else None

    def of_sources(self, sources: Container[str]) -> Artifacts:
        """Those of some sources, as if there were no others."""
        chosen = Artifacts()
        chosen._parts, chosen._starts, chosen._deletions = self._parts, self._starts, self._deletions
        chosen._folded = self._folded.taken(np.flatnonzero(self.is_of(sources)))
        return chosen

    def select(self, names: Sequence[str]) -> pa.Table:
        """Columns of all rows. Those of `KEYS` are at hand; others are read each time."""
        missing = [name for name in names if name not in KEYS]
        if self._deletions and any(name in NARROWED for name in missing):
            missing = list(dict.fromkeys([*missing, *NARROWED]))
        found = self._folded.keys
        if missing:
            rows = _joined([part.select(missing) for part in self._parts], missing)
            rows = rows if self._folded.is_all else taken(rows, self._folded.live)
            for name, column in zip(missing, self._narrowed(rows, self._folded.live).columns, strict=True):
                found = found.append_column(name, column)
        return found.select(names)

    def take(self, which: Any) -> pa.Table:
        """Rows that a mask or their numbers choose, with all columns. Reads only groups of rows with any of them."""
        rows = self._folded.live[which]
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        bounds = np.searchsorted(ordered, self._starts)
        parts = [
            part.take(ordered[begin:end] - start)
            for part, start, begin, end in zip(self._parts, self._starts, bounds, bounds[1:], strict=False)
            if begin < end
        ]
        back = np.argsort(order, kind="stable")
        return self._narrowed(_joined(parts, SCHEMA.names).take(pa.array(back)), rows)

    def is_of(self, sources: Container[str]) -> Numbers:
        """A mask of the artifacts of some sources."""
        codes, names = shared_codes(self._folded.keys.column("source"))
        return np.array([name in sources for name in names], bool)[codes]

    @cached_property
    def is_kept(self) -> Numbers:
        """A mask of the artifacts of which any rows are kept."""
        return self.keeps_all(())

    def keeps_all(self, windows: Windows) -> Numbers:
        """A mask of the artifacts of which any rows are kept, and all of these windows."""
        codes, kept = self._kept
        return np.array([bool(text) and not without(windows, read_kept(text)) for text in kept], bool)[codes]

    def emptied_by(self, windows: Windows) -> Numbers:
        """A mask of the artifacts of which rows are kept, but none outside of the windows."""
        codes, kept = self._kept
        return np.array([bool(text) and not without(read_kept(text), windows) for text in kept], bool)[codes]

    @cached_property
    def is_waiting(self) -> Numbers:
        """A mask of the artifacts whose last line waits for its end."""
        return self._numbers("waiting_bytes") > 0

    @cached_property
    def is_rejected(self) -> Numbers:
        """A mask of the artifacts with rejects."""
        return self._numbers("rejected") > 0

    def rejects_by_span(self) -> dict[Window, int]:
        """Counts of rejects of artifacts with a date of which any rows are kept."""
        codes, spans = shared_codes(self.select(["span"]).column(0))
        which = self.is_kept & (codes >= 0)
        counts = np.bincount(codes[which], self._numbers("rejected")[which], len(spans))
        return {read_window(span): int(count) for span, count in zip(spans, counts, strict=True) if count}

    def where(self, holds: Callable[[KnownArtifact], bool]) -> Numbers:
        """A mask of the artifacts for which it holds. It may look at `TIMES` alone; see `alike`."""
        found = np.zeros(len(self), bool)
        for known, rows in self.alike():
            if holds(known):
                found[rows] = True
        return found

    def alike(self) -> Iterator[tuple[KnownArtifact, Numbers]]:
        """Rows that have the same answer to each question of `extent`: one of them, and all their numbers in order.

        The value has no more than `TIMES`, exact for the first of the rows.
        """
        return zip(*self._alike, strict=True)

    def newest_end(self, source: str, now: datetime) -> datetime | None:
        """The last end of a span that has begun, of artifacts of the source of which rows are kept."""
        ends = (
            known.span.end
            for known, _ in self.alike()
            if known.source == source and known.kept and known.span and known.span.start <= now
        )
        return max(ends, default=None)

    def at(self, locations: Sequence[str], among: Numbers | None = None) -> Numbers:
        """For each location the last row there, of those in the mask; -1 where there is none."""
        found = np.full(len(locations), -1)
        for places, rows in self._matches(locations):
            is_first = found[places] < 0
            if among is not None:
                is_first &= among[rows]
            found[places[is_first]] = rows[is_first]
        return found

    def all_at(self, locations: Sequence[str]) -> Numbers:
        """A mask of all rows whose artifacts lie at one of the locations."""
        found = np.zeros(len(self), bool)
        for _, rows in self._matches(locations):
            found[rows] = True
        return found

    def named(self, source: str, identities: Sequence[str]) -> Numbers:
        """For each identity the row of the source's artifact; -1 where there is none."""
        is_own = self.is_of((source,))
        is_at_place = self._folded.keys.column("identity").is_null().to_numpy()
        found = self.at(identities, is_own & is_at_place)
        places = {identity: place for place, identity in enumerate(identities)}
        elsewhere = np.flatnonzero(is_own & ~is_at_place)
        for row, identity in zip(elsewhere, self._texts("identity", elsewhere).to_pylist(), strict=True):
            if identity in places:
                found[places[identity]] = row
        return found

    def has_versions(self, rows: Numbers, versions: Sequence[str]) -> Numbers:
        """Whether each of the rows has the version beside it. A row of -1 has none."""
        found = np.zeros(len(rows), bool)
        is_there = rows >= 0
        wanted = pa.array(versions, pa.string()).filter(pa.array(is_there))
        found[is_there] = pc.equal(self._texts("version", rows[is_there]), wanted).to_numpy()
        return found

    def locations(self, rows: Numbers) -> list[str]:
        found: list[str] = self._texts("location", rows).to_pylist()
        return found

    @cached_property
    def shares_place(self) -> Numbers:
        """A mask that holds all artifacts that lie where another one does, or did when it was last seen."""
        known, rows = self._places
        is_again = known[1:] == known[:-1]
        found = np.zeros(len(self), bool)
        found[rows[1:][is_again]] = found[rows[:-1][is_again]] = True
        return found

    @cached_property
    def _folded(self) -> _Folded:
        keys = _joined([part.select(KEYS) for part in self._parts], KEYS)
        place_hashes = text_hashes(keys.column("location"))
        live = last_rows(keys, place_hashes)
        everything = _Folded(np.arange(len(place_hashes)), keys, place_hashes, is_all=True)
        return everything if np.array_equal(live, everything.live) else everything.taken(live)

    @cached_property
    def _places(self) -> tuple[Numbers, Numbers]:
        """Hashes of locations in order, and their rows, the last of a place behind the others."""
        place_hashes = self._folded.place_hashes
        rows = np.argsort(place_hashes, kind="stable")
        return place_hashes[rows], rows

    @cached_property
    def _kept(self) -> tuple[Numbers, list[str]]:
        return shared_codes(self.select(["kept"]).column(0))

    @cached_property
    def _alike(self) -> tuple[list[KnownArtifact], list[Numbers]]:
        facts = self.select(TIMES)
        groups = alike_rows(facts)
        return as_values(taken(facts, np.array([rows[0] for rows in groups], np.int64))), groups

    def _matches(self, locations: Sequence[str]) -> Iterator[tuple[Numbers, Numbers]]:
        """Numbers of locations with rows that lie there, each time one for a location, its last one first."""
        known, rows = self._places
        listed, wanted = pa.array(locations, pa.string()), hashes(locations)
        # In the order of their hashes they are found much faster.
        places = np.argsort(wanted)
        at = np.searchsorted(known, wanted[places], side="right") - 1
        while True:
            is_there = at >= 0
            is_there[is_there] = known[at[is_there]] == wanted[places[is_there]]
            places, at = places[is_there], at[is_there]
            if not len(places):
                return
            found = rows[at]
            is_same = pc.equal(self._texts("location", found), listed.take(pa.array(places))).to_numpy()
            yield places[is_same], found[is_same]
            at = at - 1

    def _texts(self, name: str, rows: Numbers) -> Any:
        return taken(self._folded.keys.select([name]), rows).column(0)

    def _numbers(self, name: str) -> Numbers:
        found: Numbers = self.select([name]).column(0).to_numpy()
        return found

    def _narrowed(self, rows: pa.Table, live: Numbers) -> pa.Table:
        if any(name in NARROWED for name in rows.column_names):
            for start, windows in self._deletions:
                is_older = live < start
                if is_older.any():
                    rows = without_deleted(rows, is_older, windows)
        return rows


@dataclass(frozen=True)
class _Folded:
    """`live` are the numbers of rows that count among all of the manifests; the rest is theirs."""

    live: Numbers
    keys: pa.Table
    place_hashes: Numbers
    is_all: bool

    def taken(self, rows: Numbers) -> _Folded:
        return _Folded(self.live[rows], taken(self.keys, rows), self.place_hashes[rows], is_all=False)


def _joined(parts: Sequence[pa.Table], names: Iterable[str]) -> pa.Table:
    if not parts:
        return pa.schema([SCHEMA.field(name) for name in names]).empty_table()
    return pa.concat_tables(part.replace_schema_metadata(None) for part in parts).unify_dictionaries()
