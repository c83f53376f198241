"""Files of a lake in an object store. An object is there as a whole or not at all, and folders are only in its name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from tailpipe.lake.files import FileEntry, Files
from tailpipe.lake.store_errors import store_error

# The least that a part of an upload may have. Every open file holds so much.
_PART_BYTES = 5 << 20
# What is read as a whole is kept, in memory or else in a file without a name, for those who read it again.
_KEPT_WHOLE = 64
_MOST_IN_MEMORY_BYTES = 1 << 20


class ObjectFiles(Files):
    """`store` is one of obstore's, which begins at the folder."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._whole: OrderedDict[str, Callable[[], Any]] = OrderedDict()

    def open_read(self, path: str) -> Any:
        import pyarrow as pa

        with _told():
            size_bytes = self._store.head(path)["size"]
        return pa.PythonFile(_Reader(self._store, path, size_bytes), mode="r")

    def open_write(self, path: str) -> Any:
        import pyarrow as pa

        return pa.PythonFile(_Writer(self._store, path), mode="w")

    def open_new(self, path: str) -> Any:
        import pyarrow as pa

        return pa.PythonFile(_Writer(self._store, path, is_new=True), mode="w")

    def read(self, path: str) -> bytes:
        with _told():
            return bytes(self._store.get(path).bytes())

    def whole(self, path: str) -> Callable[[], Any]:
        if path not in self._whole:
            self._whole[path] = self._fetched(path)
            if len(self._whole) > _KEPT_WHOLE:
                self._whole.popitem(last=False)
        return self._whole[path]

    def _fetched(self, path: str) -> Callable[[], Any]:
        import tempfile

        import pyarrow as pa

        with _told():
            found = self._store.get(path)
            if found.meta["size"] <= _MOST_IN_MEMORY_BYTES:
                content = pa.py_buffer(bytes(found.bytes()))
                return lambda: pa.BufferReader(content)
            with tempfile.NamedTemporaryFile() as spool:
                for chunk in found.stream():
                    spool.write(chunk)
                spool.flush()
                mapped = pa.memory_map(spool.name)
        buffer = mapped.read_buffer()
        return lambda: pa.BufferReader(buffer)

    def write_new(self, path: str, content: bytes) -> None:
        with _told():
            self._store.put(path, content, mode="create")

    def entry(self, path: str) -> FileEntry | None:
        with _told(), suppress(FileNotFoundError):
            return _entry(self._store.head(path))
        return None

    def children(self, folder: str) -> list[str]:
        with _told():
            found = self._store.list_with_delimiter(folder or None)
        return sorted([*found["common_prefixes"], *(each["path"] for each in found["objects"])])

    def walk(self, folder: str = "") -> Iterator[FileEntry]:
        with _told():
            for chunk in self._store.list(folder or None):
                yield from map(_entry, chunk)

    def delete(self, paths: Iterable[str]) -> None:
        """The library sends many in one request."""
        with _told():
            self._store.delete(list(paths))

    def sync(self, path: str) -> None:
        """An object that was stored is safe."""


class _Reader:
    """What Arrow asks of a file. It asks for ranges that it needs, so nothing is read ahead."""

    def __init__(self, store: Any, path: str, size_bytes: int) -> None:
        self._store = store
        self._path = path
        self._size_bytes = size_bytes
        self._at = 0
        self.closed = False

    def read(self, count: int = -1) -> Any:
        end = self._size_bytes if count < 0 else min(self._size_bytes, self._at + count)
        if end <= self._at:
            return b""
        with _told():
            content = self._store.get_range(self._path, start=self._at, end=end)
        self._at = end
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size_bytes)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


class _Writer:
    """An object comes to be when it is closed. One that is only forgotten leaves nothing."""

    def __init__(self, store: Any, path: str, *, is_new: bool = False) -> None:
        self._store = store
        self._path = path
        self._is_new = is_new
        self._buffer = bytearray()
        self._upload: Any = None
        self._at = 0
        self.closed = False

    def write(self, content: Any) -> int:
        part = memoryview(content).cast("B")
        self._at += part.nbytes
        if self._upload is None:
            self._buffer += part
            if len(self._buffer) >= _PART_BYTES:
                self._begin_upload()
        else:
            with _told():
                self._upload.write(part)
        return part.nbytes

    def _begin_upload(self) -> None:
        """An upload in parts takes no condition: the name is taken before."""
        import obstore

        with _told():
            if self._is_new:
                self._store.put(self._path, b"", mode="create")
            self._upload = obstore.open_writer(self._store, self._path, buffer_size=_PART_BYTES)
            self._upload.write(bytes(self._buffer))
        self._buffer = bytearray()

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        with _told():
            if self._upload is not None:
                self._upload.close()
            elif self._is_new:
                self._create(bytes(self._buffer))
            else:
                self._store.put(self._path, bytes(self._buffer))

    def _create(self, content: bytes) -> None:
        """The library sends a request again whose answer was lost: then the object that is there already is ours.

        None is there where the store refuses two requests for a name that come at once.
        """
        from obstore.exceptions import AlreadyExistsError

        try:
            self._store.put(self._path, content, mode="create")
        except AlreadyExistsError:
            try:
                found = bytes(self._store.get(self._path).bytes())
            except FileNotFoundError:
                found = None
            if found is None:
                self._store.put(self._path, content, mode="create")
            elif found != content:
                raise

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        pass

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


@contextmanager
def _told() -> Iterator[None]:
    """Errors of the library as those that files of a disk raise. Its own texts may hold names of keys."""
    from obstore.exceptions import AlreadyExistsError, BaseError

    try:
        yield
    except AlreadyExistsError:
        raise FileExistsError("there is an object of this name") from None
    except (BaseError, FileNotFoundError) as error:
        raise store_error(error) from None


def _entry(found: Mapping[str, Any]) -> FileEntry:
    modified: datetime = found["last_modified"]
    return FileEntry(found["path"], found["size"], modified, f"{found['e_tag']}-{modified.timestamp()}")
