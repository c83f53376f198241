"""Rows of manifests, one after another, become what is known: later ones replace earlier ones, deletions narrow them.

Texts are compared where their hashes meet. Python's hashes have a secret of the process, so that nobody can make names
whose hashes meet on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tailpipe.arrow import np, pa, pc
from tailpipe.lake.columns import Numbers
from tailpipe.lake.manifest import Windows, kept_text, read_kept
from tailpipe.lake.manifest_columns import microseconds
from tailpipe.times import merge, without

KEYS = ("source", "identity", "location", "version")
# What a deletion changes of a row.
NARROWED = ("kept", "rows", "stored", "outside", "rejected", "first", "last")
_AT_ONCE = 1 << 16
_MIXER = 0x9E3779B97F4A7C15
_NEVER = -(1 << 63)


def last_rows(keys: pa.Table, place_hashes: Numbers) -> Numbers:
    """Of each source and identity the last row, in the order in which places and versions last changed."""
    return _last_rows(keys, _key_hashes(keys, place_hashes))


def taken(rows: pa.Table, which: Numbers) -> pa.Table:
    """Rows by their numbers. Arrow's own way joins all chunks of a text first, and needs the memory of it twice."""
    batches = rows.to_batches()
    starts = np.cumsum([0, *map(len, batches)])
    parts = [
        _taken_from(batches, starts, which[start : start + _AT_ONCE])
        for start in range(0, len(which), _AT_ONCE)
    ]
    return pa.concat_tables(parts) if parts else rows.slice(0, 0)


def _taken_from(batches: Sequence[pa.RecordBatch], starts: Numbers, which: Numbers) -> pa.Table:
    number = np.searchsorted(starts, which, side="right") - 1
    order = np.argsort(number, kind="stable")
    numbers, begins = np.unique(number[order], return_index=True)
    parts = [
        batches[number].take(pa.array(which[places] - starts[number]))
        for number, places in zip(numbers, np.split(order, begins[1:]), strict=True)
    ]
    return pa.Table.from_batches(parts).take(pa.array(np.argsort(order, kind="stable")))


def text_hashes(texts: pa.ChunkedArray) -> Numbers:
    parts = [
        chunk.slice(start, _AT_ONCE) for chunk in texts.chunks for start in range(0, len(chunk), _AT_ONCE)
    ]
    return np.concatenate([np.empty(0, np.int64), *(hashes(part.to_pylist()) for part in parts)])


def hashes(texts: Iterable[str]) -> Numbers:
    return np.fromiter(map(hash, texts), np.int64)


def shared_codes(column: pa.ChunkedArray) -> tuple[Numbers, list[str]]:
    """Rows as numbers of texts, -1 where there is none, and the texts."""
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return np.empty(0, np.int64), []
    codes = pa.chunked_array([chunk.indices for chunk in column.chunks]).fill_null(-1).to_numpy()
    return codes, column.chunk(0).dictionary.to_pylist()


def without_deleted(rows: pa.Table, is_older: Numbers, deleted: Windows) -> pa.Table:
    """Rows with all columns that a deletion narrows. Those that are not older than it stay as they are.

    Where the windows hold all rows of an artifact, none are stored; else nobody has counted how many still are.
    """
    before, kept = shared_codes(rows.column("kept"))
    left = [kept_text(without(read_kept(text), deleted)) for text in kept]
    all_texts = list(dict.fromkeys([*kept, *left]))
    places = {text: place for place, text in enumerate(all_texts)}
    narrowed = np.array([places[text] for text in left], np.int32)
    after = np.where(is_older, narrowed[before], before)
    is_touched = after != before
    is_emptied = is_touched & (after == places.get("", -1))
    is_bare = is_touched & _is_inside(rows, deleted)
    none = pa.scalar(None, rows.schema.field("first").type)
    changed = {
        "kept": pa.DictionaryArray.from_arrays(pa.array(after), pa.array(all_texts)),
        "rows": _where(is_emptied, pc.subtract(rows.column("rows"), rows.column("rejected")), rows, "rows"),
        "rejected": _where(is_emptied, 0, rows, "rejected"),
        "outside": _where(is_bare, pc.add(rows.column("outside"), rows.column("stored")), rows, "outside"),
        "stored": _where(is_bare, 0, rows, "stored"),
        "first": _where(is_bare, none, rows, "first"),
        "last": _where(is_bare, none, rows, "last"),
    }
    return pa.table({name: changed.get(name, rows.column(name)) for name in rows.column_names})


def _where(mask: Numbers, values: Any, rows: pa.Table, name: str) -> Any:
    return pc.if_else(pa.array(mask), values, rows.column(name))


def _is_inside(rows: pa.Table, deleted: Windows) -> Numbers:
    """Whether one of the windows holds the times of all stored rows."""
    first = rows.column("first").cast(pa.int64()).fill_null(_NEVER).to_numpy()
    last = rows.column("last").cast(pa.int64()).fill_null(-(_NEVER + 1)).to_numpy()
    found = np.zeros(rows.num_rows, bool)
    for window in merge(deleted):
        start, end = microseconds(window.start), microseconds(window.end)
        found |= (first >= start) & (last < end)
    return found


def _key_hashes(keys: pa.Table, place_hashes: Numbers) -> Numbers:
    found = place_hashes.copy()
    is_named = keys.column("identity").is_valid()
    found[is_named.to_numpy()] = text_hashes(keys.column("identity").filter(is_named))
    codes, sources = shared_codes(keys.column("source"))
    mixed = np.array([hash(source) * _MIXER & (1 << 64) - 1 for source in sources], np.uint64)
    return found ^ mixed.view(np.int64)[codes]


def _last_rows(keys: pa.Table, key_hashes: Numbers) -> Numbers:
    order = np.argsort(key_hashes, kind="stable")
    ordered = key_hashes[order]
    is_again = np.zeros(len(order), bool)
    is_again[1:] = ordered[1:] == ordered[:-1]
    if not is_again.any():
        return np.arange(len(order))
    again = np.flatnonzero(is_again)
    before, after = (_named(taken(keys, order[places])) for places in (again - 1, again))
    if not _are_equal(before, after, ("source", "identity")).all():
        return _last_rows(keys, _key_numbers(keys))
    is_change = ~is_again
    is_change[again] = ~_are_equal(before, after, ("location", "version"))
    # Each key begins with a change, so that none of another key is the last one.
    last_change = np.maximum.accumulate(np.where(is_change, np.arange(len(order)), 0))
    is_last = np.append(~is_again[1:], True)
    found: Numbers = order[is_last][np.argsort(order[last_change[is_last]])]
    return found


def _named(keys: pa.Table) -> pa.Table:
    """With the identity and the source of each as text."""
    identity = pc.coalesce(keys.column("identity"), keys.column("location"))
    source = keys.column("source").cast(pa.string())
    return keys.set_column(1, "identity", identity).set_column(0, "source", source)


def _are_equal(before: pa.Table, after: pa.Table, names: Iterable[str]) -> Numbers:
    found = np.ones(before.num_rows, bool)
    for name in names:
        found &= pc.equal(before.column(name), after.column(name)).to_numpy()
    return found


def _key_numbers(keys: pa.Table) -> Numbers:
    """One for each key: hashes of two have met."""
    named = _named(keys)
    found: dict[tuple[str, str], int] = {}
    pairs = zip(named.column("source").to_pylist(), named.column("identity").to_pylist(), strict=True)
    return np.array([found.setdefault(pair, len(found)) for pair in pairs], np.int64)
