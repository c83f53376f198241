"""Which rejects of a partition are tried again, and which stay and why. Starts no engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from tailpipe.collect.retry_reading import CHOICE_COLUMNS, Choice
from tailpipe.collect.target import Target
from tailpipe.collect.windows import ALWAYS
from tailpipe.lake.address import TableAddress
from tailpipe.lake.facts import ArtifactSlot
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.lake.quarantine import is_within, prefixes_of, read_file, record_prefixes
from tailpipe.lake.state import PartitionState
from tailpipe.records import is_final
from tailpipe.sources.artifact import Capturing
from tailpipe.times import Window

UNIT = "retry"

_CUT_OFF = (
    "of which too little was kept to judge them anew",
    "after a change of the format, `tailpipe collect --overwrite` reads the files again",
)
_FORGOTTEN = (
    "of artifacts that were deleted from the lake",
    "`tailpipe collect --from …` reads them again; `tailpipe rejects drop` takes the rejects out",
)


@dataclass(frozen=True)
class Left:
    """Rejects that were not tried; `reason` goes on after their number: `of source …`."""

    rejects: int
    reason: str
    hint: str


@dataclass(frozen=True)
class RetriedArtifact:
    """`artifact` is where it lay when its records were rejected."""

    prefix: str
    artifact: str
    record: KnownArtifact
    rejects: int


@dataclass(frozen=True)
class RetryPlan:
    """`feeds` are, by number of the feed, the artifacts whose rejects are tried; `files` hold these."""

    target: Target
    state: PartitionState
    window: Window | None
    feeds: Mapping[int, tuple[RetriedArtifact, ...]] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()

    @property
    def rejects(self) -> int:
        return sum(item.rejects for items in self.feeds.values() for item in items)

    def choice(self, number: int | None = None) -> Choice:
        """The rejects of one feed, whose slots are numbered as its artifacts are; or of all."""
        chosen = self.feeds.values() if number is None else [self.feeds[number]]
        slots = tuple((item.prefix, item.artifact) for items in chosen for item in items)
        return Choice(slots, self.window)

    def slots(self, number: int) -> list[ArtifactSlot]:
        """Rows become what they would have become when their artifact was read."""
        source = self.target.feeds[number].source
        return [
            ArtifactSlot(
                unit=UNIT,
                source=source.name,
                location=item.artifact,
                id_prefix=item.prefix.encode(),
                constants={
                    **item.record.constants,
                    "tp_table": self.target.config.table,
                    "tp_source_type": source.type,
                    "tp_source_location": item.artifact,
                },
                captures=source.captures(item.artifact) if isinstance(source, Capturing) else {},
                keep=() if item.record.kept == (ALWAYS,) else item.record.kept,
            )
            for item in self.feeds[number]
        ]

    def without(self, number: int, reason: str, hint: str) -> RetryPlan:
        """The plan, if the rejects of a feed cannot be tried."""
        rejects = sum(item.rejects for item in self.feeds[number])
        rest = {key: items for key, items in self.feeds.items() if key != number}
        return replace(self, feeds=rest, left=(*self.left, Left(rejects, reason, hint)))


def plan_retry(
    address: TableAddress, target: Target, state: PartitionState, window: Window | None
) -> RetryPlan:
    """Reads whose the rejects are, but not their texts."""
    planning = _Planning(target, record_prefixes(target.name, state))
    for path in state.reject_files:
        rows = read_file(address, path, [*CHOICE_COLUMNS, "source", "records"])
        if planning.add(rows.filter(is_within(rows, window))):
            planning.files.append(path)
    return RetryPlan(target, state, window, planning.feeds(), tuple(planning.files), planning.all_left())


@dataclass
class _Planning:
    target: Target
    records: Mapping[str, KnownArtifact]
    files: list[str] = field(default_factory=list)
    tried: Counter[tuple[str, str]] = field(default_factory=Counter)
    left: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.numbers = {feed.source.name: number for number, feed in enumerate(self.target.feeds)}

    def add(self, rows: pa.Table) -> bool:
        """Whether any of the rejects is to be tried."""
        before = self.tried.total()
        for group in _groups(rows):
            prefix, artifact, source = group["prefix"], group["artifact"], group["source"]
            if prefix not in self.records:
                self.left[_FORGOTTEN] += group["records_sum"]
            elif source not in self.numbers:
                self.left[self._unknown_source(source)] += group["records_sum"]
            elif group["is_final"]:
                self.left[_CUT_OFF] += group["records_sum"]
            else:
                self.tried[prefix, artifact] += group["records_sum"]
        return self.tried.total() > before

    def feeds(self) -> dict[int, tuple[RetriedArtifact, ...]]:
        found: dict[int, list[RetriedArtifact]] = {}
        for (prefix, artifact), rejects in self.tried.items():
            record = self.records[prefix]
            item = RetriedArtifact(prefix, artifact, record, rejects)
            found.setdefault(self.numbers[record.source], []).append(item)
        return {number: tuple(items) for number, items in sorted(found.items())}

    def all_left(self) -> tuple[Left, ...]:
        return tuple(Left(rejects, *why) for why, rejects in self.left.items())

    def _unknown_source(self, source: str) -> tuple[str, str]:
        known = ", ".join(self.numbers)
        return (
            f'of source "{source}", which {self.target.name} does not have now',
            f"configured: {known}; `tailpipe rejects drop {self.target.name}` takes them out",
        )


def _groups(rows: pa.Table) -> list[dict[str, Any]]:
    groups = (
        rows.append_column("prefix", prefixes_of(rows.column("id")))
        .append_column("is_final", is_final(rows.column("code")))
        .group_by(["prefix", "artifact", "source", "is_final"], use_threads=False)
        .aggregate([("records", "sum")])
    )
    found: list[dict[str, Any]] = groups.to_pylist()
    return found
