"""What the lake knows of its own collection, as tables to query: `tailpipe.collections` and `tailpipe.artifacts`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailpipe.lake.catalog import list_tables, partition_states

if TYPE_CHECKING:
    import pyarrow as pa

    from tailpipe.lake.manifest import ArtifactRecord
    from tailpipe.lake.runs import Run

Columns = tuple[tuple[str, str], ...]
Chooses = Callable[[str, str], bool]

COLLECTION_COLUMNS: Columns = (
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

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def collections(data_dir: Path, chooses: Chooses) -> pa.Table:
    """One row per run and partition, in the order in which they began to commit."""
    from tailpipe.lake.runs import partition_runs

    found = [
        (table, run)
        for table in list_tables(data_dir)
        for run in partition_runs(data_dir, table)
        if chooses(table, run.partition)
    ]
    return _arrow(COLLECTION_COLUMNS, (_run_value(name, found) for name, _ in COLLECTION_COLUMNS))


def artifacts(data_dir: Path, chooses: Chooses) -> pa.Table:
    """One row per artifact that is known now."""
    import pyarrow as pa

    parts = [
        _partition_artifacts(table, partition, list(state.artifacts.values()))
        for table in list_tables(data_dir)
        for partition, state in partition_states(data_dir, table, partial(chooses, table)).items()
    ]
    return pa.concat_tables(parts) if parts else _arrow(ARTIFACT_COLUMNS, ([] for _ in ARTIFACT_COLUMNS))


def _run_value(column: str, runs: Sequence[tuple[str, Run]]) -> list[Any]:
    if column == "table_name":
        return [table for table, _ in runs]
    return [getattr(run, column) for _, run in runs]


def _partition_artifacts(table: str, partition: str, records: Sequence[ArtifactRecord]) -> pa.Table:
    from tailpipe.lake.runs import hull

    kept = [hull(record.kept) for record in records]
    computed: dict[str, list[Any]] = {
        "table_name": [table] * len(records),
        "partition": [partition] * len(records),
        "span_from": [record.span and record.span.start for record in records],
        "span_to": [record.span and record.span.end for record in records],
        "kept_from": [start for start, _ in kept],
        "kept_to": [end for _, end in kept],
        "read_bytes": [record.offset for record in records],
    }
    columns = (
        computed[name] if name in computed else [getattr(record, name) for record in records]
        for name, _ in ARTIFACT_COLUMNS
    )
    return _arrow(ARTIFACT_COLUMNS, columns)


def _arrow(columns: Columns, values: Iterable[list[Any]]) -> pa.Table:
    import pyarrow as pa

    types = {
        "VARCHAR": pa.string(),
        "VARCHAR[]": pa.list_(pa.string()),
        "BIGINT": pa.int64(),
        "BOOLEAN": pa.bool_(),
        "TIMESTAMP": pa.timestamp("us"),
    }
    arrays = (
        pa.array(_microseconds(column) if type_ == "TIMESTAMP" else column, types[type_])
        for (_, type_), column in zip(columns, values, strict=True)
    )
    return pa.table(list(arrays), names=[name for name, _ in columns])


def _microseconds(moments: Iterable[datetime | None]) -> Iterator[int | None]:
    """Ten times as fast as leaving it to Arrow, which asks every moment for its zone."""
    return (None if moment is None else (moment - _EPOCH) // _MICROSECOND for moment in moments)
