"""What the listing of a source showed: counts, examples, and what could not be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tailpipe.sources.artifact import SkipReason


@dataclass(frozen=True)
class ListingFailure:
    """`place` is a location, or `source …` where nothing of the source could be listed."""

    place: str
    message: str


@dataclass(frozen=True)
class Listing:
    """What one source showed, and why things were left alone. Texts are examples.

    `matched` are those that could be logs of this source: they fit the layout, and can be read. `twice` are new to
    this source and were collected by another one of the partition. `skip_examples` and `skip_hints` are by reason,
    as `skipped` is. `folders_outside` were not looked into. `failures` tell what could not be listed. `unended` are
    known but for a last line that still waits for its end. `lost` have rows of the window that are not kept, and are
    not in the source any more. `doubted` is a time after now up to which an earlier run says it looked.
    """

    source: str
    type: str
    listed: int = 0
    matched: int = 0
    planned: int = 0
    known: int = 0
    skipped: Mapping[SkipReason, int] = field(default_factory=dict)
    skip_examples: Mapping[SkipReason, str] = field(default_factory=dict)
    skip_hints: Mapping[SkipReason, str] = field(default_factory=dict)
    folders_outside: int = 0
    failures: tuple[ListingFailure, ...] = ()
    grown: int = 0
    replaced: int = 0
    moved: int = 0
    gone: int = 0
    twice: int = 0
    twice_example: str | None = None
    late_example: str | None = None
    waiting_example: str | None = None
    unended: int = 0
    unended_example: str | None = None
    replaced_example: str | None = None
    newest: str | None = None
    lost: int = 0
    lost_example: str | None = None
    doubted: str | None = None
