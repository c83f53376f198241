"""A manifest says what one commit did: which artifacts, what of them, which files came of it, what a run claims.

It is an immutable Parquet file beside the data, one row per artifact, written before the commit that names it.
A manifest counts only if the log names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tailpipe.errors import LakeError
from tailpipe.lake.address import TableAddress
from tailpipe.times import Window

_HEADER_KEY = b"tailpipe.header"

Windows = tuple[Window, ...]


class KnownArtifact(msgspec.Struct, frozen=True, gc=False):
    """What is known of one artifact after a commit; a later record of the same identity replaces it.

    `identity` names its content for good, `location` where that content lies now. `kept` are the windows of time
    whose rows are in the lake. `offset`, `position`, `head`, `tail` and `open_bytes` mark how far it was read,
    `waiting_bytes` wait behind that for the end of their line. `constants` fill columns of its rows. `first` and `last`
    are the times of its stored rows, `oldest` and `newest` those of all that were ever read of it, also of rows that
    were deleted since. `collected_at` is when it was last read. It `is_gone` when rows of it were wanted that are not
    kept, and its source did not have it. Of an artifact of which all was deleted nothing is kept, and no reject; the
    rest stays known.

    Always: rows = stored + filtered + outside + rejected.
    """

    source: str
    identity: str
    location: str
    version: str
    size_bytes: int
    span: Window | None
    kept: Windows
    offset: int = 0
    position: int = 0
    head: str = ""
    tail: str = ""
    open_bytes: int = 0
    waiting_bytes: int = 0
    constants: Mapping[str, str] = {}
    rows: int = 0
    stored: int = 0
    filtered: int = 0
    outside: int = 0
    rejected: int = 0
    first: datetime | None = None
    last: datetime | None = None
    collected_at: datetime | None = None
    run: str = ""
    oldest: datetime | None = None
    newest: datetime | None = None
    is_gone: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.source, self.identity


class Failure(msgspec.Struct, frozen=True):
    """A unit, or an artifact without a date, of which nothing was stored. `label` is its day or its location."""

    label: str
    message: str
    artifacts: int
    at: datetime
    run: str


class RunReport(msgspec.Struct, frozen=True):
    """How one run over a partition ended."""

    started_at: datetime
    finished_at: datetime
    engine: str
    window_from: datetime
    window_to: datetime | None
    sources: tuple[str, ...]
    is_overwrite: bool
    units: int
    failed: int
    artifacts: int
    size_bytes: int
    rows: int
    stored: int
    filtered: int
    rejected: int


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is true of the whole commit. Paths are relative to the table; windows are by name of the source.

    `asked` are windows that somebody wanted, `covered` those that were listed and of which nothing failed. `deleted`
    are windows that the commit took out of the partition. A snapshot repeats all that is known, so that nobody has
    to read what was before.
    """

    partition: str
    kind: str
    unit: str
    run: str
    written_at: datetime
    files: tuple[str, ...] = ()
    rejects: tuple[str, ...] = ()
    removed_rejects: tuple[str, ...] = ()
    asked: dict[str, tuple[str, ...]] = {}
    covered: dict[str, tuple[str, ...]] = {}
    deleted: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    report: RunReport | None = None
    is_snapshot: bool = False


@dataclass(frozen=True)
class Manifest:
    header: Header
    artifacts: tuple[KnownArtifact, ...]


_SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("identity", pa.string()),
        ("location", pa.string()),
        ("version", pa.string()),
        ("size_bytes", pa.int64()),
        ("span", pa.string()),
        ("kept", pa.string()),
        ("offset", pa.int64()),
        ("position", pa.int64()),
        ("head", pa.string()),
        ("tail", pa.string()),
        ("open_bytes", pa.int64()),
        ("waiting_bytes", pa.int64()),
        ("constants", pa.string()),
        ("rows", pa.int64()),
        ("stored", pa.int64()),
        ("filtered", pa.int64()),
        ("outside", pa.int64()),
        ("rejected", pa.int64()),
        ("first", pa.string()),
        ("last", pa.string()),
        ("collected_at", pa.string()),
        ("run", pa.string()),
        ("oldest", pa.string()),
        ("newest", pa.string()),
        ("is_gone", pa.bool_()),
    ]
)
_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(KnownArtifact)}
_SAME = {"oldest": "first", "newest": "last"}
# Values that many artifacts share are read once. Text keeps them so: a hundred thousand records take half a second.
_AS_TEXT = ("span", "kept", "constants", "first", "last", "collected_at", "oldest", "newest")


def write_manifest(address: TableAddress, path: str, manifest: Manifest) -> None:
    address.create_folder(path)
    metadata = {_HEADER_KEY: msgspec.json.encode(manifest.header)}
    columns = [_column(name, manifest.artifacts) for name in _SCHEMA.names]
    rows = pa.Table.from_arrays(columns, schema=_SCHEMA.with_metadata(metadata))
    pq.write_table(rows, path, filesystem=address.files, compression="zstd")
    address.sync(path)


def read_manifest(address: TableAddress, path: str) -> Manifest:
    header, rows = read_rows(address, path)
    values = {name: _values(name, rows) for name in _SCHEMA.names}
    for name, read in _READERS.items():
        values[name] = [read(text) for text in values[name]]
    _fill_in(values)
    columns = (values[name] for name in _SCHEMA.names)
    return Manifest(header, tuple(map(KnownArtifact, *columns)))


def _values(name: str, rows: pa.Table) -> list[Any]:
    """As a record has it by default where the manifest is of before there was such a column."""
    if name in rows.column_names:
        values: list[Any] = rows.column(name).to_pylist()
        return values
    return [_DEFAULTS[name]] * rows.num_rows


def _fill_in(values: dict[str, list[Any]]) -> None:
    """Where all rows are stored, theirs are the times of all, and told once."""
    for name, same in _SAME.items():
        values[name] = [
            own if own is not None or outside else stored
            for own, stored, outside in zip(values[name], values[same], values["outside"], strict=True)
        ]


def read_rows(
    address: TableAddress, path: str, columns: Sequence[str] | None = None
) -> tuple[Header, pa.Table]:
    """The header, and its artifacts as they are stored: windows, moments and constants are text."""
    # One small file: opening it directly takes a third of the time that a dataset of one does.
    with _readable(address, path), pq.ParquetFile(path, filesystem=address.files) as file:
        rows = file.read(columns, use_threads=False)
    return _header(rows.schema, path), rows


def read_header(address: TableAddress, path: str) -> Header:
    """The header alone: cheap, whatever the number of artifacts."""
    with _readable(address, path):
        schema = pq.read_schema(path, filesystem=address.files)
    return _header(schema, path)


@contextmanager
def _readable(address: TableAddress, path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise LakeError(
            f"{address}/{path}: the log names this manifest, and it cannot be read: {error}",
            hint="check that the folder is whole and readable; other programs must not write into it",
        ) from error


def windows_text(windows: Iterable[Window]) -> tuple[str, ...]:
    return tuple(f"{window.start.isoformat()}/{window.end.isoformat()}" for window in windows)


def kept_text(windows: Iterable[Window]) -> str:
    """As `kept` of an artifact is stored."""
    return " ".join(windows_text(windows))


def read_windows(texts: Iterable[str]) -> Windows:
    return tuple(map(_window, texts))


def _header(schema: pa.Schema, path: str) -> Header:
    try:
        return _decode_header(schema.metadata[_HEADER_KEY])
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise LakeError(
            f"{path}: this is no manifest that can be read: {error}",
            hint="it comes from another version of Tailpipe, or another program wrote into the lake",
        ) from error


_decode_header = msgspec.json.Decoder(Header).decode


def _column(name: str, records: Sequence[KnownArtifact]) -> pa.Array:
    values = [getattr(record, name) for record in records]
    if name in _SAME:
        stored = (None if record.outside else getattr(record, _SAME[name]) for record in records)
        values = [None if own == same else own for own, same in zip(values, stored, strict=True)]
    if name in _AS_TEXT:
        values = [_WRITERS[name](value) for value in values]
    return pa.array(values, _SCHEMA.field(name).type)


@lru_cache(maxsize=10_000)
def _window(text: str) -> Window:
    start, end = text.split("/")
    return Window(datetime.fromisoformat(start), datetime.fromisoformat(end))


@lru_cache(maxsize=10_000)
def read_kept(text: str) -> Windows:
    return read_windows(text.split(" ")) if text else ()


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


@lru_cache(maxsize=10_000)
def _constants(text: str | None) -> Mapping[str, str]:
    values: dict[str, str] = msgspec.json.decode(text) if text else {}
    return values


def _moment_text(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat() if moment else None


_READERS: dict[str, Any] = {
    "span": lambda text: _window(text) if text else None,
    "kept": read_kept,
    "constants": _constants,
    "first": _moment,
    "last": _moment,
    "collected_at": _moment,
    "oldest": _moment,
    "newest": _moment,
}
_WRITERS: dict[str, Any] = {
    "span": lambda span: windows_text([span])[0] if span else None,
    "kept": kept_text,
    "constants": lambda values: msgspec.json.encode(values).decode() if values else None,
    "first": _moment_text,
    "last": _moment_text,
    "collected_at": _moment_text,
    "oldest": _moment_text,
    "newest": _moment_text,
}
