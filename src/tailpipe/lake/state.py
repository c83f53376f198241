"""What is known of a partition: its manifests, folded one after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import msgspec

from tailpipe.lake.extent import lacking
from tailpipe.lake.known import Artifacts, Key
from tailpipe.lake.manifest import (
    Failure,
    Header,
    KnownArtifact,
    Manifest,
    RunReport,
    Windows,
    read_windows,
)
from tailpipe.times import Window, day_window, merge, subtract

# Clocks of two collectors may differ by less than this.
CLOCK_TOLERANCE = timedelta(hours=1)


@dataclass(frozen=True)
class PartitionState:
    """What is collected of a partition at one version of its application transaction.

    `asked` and `covered` are windows by source: `claimed` is what runs have looked at, `covered` the same without times
    of which a known artifact lacks rows, unless it is gone. `failures` are those that no later run made good.
    `unfolded` counts manifests since the last snapshot.
    """

    version: int = 0
    artifacts: Artifacts = field(default_factory=Artifacts)
    asked: Mapping[str, Windows] = field(default_factory=dict)
    covered: Mapping[str, Windows] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    reject_files: tuple[str, ...] = ()
    last_run: RunReport | None = None
    unfolded: int = 0
    claimed: Mapping[str, Windows] = field(default_factory=dict)

    @property
    def is_new(self) -> bool:
        return not self.artifacts.are_kept


def fold(version: int, manifests: Iterable[Manifest]) -> PartitionState:
    """Manifests oldest first; the first may be a snapshot, which stands for all before it."""
    folding = _Folding()
    for manifest in manifests:
        folding.add(manifest)
    return PartitionState(
        version,
        Artifacts(folding.artifacts),
        folding.asked,
        _without_lacking(folding.covered, folding.artifacts.values()),
        tuple(folding.failures.values()),
        tuple(folding.rejects),
        folding.last_run,
        folding.unfolded,
        folding.covered,
    )


@dataclass
class _Folding:
    artifacts: dict[Key, KnownArtifact] = field(default_factory=dict)
    asked: dict[str, Windows] = field(default_factory=dict)
    covered: dict[str, Windows] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    rejects: dict[str, None] = field(default_factory=dict)
    last_run: RunReport | None = None
    unfolded: int = 0

    def add(self, manifest: Manifest) -> None:
        header = manifest.header
        self.unfolded = 0 if header.is_snapshot else self.unfolded + 1
        if header.deleted:
            self._delete(read_windows(header.deleted))
        for record in manifest.artifacts:
            known = self.artifacts.get(record.key)
            # Of several that lay at one place, the last one seen there comes last.
            if known is not None and (known.location, known.version) != (record.location, record.version):
                del self.artifacts[record.key]
            self.artifacts[record.key] = record
        for path in header.removed_rejects:
            self.rejects.pop(path, None)
        self.rejects |= dict.fromkeys(header.rejects)
        _widen(self.asked, header.asked)
        if header.report and header.covered and not header.is_snapshot:
            self._doubt(header.report.started_at)
        _widen(self.covered, header.covered)
        if not header.is_snapshot:
            self._uncover(header)
        self._settle_failures(header, manifest.artifacts)
        self.last_run = header.report or self.last_run

    def _delete(self, windows: Windows) -> None:
        for known in (self.asked, self.covered):
            for source, covered in list(known.items()):
                known[source] = without(covered, windows)
        for key, record in list(self.artifacts.items()):
            kept = without(record.kept, windows)
            if kept != record.kept:
                self.artifacts[key] = _without_rows(record, windows, kept)

    def _doubt(self, now: datetime) -> None:
        """A run began now: what others say they have seen of a later time, they said by a wrong clock."""
        self.covered = {source: believed(windows, now) for source, windows in self.covered.items()}

    def _uncover(self, header: Header) -> None:
        """A day that failed is pending again, though an earlier run may have found it complete."""
        failed = [day for failure in header.failures if (day := failed_day(failure.label))]
        for source in self.covered.keys() & header.asked.keys():
            self.covered[source] = without(self.covered[source], failed)

    def _settle_failures(self, header: Header, records: Iterable[KnownArtifact]) -> None:
        """A failure is made good by a commit of its unit or artifact, or by a run that covers its day."""
        self.failures.pop(header.unit, None)
        if self.failures:
            for record in records:
                self.failures.pop(record.location, None)
            covered = [read_windows(windows) for windows in header.covered.values()]
            for label in list(self.failures):
                if covered and all(_touches(windows, label) for windows in covered):
                    del self.failures[label]
        self.failures |= {failure.label: failure for failure in header.failures}


def believed(covered: Windows, now: datetime) -> Windows:
    """What was claimed by a clock that was ahead of now says nothing, neither of the future nor of the past."""
    if any(window.end - now >= CLOCK_TOLERANCE for window in covered):
        return ()
    return covered


def _without_lacking(
    covered: Mapping[str, Windows], records: Iterable[KnownArtifact]
) -> Mapping[str, Windows]:
    """Whatever was looked at: rows of known artifacts that are not kept are still to come, if they can."""
    missing: dict[str, set[Window]] = {}
    for record in records:
        if not record.is_gone:
            missing.setdefault(record.source, set()).update(lacking(record))
    return {source: without(windows, missing.get(source, ())) for source, windows in covered.items()}


def without(windows: Windows, deleted: Iterable[Window]) -> Windows:
    return tuple(part for window in windows for part in subtract(window, deleted))


def _without_rows(record: KnownArtifact, deleted: Windows, kept: Windows) -> KnownArtifact:
    """Where the windows hold all its rows, none are stored; else nobody has counted how many still are."""
    if not kept:
        record = msgspec.structs.replace(record, rows=record.rows - record.rejected, rejected=0)
    if record.first is None or record.last is None:
        return msgspec.structs.replace(record, kept=kept)
    if subtract(Window(record.first, record.last + timedelta.resolution), deleted):
        return msgspec.structs.replace(record, kept=kept)
    outside = record.outside + record.stored
    return msgspec.structs.replace(record, kept=kept, stored=0, outside=outside, first=None, last=None)


def _touches(windows: Windows, label: str) -> bool:
    """Runs cover no day that failed in them. What has no day is settled by any run that ended."""
    day = failed_day(label)
    return day is None or any(window.overlaps(day) for window in windows)


def failed_day(label: str) -> Window | None:
    """The day that a failure's label names; None for an artifact without a date."""
    try:
        return day_window(date.fromisoformat(label))
    except ValueError:
        return None


def _widen(known: dict[str, Windows], texts: Mapping[str, tuple[str, ...]]) -> None:
    for source, windows in texts.items():
        known[source] = merge([*known.get(source, ()), *read_windows(windows)])
