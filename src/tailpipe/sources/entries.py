"""The plain files inside an artifact: one for most, several for archives."""

from __future__ import annotations

import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import IO, Any, BinaryIO, cast

from tailpipe.errors import ArtifactError
from tailpipe.sources.decompress import CHUNK_BYTES, Trailing, expand, kind_of, peek, read_chunks

SPOOL_BYTES = 32 * 1024 * 1024
MAX_PACKED_ZIP_BYTES = 1024 * 1024 * 1024
MAX_SPARSE_BYTES = 16 * 1024 * 1024 * 1024
_DEEPEST_NESTING = 4
_ENCRYPTED = 0x1
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)

Entry = tuple[str | None, Iterator[bytes]]


@dataclass(frozen=True)
class Unread:
    """Bytes of an entry that are not what the rest of it is: their beginning, and what is said of them."""

    entry: str | None
    head: bytes
    reason: str


@dataclass(frozen=True)
class Plain:
    """Bytes out of all compression around them. `archive` is zip, tar or None, `depth` how often they were packed.

    `trailing` is what follows packed data around them, once they were read to their end.
    """

    name: str
    head: bytes
    chunks: Iterator[bytes]
    archive: str | None
    depth: int
    trailing: tuple[Trailing, ...] = ()

    @property
    def is_packed(self) -> bool:
        return self.depth > 0 or self.archive is not None

    @property
    def unreadable(self) -> str:
        return f"{self.name}: {self.archive} archive cannot be read"

    def with_chunks(self, chunks: Iterator[bytes]) -> Plain:
        return replace(self, chunks=chunks)


def unpack(chunks: Iterator[bytes], name: str, depth: int = 0) -> Plain:
    trailing: list[Trailing] = []
    while depth <= _DEEPEST_NESTING:
        head, chunks = peek(chunks)
        kind = kind_of(head, name)
        if kind in (None, "zip", "tar"):
            return Plain(name, head, chunks, kind, depth, tuple(trailing))
        trailing.append(Trailing(kind))
        chunks = expand(kind, chunks, name, trailing[-1])
        name, depth = _without_extension(name), depth + 1
    raise ArtifactError(f"{name}: compressed more than {_DEEPEST_NESTING} times over")


def entries_of(plain: Plain, entry: str | None = None) -> Iterator[Entry | Unread]:
    """(entry name, plain chunks) pairs, in stored order; the name is None unless an archive holds the file.

    Each entry's chunks must be read before the next entry is asked for. Only regular files come out of archives; a name
    that would leave the archive's folder is an error. What follows packed data comes behind its entry. All chunks have
    been taken when they end, also those that nobody needed.
    """
    if plain.archive == "zip":
        yield from _zip_entries(plain, entry)
    elif plain.archive == "tar":
        yield from _tar_entries(plain, entry)
    else:
        yield entry, plain.chunks
    for _ in plain.chunks:
        pass
    for trailing in plain.trailing:
        if trailing.size_bytes:
            where = f"behind the end of the {trailing.kind} data"
            yield _unread(entry, trailing, where)


def _packed(plain: Plain, file: IO[bytes], entry: str) -> Iterator[Entry | Unread]:
    yield from entries_of(unpack(_entry_chunks(plain, file, entry), entry, plain.depth + 1), entry)


def _entry_chunks(plain: Plain, file: IO[bytes], entry: str) -> Iterator[bytes]:
    with _told(f'{plain.name}: entry "{entry}" of the {plain.archive} archive is broken'):
        yield from read_chunks(cast(BinaryIO, file))


@contextmanager
def _told(message: str) -> Iterator[None]:
    """Readers of archives raise many kinds of errors for bytes that are not as they should be."""
    try:
        yield
    except ArtifactError:
        raise
    except Exception as error:
        raise ArtifactError(f"{message}: {error}") from error


def _without_extension(name: str) -> str:
    stem, _, extension = name.rpartition(".")
    return f"{stem}.tar" if extension.lower() in {"tgz", "txz", "tbz2"} else stem or name


def _zip_entries(plain: Plain, entry: str | None) -> Iterator[Entry | Unread]:
    """A zip's directory stands at its end, so its bytes are kept first: in memory while few, else on disk."""
    with tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES) as spool:
        _spool(plain, cast(IO[bytes], spool))
        with _told(plain.unreadable), zipfile.ZipFile(cast(IO[bytes], spool)) as archive:
            names = _Names(plain.name, entry)
            for info in archive.infolist():
                if info.is_dir() or _is_link(info):
                    continue
                inner = names.inner(info.filename)
                _check_readable(plain.name, info)
                with archive.open(info) as member:
                    yield from _packed(plain, member, inner)


def _spool(plain: Plain, spool: IO[bytes]) -> None:
    """Small packed data may stand for any number of bytes: those of a zip in it are limited."""
    limit_bytes = MAX_PACKED_ZIP_BYTES if plain.depth else None
    size_bytes = 0
    for chunk in plain.chunks:
        size_bytes += len(chunk)
        if limit_bytes is not None and size_bytes > limit_bytes:
            raise ArtifactError(
                f"{plain.name}: a zip archive inside packed data is larger than {limit_bytes:,} bytes"
            )
        try:
            spool.write(chunk)
        except OSError as error:
            raise ArtifactError(
                f"{plain.name}: no room to unpack it in {tempfile.gettempdir()}: {error.strerror}",
                "free some room there, or set TMPDIR to another folder",
            ) from error


def _check_readable(name: str, info: zipfile.ZipInfo) -> None:
    if info.flag_bits & _ENCRYPTED:
        raise ArtifactError(f'{name}: entry "{info.filename}" of the zip archive is encrypted')
    if info.compress_type not in _ZIP_METHODS:
        raise ArtifactError(
            f'{name}: entry "{info.filename}" of the zip archive is compressed by method {info.compress_type}, '
            "which cannot be read"
        )


def _is_link(info: zipfile.ZipInfo) -> bool:
    unix_file_type = info.external_attr >> 16 & 0o170000
    return unix_file_type not in (0, 0o100000)


def _tar_entries(plain: Plain, entry: str | None) -> Iterator[Entry | Unread]:
    names = _Names(plain.name, entry)
    if not plain.head:
        return
    # A tar that is read as a stream takes whatever each read gives it, until one gives nothing.
    reader: Any = SimpleNamespace(read=lambda _: next(plain.chunks, b""))
    with (
        _told(plain.unreadable),
        closing(tarfile.open(fileobj=reader, mode="r|", bufsize=CHUNK_BYTES)) as archive,
    ):
        for member in archive:
            if not member.isreg():
                continue
            inner = names.inner(member.name)
            _check_sparse(plain.name, member)
            file = archive.extractfile(member)
            if file is not None:
                yield from _packed(plain, file, inner)
        yield from _behind_tar(archive, entry)


def _behind_tar(archive: tarfile.TarFile, entry: str | None) -> Iterator[Unread]:
    """Zeros fill the last block of a tar; anything else behind its end was put there by somebody."""
    trailing = Trailing("tar")
    rest: Any = archive.fileobj
    for chunk in iter(lambda: rest.read(CHUNK_BYTES), b""):
        if trailing.size_bytes or chunk.strip(b"\x00"):
            trailing.see((chunk if trailing.size_bytes else chunk.lstrip(b"\x00"),))
    if trailing.size_bytes:
        yield _unread(entry, trailing, "behind the end of the tar archive")


def _unread(entry: str | None, trailing: Trailing, where: str) -> Unread:
    reason = f"{trailing.size_bytes:,} bytes {where} are of another kind and were not read"
    return Unread(entry, trailing.head, reason)


def _check_sparse(name: str, member: tarfile.TarInfo) -> None:
    """Holes take no room in the archive, and any time to read."""
    if member.issparse() and member.size > MAX_SPARSE_BYTES:
        raise ArtifactError(
            f'{name}: entry "{member.name}" has holes and is larger than {MAX_SPARSE_BYTES:,} bytes'
        )


class _Names:
    """Names of an archive's entries. One that stands there again gets a number: rows are known by it."""

    def __init__(self, archive: str, entry: str | None) -> None:
        self._archive = archive
        self._entry = entry
        self._seen: Counter[str] = Counter()

    def inner(self, name: str) -> str:
        inner = _inner_name(self._archive, self._entry, name)
        self._seen[inner] += 1
        return inner if self._seen[inner] == 1 else f"{inner}#{self._seen[inner]}"


def _inner_name(name: str, entry: str | None, inner: str) -> str:
    # Names in a tar are bytes; those that are no UTF-8 come as half characters that cannot be stored.
    inner = inner.encode(errors="surrogateescape").decode(errors="replace")
    parts = inner.replace("\\", "/").split("/")
    if inner.startswith(("/", "\\")) or ".." in parts or parts[0].endswith(":"):
        raise ArtifactError(f'{name}: the archive names an entry outside its own folder: "{inner}"')
    clean = "/".join(part for part in parts if part not in ("", "."))
    return f"{entry}/{clean}" if entry else clean
