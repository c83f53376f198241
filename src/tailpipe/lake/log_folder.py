"""The folder of a Delta log: entries, checkpoints and all else that belongs to versions, with times of the store."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from tailpipe.lake.address import TableAddress
from tailpipe.lake.files import FileEntry
from tailpipe.lake.paths import LAST_CHECKPOINT, LOG, entry_version

_CHECKPOINT = re.compile(r"([0-9]{20})\.checkpoint\.parquet")
# Names that Delta gives to what belongs to one version; the last of them where there are several.
_OF_VERSION = re.compile(
    r"(?:[0-9]{20}\.)?([0-9]{20})\.(?:json|crc|compacted\.json|checkpoint(?:\.[0-9]{10}\.[0-9]{10})?\.parquet)"
)


@dataclass(frozen=True)
class LogFolder:
    """`files` are all that belong to versions, in their order. At the version `hint` is a checkpoint to begin with."""

    entries: dict[int, FileEntry]
    checkpoints: dict[int, FileEntry]
    files: tuple[tuple[int, FileEntry], ...]
    hint: int | None

    @property
    def oldest(self) -> int:
        """The first version that can be opened."""
        if 0 in self.entries:
            return 0
        return min(self.entries.keys() & self.checkpoints.keys(), default=0)


def read_folder(address: TableAddress) -> LogFolder:
    try:
        found = sorted(address.files.walk(LOG), key=lambda file: file.path)
        hint = _hint(address)
    except OSError as error:
        raise address.unreadable(error) from error
    files = _versions(found, _OF_VERSION)
    return LogFolder(
        entries={version: file for file in found if (version := entry_version(file.path)) is not None},
        checkpoints=dict(_versions(found, _CHECKPOINT)),
        files=tuple(sorted(files, key=lambda each: each[0])),
        hint=hint,
    )


def _versions(files: list[FileEntry], pattern: re.Pattern[str]) -> list[tuple[int, FileEntry]]:
    named = ((pattern.fullmatch(file.path.removeprefix(f"{LOG}/")), file) for file in files)
    return [(int(match[1]), file) for match, file in named if match]


def _hint(address: TableAddress) -> int | None:
    try:
        hint = msgspec.json.decode(address.files.read(LAST_CHECKPOINT))
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    version = hint.get("version") if isinstance(hint, dict) else None
    return version if isinstance(version, int) else None
