"""Rows of manifests, one after another, become what is known: later ones replace earlier ones, deletions narrow them.

Texts are compared where their hashes meet. Python's hashes have a secret of the process, so that nobody can make names
whose hashes meet on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.lake.manifest import Windows, kept_text, read_kept
from tailpipe.lake.manifest_columns import microseconds
from tailpipe.times import merge, without

Numbers = np.ndarray[Any, np.dtype[Any]]

KEYS = ("source", "identity", "location", "version")
# What a deletion changes of a row.
NARROWED = ("kept", "rows", "stored", "outside", "rejected", "first", "last")
_HASHED_AT_ONCE = 1 << 16
_MIXER = 0x9E3779B97F4A7C15


def last_rows(keys: pa.Table, place_hashes: Numbers) -> Numbers:
    """Of each source and identity the last row, in the order in which places and versions last changed."""
    return _last_rows(keys, _key_hashes(keys, place_hashes))


def text_hashes(texts: pa.ChunkedArray) -> Numbers:
    parts = [
        chunk.slice(start, _HASHED_AT_ONCE)
        for chunk in texts.chunks
        for start in range(0, len(chunk), _HASHED_AT_ONCE)
    ]
    return np.concatenate([np.empty(0, np.int64), *(hashes(part.to_pylist()) for part in parts)])


def hashes(texts: Iterable[str]) -> Numbers:
    return np.fromiter(map(hash, texts), np.int64)


def shared_codes(column: pa.ChunkedArray) -> tuple[Numbers, list[str]]:
    """Rows as numbers of texts, -1 where there is none, and the texts."""
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return np.empty(0, np.int64), []
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return np.concatenate(codes).astype(np.int64), column.chunk(0).dictionary.to_pylist()


def without_deleted(rows: pa.Table, is_older: Numbers, deleted: Windows) -> pa.Table:
    """Rows with all columns that a deletion narrows. Those that are not older than it stay as they are.

    Where the windows hold all rows of an artifact, none are stored; else nobody has counted how many still are.
    """
    before, texts = shared_codes(rows.column("kept"))
    left = [kept_text(without(read_kept(text), deleted)) for text in texts]
    all_texts = list(dict.fromkeys([*texts, *left]))
    numbers = {text: number for number, text in enumerate(all_texts)}
    narrowed = np.array([numbers[text] for text in left], np.int64)
    after = np.where(is_older, narrowed[before], before)
    is_touched = after != before
    is_emptied = is_touched & (after == numbers.get("", -1))
    is_bare = is_touched & _is_inside(rows, deleted)
    none = pa.scalar(None, rows.schema.field("first").type)
    changed = {
        "kept": pa.DictionaryArray.from_arrays(pa.array(after, pa.int32()), pa.array(all_texts, pa.string())),
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
    first, last = (rows.column(name).cast(pa.int64()) for name in ("first", "last"))
    found = np.zeros(rows.num_rows, bool)
    for window in merge(deleted):
        start, end = microseconds(window.start), microseconds(window.end)
        is_inside = pc.and_(pc.greater_equal(first, start), pc.less(last, end))
        found |= pc.fill_null(is_inside, False).to_numpy()
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
    before, after = (_taken(keys, order[places]) for places in (again - 1, again))
    if not _are_equal(before, after, ("source", "identity")).all():
        return _last_rows(keys, _key_numbers(keys))
    is_change = ~is_again
    is_change[again] = ~_are_equal(before, after, ("location", "version"))
    # Each key begins with a change, so that none of another key is the last one.
    last_change = np.maximum.accumulate(np.where(is_change, np.arange(len(order)), 0))
    is_last = np.append(~is_again[1:], True)
    found: Numbers = order[is_last][np.argsort(order[last_change[is_last]])]
    return found


def _taken(keys: pa.Table, rows: Numbers) -> pa.Table:
    taken = keys.take(rows)
    identity = pc.coalesce(taken.column("identity"), taken.column("location"))
    return taken.set_column(1, "identity", identity).set_column(
        0, "source", taken.column("source").cast(pa.string())
    )


def _are_equal(before: pa.Table, after: pa.Table, names: Iterable[str]) -> Numbers:
    found = np.ones(before.num_rows, bool)
    for name in names:
        found &= pc.equal(before.column(name), after.column(name)).to_numpy()
    return found


def _key_numbers(keys: pa.Table) -> Numbers:
    """One for each key: hashes of two have met."""
    taken = _taken(keys, np.arange(keys.num_rows))
    numbers: dict[tuple[str, str], int] = {}
    pairs = zip(taken.column("source").to_pylist(), taken.column("identity").to_pylist(), strict=True)
    return np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], np.int64)
