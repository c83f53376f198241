"""What is known of the artifacts of a partition, as columns: a value exists only for those that somebody asks for."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.lake.manifest import KnownArtifact, Windows, kept_text, read_kept, read_window
from tailpipe.lake.manifest_columns import (
    SCHEMA,
    as_columns,
    as_values,
    microseconds,
)
from tailpipe.lake.manifest_file import Rows
from tailpipe.lake.row_folding import (
    KEYS,
    NARROWED,
    Numbers,
    hashes,
    last_rows,
    shared_codes,
    text_hashes,
    without_deleted,
)
from tailpipe.times import Window, without

Key = tuple[str, str]
# What says which times an artifact has rows of, and which of them are kept.
TIMES = ("source", "span", "kept", "oldest", "newest", "filtered", "stored", "outside", "rejected", "is_gone")
_HOUR = 3_600_000_000
_MANY = 1 << 62


class Artifacts:
    """Known artifacts, one row for each source and identity, in the order in which they were last seen to change.

    Rows are named by their numbers, from 0; a mask has one boolean for each. Columns are those of `manifest_columns`,
    and are read from the manifests when they are first asked for.
    """

    def __init__(self, parts: Iterable[Rows] = (), deletions: Iterable[tuple[int, Windows]] = ()) -> None:
        """Rows of manifests, oldest first; a deletion is of what the first so many of them say."""
        self._parts = tuple(parts)
        self._starts = np.cumsum([0, *(part.num_rows for part in self._parts)])
        self._deletions = tuple((int(self._starts[number]), windows) for number, windows in deletions)
        self._columns: dict[str, pa.ChunkedArray] = {}

    @classmethod
    def of_known(cls, known: Iterable[KnownArtifact]) -> Artifacts:
        """Of several with the same key the last one counts."""
        return cls([as_columns(tuple(known))])

    def __len__(self) -> int:
        return len(self._live)

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
        is_own, (live, place_hashes) = self.is_of(sources), self._folded
        chosen._folded = live[is_own], place_hashes[is_own]
        return chosen

    def select(self, names: Sequence[str]) -> pa.Table:
        """Columns of all rows."""
        self._load([name for name in names if name not in self._columns])
        return pa.table([self._columns[name] for name in names], schema=_schema(names))

    def take(self, which: Any) -> pa.Table:
        """Rows that a mask or their numbers choose, with all columns. Reads only groups of rows with any of them."""
        rows = self._live[which]
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        bounds = np.searchsorted(ordered, self._starts)
        parts = [
            part.take(ordered[begin:end] - start)
            for part, start, begin, end in zip(self._parts, self._starts, bounds, bounds[1:], strict=False)
            if begin < end
        ]
        back = np.argsort(order, kind="stable")
        return self._narrowed(_joined(parts, SCHEMA.names).take(back), rows)

    def is_of(self, sources: Container[str]) -> Numbers:
        """A mask of the artifacts of some sources."""
        codes, names = self._shared("source")
        return np.array([name in sources for name in names], bool)[codes]

    @cached_property
    def is_kept(self) -> Numbers:
        """A mask of the artifacts of which any rows are kept."""
        return ~self.keeps(())

    def keeps(self, windows: Windows) -> Numbers:
        """A mask of the artifacts of which rows are kept of exactly these windows."""
        codes, texts = self._shared("kept")
        text = kept_text(windows)
        found: Numbers = codes == (texts.index(text) if text in texts else len(texts))
        return found

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
        spans, texts = self._shared("span")
        which = self.is_kept & (spans >= 0)
        counts = np.bincount(spans[which], self._numbers("rejected")[which], len(texts))
        return {read_window(text): int(count) for text, count in zip(texts, counts, strict=True) if count}

    def emptied_by(self, windows: Windows) -> Numbers:
        """A mask of the artifacts of which rows are kept, but none outside of the windows."""
        codes, texts = self._shared("kept")
        return np.array([bool(text) and not without(read_kept(text), windows) for text in texts], bool)[codes]

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
        is_at_place = self.select(["identity"]).column(0).is_null().to_numpy()
        found = self.at(identities, is_own & is_at_place)
        numbers = {identity: number for number, identity in enumerate(identities)}
        elsewhere = np.flatnonzero(is_own & ~is_at_place)
        for row, identity in zip(elsewhere, self._texts("identity", elsewhere).to_pylist(), strict=True):
            if identity in numbers:
                found[numbers[identity]] = row
        return found

    def has_versions(self, rows: Numbers, versions: Sequence[str]) -> Numbers:
        """Whether each of the rows has the version beside it. A row of -1 has none."""
        found = np.zeros(len(rows), bool)
        is_there = rows >= 0
        known = self._texts("version", rows[is_there])
        found[is_there] = pc.equal(
            known, pa.array(versions, pa.string()).filter(pa.array(is_there))
        ).to_numpy()
        return found

    def locations(self, rows: Numbers) -> list[str]:
        found: list[str] = self._texts("location", rows).to_pylist()
        return found

    @property
    def _live(self) -> Numbers:
        """Which of all rows of the manifests count."""
        return self._folded[0]

    @cached_property
    def _folded(self) -> tuple[Numbers, Numbers]:
        """Rows that count, and the hashes of their locations."""
        keys = _joined([part.select(KEYS) for part in self._parts], KEYS)
        place_hashes = text_hashes(keys.column("location"))
        live = last_rows(keys, place_hashes)
        self._keep_columns(keys, live)
        return live, place_hashes[live]

    @cached_property
    def _places(self) -> tuple[Numbers, Numbers]:
        """Hashes of locations in order, and their rows, the last of a place behind the others."""
        place_hashes = self._folded[1]
        rows = np.argsort(place_hashes, kind="stable")
        return place_hashes[rows], rows

    @cached_property
    def shares_place(self) -> Numbers:
        """A mask that holds all artifacts that lie where another one does, or did when it was last seen."""
        known, rows = self._places
        is_again = known[1:] == known[:-1]
        found = np.zeros(len(self), bool)
        found[rows[1:][is_again]] = found[rows[:-1][is_again]] = True
        return found

    def _matches(self, locations: Sequence[str]) -> Iterator[tuple[Numbers, Numbers]]:
        """Numbers of locations with rows that lie there, each time one for a location, its last one first."""
        known, rows = self._places
        texts, wanted = pa.array(locations, pa.string()), hashes(locations)
        places, at = np.arange(len(texts)), np.searchsorted(known, wanted, side="right") - 1
        while True:
            is_there = at >= 0
            is_there[is_there] = known[at[is_there]] == wanted[places[is_there]]
            places, at = places[is_there], at[is_there]
            if not len(places):
                return
            found = rows[at]
            is_same = pc.equal(self._texts("location", found), texts.take(pa.array(places))).to_numpy()
            yield places[is_same], found[is_same]
            at = at - 1

    @cached_property
    def _alike(self) -> tuple[list[KnownArtifact], list[Numbers]]:
        facts = self.select(TIMES)
        groups = _groups(self._alike_codes(facts), len(self))
        first = pa.array([group[0] for group in groups], pa.int64())
        return as_values(facts.take(first)), groups

    def _alike_codes(self, facts: pa.Table) -> Iterator[Numbers]:
        """Times count by the hour, but for what is kept to the moment."""
        for name in ("source", "span", "kept"):
            yield self._shared(name)[0]
        oldest, newest = (facts.column(name).cast(pa.int64()) for name in ("oldest", "newest"))
        yield self._is_within(oldest, newest)
        for moments in (oldest, newest):
            hours = pc.fill_null(moments, 0).to_numpy() // _HOUR
            yield np.where(moments.is_null().to_numpy(), hours.min(initial=0) - 1, hours)
        for name in ("filtered", "stored", "outside", "rejected"):
            yield self._numbers(name) > 0
        yield facts.column("is_gone").to_numpy()

    def _is_within(self, oldest: Any, newest: Any) -> Numbers:
        """Whether all rows are within the first window that is kept."""
        codes, texts = self._shared("kept")
        firsts = [windows[0] if (windows := read_kept(text)) else None for text in texts]
        starts = np.array([microseconds(window.start) if window else _MANY for window in firsts], np.int64)
        ends = np.array([microseconds(window.end) if window else -_MANY for window in firsts], np.int64)
        is_after: Numbers = pc.fill_null(oldest, -_MANY).to_numpy() >= starts[codes]
        is_before: Numbers = pc.fill_null(newest, _MANY).to_numpy() < ends[codes]
        return is_after & is_before

    def _texts(self, name: str, rows: Numbers) -> Any:
        return self.select([name]).column(0).take(pa.array(rows))

    def _numbers(self, name: str) -> Numbers:
        found: Numbers = self.select([name]).column(0).to_numpy()
        return found

    def _shared(self, name: str) -> tuple[Numbers, list[str]]:
        return shared_codes(self.select([name]).column(0))

    def _load(self, names: Sequence[str]) -> None:
        live = self._live
        if any(name in NARROWED for name in names) and self._deletions:
            names = list(dict.fromkeys([*names, *NARROWED]))
        missing = [name for name in names if name not in self._columns]
        if missing:
            self._keep_columns(_joined([part.select(missing) for part in self._parts], missing), live)

    def _keep_columns(self, rows: pa.Table, live: Numbers) -> None:
        """One column after another, so that the memory of one is free before the next one needs it."""
        if len(live) < rows.num_rows or (np.diff(live) < 0).any():
            rows = rows.take(pa.array(live))
        if any(name in NARROWED for name in rows.column_names):
            rows = self._narrowed(rows, live)
        self._columns |= dict(zip(rows.column_names, rows.columns, strict=True))

    def _narrowed(self, rows: pa.Table, live: Numbers) -> pa.Table:
        for start, windows in self._deletions:
            is_older = live < start
            if is_older.any():
                rows = without_deleted(rows, is_older, windows)
        return rows


def _schema(names: Iterable[str]) -> pa.Schema:
    return pa.schema([SCHEMA.field(name) for name in names])


def _joined(parts: Sequence[pa.Table], names: Iterable[str]) -> pa.Table:
    schema = _schema(names)
    return pa.concat_tables([schema.empty_table(), *(part.replace_schema_metadata(None) for part in parts)])


def _groups(columns: Iterable[Numbers], count: int) -> list[Numbers]:
    """Rows that have the same values in all columns."""
    codes, values = np.zeros(count, np.int64), 1
    for column in columns:
        numbers = column.astype(np.int64)
        least = numbers.min(initial=0)
        size = int(numbers.max(initial=0)) - int(least) + 1
        if values * size > _MANY:
            codes = np.unique(codes, return_inverse=True)[1]
            values = count
        if values * size > _MANY:
            numbers, least = np.unique(numbers, return_inverse=True)[1], 0
            size = count
        codes, values = codes * size + (numbers - least), values * size
    order = np.argsort(codes, kind="stable")
    bounds = np.flatnonzero(np.diff(codes[order])) + 1
    return np.split(order, bounds) if count else []
