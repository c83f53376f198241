"""A manifest says what one commit collected: which artifacts, what of them, and which files came of it.

It is an immutable Parquet file beside the data, one row per artifact, written before the commit that names it.
A manifest counts only if the log names it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailpipe.lake.files import sync, table_filesystem
from tailpipe.times import Window

_MOMENT = pa.timestamp("us", tz="UTC")
_WINDOW = pa.struct([("start", _MOMENT), ("end", _MOMENT)])
_SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("location", pa.string()),
        ("version", pa.string()),
        ("size_bytes", pa.int64()),
        ("span", _WINDOW),
        ("kept", pa.list_(_WINDOW)),
        ("rows", pa.int64()),
        ("stored", pa.int64()),
        ("filtered", pa.int64()),
        ("outside", pa.int64()),
        ("rejected", pa.int64()),
    ]
)
_HEADER_KEY = b"tailpipe.header"


@dataclass(frozen=True)
class ArtifactRecord:
    """What was taken of one artifact. `kept` are the windows whose rows are in the lake; empty means all of it.

    Always: rows = stored + filtered + outside + rejected.
    """

    source: str
    location: str
    version: str
    size_bytes: int
    span: Window | None
    kept: tuple[Window, ...]
    rows: int
    stored: int
    filtered: int
    outside: int
    rejected: int


@dataclass(frozen=True)
class Header:
    """What is true of the whole commit. Paths are relative to the table."""

    partition: str
    unit: str
    run: str
    written_at: str
    files: tuple[str, ...]
    rejects: tuple[str, ...]


@dataclass(frozen=True)
class Manifest:
    header: Header
    artifacts: tuple[ArtifactRecord, ...]


def write_manifest(root: str, path: str, manifest: Manifest) -> None:
    filesystem, base = table_filesystem(root)
    full = f"{base}/{path}"
    filesystem.create_dir(full.rsplit("/", 1)[0], recursive=True)
    metadata = {_HEADER_KEY: json.dumps(asdict(manifest.header)).encode()}
    rows = [_to_row(record) for record in manifest.artifacts]
    pq.write_table(
        pa.Table.from_pylist(rows, schema=_SCHEMA.with_metadata(metadata)),
        full,
        filesystem=filesystem,
        compression="zstd",
    )
    sync(filesystem, full)


def read_manifest(root: str, path: str) -> Manifest:
    filesystem, base = table_filesystem(root)
    rows = pq.read_table(f"{base}/{path}", filesystem=filesystem)
    return Manifest(_header(rows.schema), tuple(_from_row(row) for row in rows.to_pylist()))


def read_header(root: str, path: str) -> Header:
    """The header alone: cheap, whatever the number of artifacts."""
    filesystem, base = table_filesystem(root)
    return _header(pq.read_schema(f"{base}/{path}", filesystem=filesystem))


def _header(schema: pa.Schema) -> Header:
    values: dict[str, Any] = json.loads(schema.metadata[_HEADER_KEY])
    values |= {name: tuple(values[name]) for name in ("files", "rejects")}
    return Header(**values)


def _to_row(record: ArtifactRecord) -> dict[str, Any]:
    return vars(record) | {
        "span": vars(record.span) if record.span else None,
        "kept": [vars(window) for window in record.kept],
    }


def _from_row(row: dict[str, Any]) -> ArtifactRecord:
    span = row.pop("span")
    kept = row.pop("kept")
    return ArtifactRecord(
        **row, span=_window(span) if span else None, kept=tuple(_window(window) for window in kept)
    )


def _window(value: dict[str, datetime]) -> Window:
    return Window(value["start"].astimezone(UTC), value["end"].astimezone(UTC))
