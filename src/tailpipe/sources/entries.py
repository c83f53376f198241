"""The plain files inside an artifact: one for most, several for archives."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import IO, BinaryIO, cast

from tailpipe.errors import ArtifactError
from tailpipe.sources.decompress import CHUNK_BYTES, ChunkReader, expand, kind_of, peek, read_chunks

SPOOL_BYTES = 32 * 1024 * 1024
_DEEPEST_NESTING = 4

Entry = tuple[str | None, Iterator[bytes]]


@dataclass(frozen=True)
class Plain:
    """Bytes out of all compression around them. `archive` is zip, tar or None, `depth` how often they were packed."""

    name: str
    head: bytes
    chunks: Iterator[bytes]
    archive: str | None
    depth: int

    @property
    def is_packed(self) -> bool:
        return self.depth > 0 or self.archive is not None

    def with_chunks(self, chunks: Iterator[bytes]) -> Plain:
        return replace(self, chunks=chunks)


def open_entries(stream: BinaryIO, name: str) -> Iterator[Entry]:
    """(entry name, plain chunks) pairs, in stored order; the name is None unless an archive holds the file.

    Each entry's chunks must be read before the next entry is asked for. Only regular files come out of
    archives; a name that would leave the archive's folder is refused.
    """
    yield from entries_of(unpack(read_chunks(stream), name))


def unpack(chunks: Iterator[bytes], name: str, depth: int = 0) -> Plain:
    while depth <= _DEEPEST_NESTING:
        head, chunks = peek(chunks)
        kind = kind_of(head, name)
        if kind in (None, "zip", "tar"):
            return Plain(name, head, chunks, kind, depth)
        chunks, name, depth = expand(kind, chunks, name), _without_extension(name), depth + 1
    raise ArtifactError(f"{name}: compressed more than {_DEEPEST_NESTING} times over")


def entries_of(plain: Plain, entry: str | None = None) -> Iterator[Entry]:
    if plain.archive == "zip":
        yield from _zip_entries(plain, entry)
    elif plain.archive == "tar":
        yield from _tar_entries(plain, entry)
    else:
        yield entry, plain.chunks


def _packed(file: IO[bytes], entry: str, depth: int) -> Iterator[Entry]:
    yield from entries_of(unpack(read_chunks(cast(BinaryIO, file)), entry, depth + 1), entry)


def _without_extension(name: str) -> str:
    stem, _, extension = name.rpartition(".")
    return f"{stem}.tar" if extension.lower() in {"tgz", "txz", "tbz2"} else stem or name


def _zip_entries(plain: Plain, entry: str | None) -> Iterator[Entry]:
    """A zip's directory stands at its end, so its bytes are kept first: in memory while few, else on disk."""
    with tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES) as spool:
        shutil.copyfileobj(ChunkReader(plain.chunks), spool, CHUNK_BYTES)
        try:
            with zipfile.ZipFile(cast(IO[bytes], spool)) as archive:
                for info in archive.infolist():
                    if info.is_dir() or _is_link(info):
                        continue
                    inner = _inner_name(plain.name, entry, info.filename)
                    with archive.open(info) as member:
                        yield from _packed(member, inner, plain.depth)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise ArtifactError(f"{plain.name}: zip archive cannot be read: {error}") from error


def _is_link(info: zipfile.ZipInfo) -> bool:
    unix_file_type = info.external_attr >> 16 & 0o170000
    return unix_file_type not in (0, 0o100000)


def _tar_entries(plain: Plain, entry: str | None) -> Iterator[Entry]:
    try:
        with closing(
            tarfile.open(fileobj=ChunkReader(plain.chunks), mode="r|", bufsize=CHUNK_BYTES)
        ) as archive:
            for member in archive:
                if not member.isreg():
                    continue
                inner = _inner_name(plain.name, entry, member.name)
                file = archive.extractfile(member)
                if file is not None:
                    yield from _packed(file, inner, plain.depth)
    except (tarfile.TarError, EOFError) as error:
        raise ArtifactError(f"{plain.name}: tar archive cannot be read: {error}") from error


def _inner_name(name: str, entry: str | None, inner: str) -> str:
    # Names in a tar are bytes; those that are no UTF-8 come as half characters that cannot be stored.
    inner = inner.encode(errors="surrogateescape").decode(errors="replace")
    parts = inner.replace("\\", "/").split("/")
    if inner.startswith(("/", "\\")) or ".." in parts or parts[0].endswith(":"):
        raise ArtifactError(f'{name}: the archive names an entry outside its own folder: "{inner}"')
    clean = "/".join(part for part in parts if part not in ("", "."))
    return f"{entry}/{clean}" if entry else clean
