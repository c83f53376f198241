"""A file as it was when it was listed, whatever is done to it since."""

from __future__ import annotations

import io
import os
import stat
from typing import Any

from tailpipe.errors import ArtifactError
from tailpipe.sources.artifact import Artifact
from tailpipe.sources.decompress import MAGIC_BYTES, kind_of
from tailpipe.sources.fingerprint import HEAD_BYTES


def version_of(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"


def open_file(location: str) -> io.FileIO:
    """Fails for what is no regular file, and waits for nobody."""
    file = io.FileIO(location, opener=_open_at_once)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ArtifactError(f"{location}: not a regular file")
    return file


def _open_at_once(path: str, flags: int) -> int:
    """A pipe that took a file's place would be waited for until somebody writes into it."""
    return os.open(path, flags | os.O_NONBLOCK)


class ListedFile(io.FileIO):
    """Ends where the file ended when it was listed. Opening fails where that much of it cannot be there any more.

    Plain files may have grown. Compressed ones may not: who writes one has not finished it.
    """

    def __init__(self, artifact: Artifact) -> None:
        super().__init__(artifact.location, opener=_open_at_once)
        self._artifact = artifact
        self._head = b""
        try:
            if stat.S_ISREG(os.fstat(self.fileno()).st_mode):
                self._head = os.pread(self.fileno(), HEAD_BYTES, 0)
            self._check_listed()
        except BaseException:
            self.close()
            raise

    def read(self, size: int | None = -1) -> bytes:
        left = self._left()
        return super().read(left if size is None or size < 0 else min(size, left)) or b""

    def readall(self) -> bytes:
        return b"".join(iter(self.read, b""))

    def readinto(self, buffer: Any) -> int:
        return super().readinto(memoryview(buffer)[: self._left()]) or 0

    def _left(self) -> int:
        return max(0, self._artifact.size_bytes - self.tell())

    def _check_listed(self) -> None:
        status = os.fstat(self.fileno())
        if version_of(status) == self._artifact.version:
            return
        name, size_bytes = self._artifact.location, self._artifact.size_bytes
        is_same_file = self._artifact.version.endswith(f"-{status.st_ino}")
        if is_same_file and status.st_size < size_bytes:
            raise ArtifactError(
                f"{name}: the file was cut from {size_bytes:,} to {status.st_size:,} bytes after it was listed"
            )
        has_grown = is_same_file and status.st_size > size_bytes
        if not has_grown or kind_of(self._head[:MAGIC_BYTES], name):
            raise ArtifactError(f"{name}: the file changed after it was listed")

    def check_unchanged(self) -> None:
        """Fails where bytes that were read may have been others than those that were listed."""
        status = os.fstat(self.fileno())
        if version_of(status) == self._artifact.version:
            return
        has_grown = status.st_size > self._artifact.size_bytes
        if not has_grown or os.pread(self.fileno(), len(self._head), 0) != self._head:
            raise ArtifactError(f"{self._artifact.location}: the file changed while it was read")
