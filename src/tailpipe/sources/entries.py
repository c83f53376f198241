"""The plain files inside an artifact: one for most, several for archives."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import IO, BinaryIO, cast

from tailpipe.errors import ArtifactError
from tailpipe.sources.decompress import CHUNK_BYTES, ChunkReader, expand, kind_of, peek, read_chunks

SPOOL_BYTES = 32 * 1024 * 1024
_DEEPEST_NESTING = 4

Entry = tuple[str | None, Iterator[bytes]]


def open_entries(stream: BinaryIO, name: str) -> Iterator[Entry]:
    """(entry name, plain chunks) pairs, in stored order; the name is None unless an archive holds the file.

    Each entry's chunks must be read before the next entry is asked for. Only regular files come out of
    archives; a name that would leave the archive's folder is refused.
    """
    return _entries(read_chunks(stream), name, None, 0)


def _entries(chunks: Iterator[bytes], name: str, entry: str | None, depth: int) -> Iterator[Entry]:
    if depth > _DEEPEST_NESTING:
        raise ArtifactError(f"{name}: compressed more than {_DEEPEST_NESTING} times over")
    head, chunks = peek(chunks)
    kind = kind_of(head, name)
    if kind is None:
        yield entry, chunks
    elif kind == "zip":
        yield from _zip_entries(chunks, name, entry, depth)
    elif kind == "tar":
        yield from _tar_entries(chunks, name, entry, depth)
    else:
        yield from _entries(expand(kind, chunks, name), _without_extension(name), entry, depth + 1)


def _without_extension(name: str) -> str:
    stem, _, extension = name.rpartition(".")
    return f"{stem}.tar" if extension.lower() in {"tgz", "txz", "tbz2"} else stem or name


def _zip_entries(chunks: Iterator[bytes], name: str, entry: str | None, depth: int) -> Iterator[Entry]:
    """A zip's directory stands at its end, so its bytes are kept first: in memory while few, else on disk."""
    with tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES) as spool:
        shutil.copyfileobj(ChunkReader(chunks), spool, CHUNK_BYTES)
        try:
            with zipfile.ZipFile(cast(IO[bytes], spool)) as archive:
                for info in archive.infolist():
                    if info.is_dir() or _is_link(info):
                        continue
                    inner = _inner_name(name, entry, info.filename)
                    with archive.open(info) as member:
                        yield from _entries(read_chunks(cast(BinaryIO, member)), inner, inner, depth + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise ArtifactError(f"{name}: zip archive cannot be read: {error}") from error


def _is_link(info: zipfile.ZipInfo) -> bool:
    unix_file_type = info.external_attr >> 16 & 0o170000
    return unix_file_type not in (0, 0o100000)


def _tar_entries(chunks: Iterator[bytes], name: str, entry: str | None, depth: int) -> Iterator[Entry]:
    try:
        with closing(tarfile.open(fileobj=ChunkReader(chunks), mode="r|", bufsize=CHUNK_BYTES)) as archive:
            for member in archive:
                if not member.isreg():
                    continue
                inner = _inner_name(name, entry, member.name)
                file = archive.extractfile(member)
                if file is not None:
                    yield from _entries(read_chunks(cast(BinaryIO, file)), inner, inner, depth + 1)
    except (tarfile.TarError, EOFError) as error:
        raise ArtifactError(f"{name}: tar archive cannot be read: {error}") from error


def _inner_name(name: str, entry: str | None, inner: str) -> str:
    # Names in a tar are bytes; those that are no UTF-8 come as half characters that cannot be stored.
    inner = inner.encode(errors="surrogateescape").decode(errors="replace")
    parts = inner.replace("\\", "/").split("/")
    if inner.startswith(("/", "\\")) or ".." in parts or parts[0].endswith(":"):
        raise ArtifactError(f'{name}: the archive names an entry outside its own folder: "{inner}"')
    clean = "/".join(part for part in parts if part not in ("", "."))
    return f"{entry}/{clean}" if entry else clean
