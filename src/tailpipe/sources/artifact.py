"""The values that sources exchange with the rest: artifacts, and what a listing saw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import BinaryIO

import msgspec

from tailpipe.records import Mark
from tailpipe.times import Window


class Artifact(msgspec.Struct, frozen=True, gc=False):
    """One thing a source can hand over. A struct, because there are hundreds of thousands.

    `location` names it within its source, `version` changes when its content does (size and modification
    time, or an etag). `span` is the time its path claims; None means undated: rows go to their own days.
    `captures` are the layout's named fields. `modified` is when it last changed, where the source knows.

    `start` says where reading goes on: what lies before it was read in an earlier run. With `waits_after`, plain
    content after both that offset and the last line end is left alone: whoever writes the file is still at it.
    """

    location: str
    size_bytes: int
    version: str
    span: Window | None = None
    captures: Mapping[str, str] = {}
    modified: datetime | None = None
    start: Mark | None = None
    waits_after: int | None = None


class SkipReason(StrEnum):
    """Why a thing that was listed is not taken: a code that is counted, and words for people, who see it in numbers."""

    words: str

    def __new__(cls, code: str, words: str = "") -> SkipReason:
        reason = str.__new__(cls, code)
        reason._value_, reason.words = code, words or code
        return reason

    LAYOUT = "layout", "do not match the file_layout"
    OUTSIDE_WINDOW = "outside window", "outside the window"
    # A folder whose path tells that all in it is outside the window: it was not looked into.
    FOLDER_OUTSIDE_WINDOW = "folder outside window"
    LATE = "late", "too late"
    EXPIRED = "expired", "of expired days"
    WAITING = "waiting"
    EMPTY = "empty"
    NOT_A_FILE = "not a regular file"
    DANGLING_LINK = "dangling link"
    CIRCULAR_LINK = "link in a circle"
    LONG_PATH = "path is too long"
    NOT_UTF8 = "name is not UTF-8"


@dataclass(frozen=True)
class Skipped:
    """A thing that was listed but not taken, and why. `hint` says what a user can do if nothing else was found."""

    location: str
    reason: SkipReason
    hint: str | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for other words, which nobody could put into a sentence."""
        object.__setattr__(self, "reason", SkipReason(self.reason))


@dataclass(frozen=True)
class Unlisted:
    """A place that could not be looked at, so that nobody knows which artifacts it has. The rest is listed."""

    location: str
    error: str
    hint: str | None = None


Listed = Artifact | Skipped | Unlisted


class Source(ABC):
    """A configured source, which inherits what it cannot do.

    Frozen and picklable: `open` runs on executors, everything else on the driver. With `can_recognise`, it tells
    content that it handed over before wherever that lies now, and the streams it opens can seek.
    """

    type: str
    name: str
    can_recognise = False

    @abstractmethod
    def list(self, window: Window) -> Iterator[Listed]:
        """Every artifact whose span is unknown or overlaps the window; others may be left unlisted.

        An exception leaves the whole source out of the run.
        """

    @abstractmethod
    def open(self, artifact: Artifact) -> AbstractContextManager[BinaryIO]:
        """The artifact's bytes as they are stored, still compressed."""

    def head(self, location: str) -> bytes | None:
        """The first plain bytes, at most HEAD_BYTES; None where nothing can be read."""
        return None

    def holds(self, location: str, mark: Mark) -> bool:
        """Whether the plain content at the location begins with what the mark was made of."""
        return False

    def goes_on_at_line_end(self, location: str, mark: Mark) -> bool:
        """Whether a new line follows the mark, and not the rest of a last line that was taken for whole."""
        return False

    @property
    def capture_names(self) -> tuple[str, ...]:
        """What the layout says of an artifact beside its date."""
        return ()

    def captures(self, location: str) -> Mapping[str, str]:
        """What the layout captures of an artifact that was listed at the location, whether it is still there or not."""
        return {}
