"""Artifacts of a partition as columns: what `state.fold` knows of them, without making a value of each.

A hundred thousand of them take a tenth of the time. A test holds both to the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.lake.layout import table_location
from tailpipe.lake.log import history_paths
from tailpipe.lake.manifest import Header, kept_text, read_kept, read_rows, read_windows
from tailpipe.lake.state import without

_KEY = ["source", "identity"]


def known_artifacts(
    data_dir: Path, table: str, columns: Sequence[str], is_wanted: Callable[[str], bool]
) -> dict[str, pa.Table]:
    """By name of the partition, with these columns of manifests as they are stored there."""
    location = str(table_location(data_dir, table))
    return {
        name: _folded([read_rows(location, path, columns) for path in paths]).select(list(columns))
        for name, paths in sorted(history_paths(location).items())
        if is_wanted(name)
    }


def _folded(manifests: Sequence[tuple[Header, pa.Table]]) -> pa.Table:
    """Oldest first. What a manifest deletes or forgets is what was recorded before it."""
    rows = pa.concat_tables(
        table.replace_schema_metadata(None).append_column("manifest", pa.repeat(number, table.num_rows))
        for number, (_, table) in enumerate(manifests)
    )
    rows = _last_records(rows)
    for number, (header, _) in enumerate(manifests):
        if header.deleted:
            rows = _without_deleted(rows, number, header)
        if header.forgotten:
            rows = _without_forgotten(rows, number, header.forgotten)
    return rows


def _last_records(rows: pa.Table) -> pa.Table:
    numbered = rows.select(_KEY).append_column("row", pa.array(range(rows.num_rows), pa.int64()))
    last = numbered.group_by(_KEY).aggregate([("row", "max")]).column("row_max")
    return rows.take(last.take(pc.sort_indices(last)))


def _without_deleted(rows: pa.Table, number: int, header: Header) -> pa.Table:
    deleted = read_windows(header.deleted)
    is_older = pc.less(rows.column("manifest"), number)
    encoded = rows.column("kept").combine_chunks().dictionary_encode()
    left = [kept_text(without(read_kept(text), deleted)) for text in encoded.dictionary.to_pylist()]
    texts = pa.array(left, pa.string()).take(encoded.indices)
    kept = pc.if_else(is_older, texts, rows.column("kept"))
    rows = rows.set_column(rows.schema.get_field_index("kept"), "kept", kept)
    return rows.filter(pc.invert(pc.and_(is_older, pc.equal(kept, ""))))


def _without_forgotten(rows: pa.Table, number: int, forgotten: Iterable[tuple[str, str]]) -> pa.Table:
    gone = pc.and_(pc.less(rows.column("manifest"), number), _is_any(rows, forgotten))
    return rows.filter(pc.invert(gone))


def _is_any(rows: pa.Table, keys: Iterable[tuple[str, str]]) -> pa.Array:
    wanted = set(keys)
    pairs = zip(rows.column("source").to_pylist(), rows.column("identity").to_pylist(), strict=True)
    return pa.array([pair in wanted for pair in pairs], pa.bool_())
