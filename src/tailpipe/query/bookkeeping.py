"""What the lake knows of its own collection, as tables to query: `tailpipe.runs` and `tailpipe.artifacts`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from tailpipe.arrow import pa, pc
from tailpipe.lake.address import Lake

Columns = tuple[tuple[str, str], ...]
Chooses = Callable[[str, str], bool]
# Calls a reader with the lake and the name of each table, and joins what it gives.
OfEach = Callable[[Callable[[Lake, str], Iterable[Any]]], Iterable[Any]]

RUN_COLUMNS: Columns = (
    ("run", "VARCHAR"),
    ("table_name", "VARCHAR"),
    ("partition", "VARCHAR"),
    ("kind", "VARCHAR"),
    ("status", "VARCHAR"),
    ("started_at", "TIMESTAMP"),
    ("finished_at", "TIMESTAMP"),
    ("engine", "VARCHAR"),
    ("window_from", "TIMESTAMP"),
    ("window_to", "TIMESTAMP"),
    ("sources", "VARCHAR[]"),
    ("is_overwrite", "BOOLEAN"),
    ("units", "BIGINT"),
    ("failed", "BIGINT"),
    ("artifacts", "BIGINT"),
    ("size_bytes", "BIGINT"),
    ("rows", "BIGINT"),
    ("stored", "BIGINT"),
    ("filtered", "BIGINT"),
    ("rejected", "BIGINT"),
)

ARTIFACT_COLUMNS: Columns = (
    ("table_name", "VARCHAR"),
    ("partition", "VARCHAR"),
    ("source", "VARCHAR"),
    ("location", "VARCHAR"),
    ("identity", "VARCHAR"),
    ("version", "VARCHAR"),
    ("size_bytes", "BIGINT"),
    ("span_from", "TIMESTAMP"),
    ("span_to", "TIMESTAMP"),
    ("kept_from", "TIMESTAMP"),
    ("kept_to", "TIMESTAMP"),
    ("rows", "BIGINT"),
    ("stored", "BIGINT"),
    ("filtered", "BIGINT"),
    ("outside", "BIGINT"),
    ("rejected", "BIGINT"),
    ("read_bytes", "BIGINT"),
    ("waiting_bytes", "BIGINT"),
    ("first", "TIMESTAMP"),
    ("last", "TIMESTAMP"),
    ("collected_at", "TIMESTAMP"),
    ("run", "VARCHAR"),
)

# Columns as manifests store them, where they have another name or another form there.
_STORED = {
    "span_from": "span",
    "span_to": "span",
    "kept_from": "kept",
    "kept_to": "kept",
    "read_bytes": "offset",
}


def runs(of_each: OfEach, chooses: Chooses) -> pa.Table:
    """One row per run and partition, in the order in which they began to commit."""
    from tailpipe.lake.runs import partition_runs

    def read(lake: Lake, table: str) -> Iterator[dict[str, Any]]:
        for run in partition_runs(lake, table):
            if chooses(table, run.partition):
                yield {"table_name": table, **vars(run)}

    return pa.Table.from_pylist(list(of_each(read)), _schema(RUN_COLUMNS))


def artifacts(of_each: OfEach, chooses: Chooses) -> pa.Table:
    """One row per artifact that is known."""
    from tailpipe.lake.catalog import partition_states

    own = [name for name, _ in ARTIFACT_COLUMNS if name not in ("table_name", "partition")]
    stored = list(dict.fromkeys(_STORED.get(name, name) for name in own))

    def read(lake: Lake, table: str) -> Iterator[pa.Table]:
        for partition, state in partition_states(lake, table, partial(chooses, table)).items():
            rows = state.artifacts.select(stored).filter(pa.array(state.artifacts.is_kept))
            yield _artifact_rows(table, partition, rows)

    return pa.concat_tables([_schema(ARTIFACT_COLUMNS).empty_table(), *of_each(read)])


def _artifact_rows(table: str, partition: str, rows: pa.Table) -> pa.Table:
    names = {"table_name": table, "partition": partition}
    arrays = [
        pa.repeat(names[name], rows.num_rows) if name in names else _artifact_column(name, rows)
        for name, _ in ARTIFACT_COLUMNS
    ]
    return pa.table(arrays, schema=_schema(ARTIFACT_COLUMNS))


def _artifact_column(name: str, rows: pa.Table) -> Any:
    values = rows.column(_STORED.get(name, name))
    if name == "identity":
        return pc.coalesce(values, rows.column("location"))
    if name in ("first", "last", "collected_at"):
        return values.cast(pa.timestamp("us"))
    if name in ("span_from", "span_to", "kept_from", "kept_to"):
        return _ends(values, 0 if name.endswith("from") else 1)
    return values.cast(pa.string()) if name in ("source", "run") else values


def _ends(windows: Any, side: int) -> Any:
    """Starts or ends of windows in text. Many artifacts share theirs, so each text is read once."""
    from tailpipe.lake.manifest import read_kept
    from tailpipe.lake.row_folding import shared_codes
    from tailpipe.lake.runs import hull

    codes, texts = shared_codes(windows)
    ends = [hull(read_kept(text))[side] for text in texts] + [None]
    return pa.array(ends, pa.timestamp("us")).take(pa.array(codes % len(ends)))


def _schema(columns: Columns) -> pa.Schema:
    """Moments in UTC are shown as plain timestamps."""
    types = {
        "VARCHAR": pa.string(),
        "VARCHAR[]": pa.list_(pa.string()),
        "BIGINT": pa.int64(),
        "BOOLEAN": pa.bool_(),
        "TIMESTAMP": pa.timestamp("us"),
    }
    return pa.schema([(name, types[type_]) for name, type_ in columns])
