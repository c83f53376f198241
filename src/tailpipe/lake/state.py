"""What is known of a partition: its manifests, folded one after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from tailpipe.arrow import pa, pc
from tailpipe.lake.extent import lacking
from tailpipe.lake.known import Artifacts
from tailpipe.lake.manifest import Failure, Header, RunReport, Windows, read_windows
from tailpipe.lake.manifest_file import Manifest, Rows
from tailpipe.times import Window, day_window, merge, subtract, without

# Clocks of two collectors may differ by less than this.
CLOCK_TOLERANCE = timedelta(hours=1)


@dataclass(frozen=True)
class PartitionState:
    """What is collected of a partition at one version of its application transaction.

    `asked` and `claimed` are windows by source: `claimed` is what runs have looked at, `covered` the same without times
    of which a known artifact lacks rows, unless it is gone. `expired` is what left by its age and was not asked for
    since. `failures` are those that no later run made good.
    """

    version: int = 0
    artifacts: Artifacts = field(default_factory=Artifacts)
    asked: Mapping[str, Windows] = field(default_factory=dict)
    claimed: Mapping[str, Windows] = field(default_factory=dict)
    expired: Windows = ()
    failures: tuple[Failure, ...] = ()
    reject_files: tuple[str, ...] = ()
    last_run: RunReport | None = None

    @property
    def is_new(self) -> bool:
        return not self.artifacts.is_kept.any()

    @cached_property
    def covered(self) -> Mapping[str, Windows]:
        """Whatever was looked at: rows of known artifacts that are not kept are still to come, if they can."""
        missing: dict[str, set[Window]] = {}
        for known, _ in self.artifacts.alike() if any(self.claimed.values()) else ():
            if not known.is_gone:
                missing.setdefault(known.source, set()).update(lacking(known))
        return {source: without(windows, missing.get(source, ())) for source, windows in self.claimed.items()}


def fold(version: int, manifests: Iterable[Manifest]) -> PartitionState:
    """Manifests oldest first; the first may be a snapshot, which stands for all before it."""
    folding = _Folding()
    for manifest in manifests:
        folding.add(manifest)
    return PartitionState(
        version,
        Artifacts(folding.rows, folding.deletions),
        folding.asked,
        folding.claimed,
        folding.expired,
        tuple(folding.failures.values()),
        tuple(folding.rejects),
        folding.last_run,
    )


@dataclass
class _Folding:
    rows: list[Rows] = field(default_factory=list)
    deletions: list[tuple[int, Windows]] = field(default_factory=list)
    asked: dict[str, Windows] = field(default_factory=dict)
    claimed: dict[str, Windows] = field(default_factory=dict)
    expired: Windows = ()
    failures: dict[str, Failure] = field(default_factory=dict)
    rejects: dict[str, None] = field(default_factory=dict)
    last_run: RunReport | None = None

    def add(self, manifest: Manifest) -> None:
        header = manifest.header
        if header.deleted:
            self._delete(read_windows(header.deleted))
        self.rows.append(manifest.rows)
        for path in header.removed_rejects:
            self.rejects.pop(path, None)
        self.rejects |= dict.fromkeys(header.rejects)
        _widen(self.asked, header.asked)
        self._expire(header)
        if header.report and header.covered and not header.is_snapshot:
            self._doubt(header.report.started_at)
        _widen(self.claimed, header.covered)
        if not header.is_snapshot:
            self._uncover(header)
        self._settle_failures(header, manifest.rows)
        self.last_run = header.report or self.last_run

    def _delete(self, windows: Windows) -> None:
        self.deletions.append((len(self.rows), windows))
        for known in (self.asked, self.claimed):
            for source, parts in list(known.items()):
                known[source] = without(parts, windows)

    def _expire(self, header: Header) -> None:
        """What is asked for again is not expired any more."""
        if header.expired:
            self.expired = merge([*self.expired, *read_windows(header.expired)])
            self.failures = {
                label: failure
                for label, failure in self.failures.items()
                if failure.day is None or subtract(day_window(failure.day), self.expired)
            }
        for texts in () if header.is_snapshot or not self.expired else header.asked.values():
            self.expired = without(self.expired, read_windows(texts))

    def _doubt(self, now: datetime) -> None:
        """A run began now: what others say they have seen of a later time, they said by a wrong clock."""
        self.claimed = {source: believed(windows, now) for source, windows in self.claimed.items()}

    def _uncover(self, header: Header) -> None:
        """A day that failed is pending again, though an earlier run may have found it complete."""
        failed = [day_window(failure.day) for failure in header.failures if failure.day]
        for source in self.claimed.keys() & header.asked.keys():
            self.claimed[source] = without(self.claimed[source], failed)

    def _settle_failures(self, header: Header, rows: Rows) -> None:
        """A failure is made good by a commit of its unit or artifact, or by a run that covers its day."""
        self.failures.pop(header.unit, None)
        if self.failures:
            covered = [read_windows(windows) for windows in header.covered.values()]
            read = _locations_in(rows, self.failures.values())
            for label, failure in list(self.failures.items()):
                is_covered = covered and all(_touches(windows, failure) for windows in covered)
                if is_covered or failure.location in read:
                    del self.failures[label]
        self.failures |= {failure.label: failure for failure in header.failures}


def believed(covered: Windows, now: datetime) -> Windows:
    """What was claimed by a clock that was ahead of now says nothing, neither of the future nor of the past."""
    if any(window.end - now >= CLOCK_TOLERANCE for window in covered):
        return ()
    return covered


def _locations_in(rows: Rows, failures: Iterable[Failure]) -> set[str]:
    """Locations of failures that are those of artifacts in the rows."""
    wanted = [failure.location for failure in failures if failure.location]
    if not wanted or not rows.num_rows:
        return set()
    locations = rows.select(["location"]).column(0)
    return set(locations.filter(pc.is_in(locations, pa.array(wanted, pa.string()))).to_pylist())


def _touches(windows: Windows, failure: Failure) -> bool:
    """Runs cover no day that failed in them. What has no day is settled by any run that ended."""
    if failure.day is None:
        return True
    return any(window.overlaps(day_window(failure.day)) for window in windows)


def _widen(known: dict[str, Windows], texts: Mapping[str, tuple[str, ...]]) -> None:
    for source, windows in texts.items():
        known[source] = merge([*known.get(source, ()), *read_windows(windows)])
