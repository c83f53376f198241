"""One atomic change of a partition: begun on a known version, committed once, and begun again by one policy.

| it ends with     | of its change is visible                   | files it wrote |
|------------------|--------------------------------------------|----------------|
| a version        | all                                        | stay           |
| `ConflictError`  | nothing: another process committed first   | are taken back |
| `LakeError`      | nothing                                    | are taken back |
| `UnknownOutcome` | nobody can say                             | stay           |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self, TypeVar

from tailpipe.errors import ConflictError, LakeError, TooManyConflicts, UnknownOutcome
from tailpipe.lake.facts import FileFact
from tailpipe.lake.history import (
    SNAPSHOT,
    all_names,
    is_of_before,
    manifest_name,
    next_version,
    recent_names,
    state_at,
)
from tailpipe.lake.manifest import Failure, Header, KnownArtifact, RunReport, Windows, windows_text
from tailpipe.lake.manifest_file import Manifest, write_manifest
from tailpipe.lake.paths import manifest_path
from tailpipe.lake.presence import staying
from tailpipe.lake.removal import LiveFile
from tailpipe.lake.state import PartitionState

if TYPE_CHECKING:
    from tailpipe.lake.evolution import Evolution
    from tailpipe.lake.log import TableLog

T = TypeVar("T")

MAX_ATTEMPTS = 5
# A commit that lost to one that does not concern it is made again at once, so often at most.
MAX_APPENDS = 20
# So many manifests may have to be read to know a partition before a snapshot takes their place. In a bucket each is a
# request.
MANIFESTS_PER_SNAPSHOT = 64
MANIFESTS_PER_SNAPSHOT_IN_BUCKET = 12


@dataclass(frozen=True)
class Change:
    """Files that come and go, what they were made of, and what a run claims. See `manifest.Header` for the words."""

    partition: str
    kind: str
    unit: str
    run: str
    files: tuple[FileFact, ...] = ()
    removed: tuple[LiveFile, ...] = ()
    rejects: tuple[str, ...] = ()
    removed_rejects: tuple[str, ...] = ()
    artifacts: tuple[KnownArtifact, ...] = ()
    asked: Mapping[str, Windows] = field(default_factory=dict)
    covered: Mapping[str, Windows] = field(default_factory=dict)
    deleted: Windows = ()
    expired: Windows = ()
    failures: tuple[Failure, ...] = ()
    report: RunReport | None = None


@dataclass(frozen=True)
class Restoration:
    """Files that come and go in all partitions of a table, on top of its version `base`, and the states that these take
    on. `versions` are those of their application transactions at `base`."""

    kind: str
    unit: str
    run: str
    base: int
    files: tuple[FileFact, ...]
    removed: tuple[LiveFile, ...]
    versions: Mapping[str, int]
    states: Mapping[str, PartitionState]


class Transaction:
    """A context that takes back what was written in it, unless a commit may have made it visible."""

    def __init__(self, log: TableLog, version: int) -> None:
        self._log = log
        self._version = version
        self._written: dict[str, None] = {}
        self._may_be_visible = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._may_be_visible:
            self._log.address.discard(self._written)

    def wrote(self, paths: Iterable[str]) -> None:
        """Files of the table that belong to this change alone."""
        self._written |= dict.fromkeys(paths)

    def commit(self, change: Change) -> int:
        """Makes the change visible. Returns the version on which the next one may begin."""
        version = next_version(self._version)
        with staying(self._log.address), self._committing():
            with self._log.telling(f"commit of {change.partition} {change.unit}".rstrip()):
                self._log.check(change, self._version)
                manifest = self._write_manifest(change, version)
            self._append(change, manifest, version)
        return version

    def rearrange(self, change: Change) -> None:
        """Files come in place of others that have the same rows; what is known of the partition stays as it is."""
        what = f"{change.kind} of {change.partition} {change.unit}"
        with staying(self._log.address), self._committing():
            with self._log.telling(what):
                self._log.check(change, None)
            self._append(change, change.run, None)

    def change_schema(self, evolution: Evolution, files: Iterable[FileFact]) -> None:
        """Of a table; the files come in place of all others where values are converted."""
        with self._committing():
            self._log.append_schema(evolution, files)

    def restore(self, restoration: Restoration) -> int:
        """Of a table, unless anybody committed meanwhile. Returns its version."""
        moved = {partition: next_version(version) for partition, version in restoration.versions.items()}
        written: list[str] = []
        with staying(self._log.address), self._committing():
            try:
                with self._log.telling(restoration.kind):
                    for partition, version in moved.items():
                        written += self._write_restored(restoration, partition, version)
                return self._log.append_restoration(restoration, moved)
            except ConflictError:
                self._log.address.discard(written)
                raise

    def _append(self, change: Change, mark: str, version: int | None) -> None:
        """The library takes any removal of files for a conflict, also in another partition: what the change needs is
        looked at again, and where it is still so, the change is made on top of the other one."""
        begun = self._version if version is not None else None
        for _ in range(MAX_APPENDS - 1):
            try:
                self._log.append(change, mark, version)
                return
            except ConflictError:
                with self._log.telling(f"{change.kind} of {change.partition} {change.unit}".rstrip()):
                    self._log.check(change, begun)
        self._log.append(change, mark, version)

    @contextmanager
    def _committing(self) -> Iterator[None]:
        """An interruption may come when the commit is done: then files must stay."""
        self._may_be_visible = True
        try:
            yield
        except UnknownOutcome:
            raise
        except LakeError:
            self._may_be_visible = False
            raise

    def _write_manifest(self, change: Change, version: int) -> str:
        """Returns when it is safe on its disk, and the snapshot too where one is due."""
        history = recent_names(self._log.address, change.partition, self._version)
        most = MANIFESTS_PER_SNAPSHOT_IN_BUCKET if self._log.address.storage else MANIFESTS_PER_SNAPSHOT
        if len(history) > most or is_of_before(self._version) or change.kind == SNAPSHOT:
            history = (self._write_snapshot(change, version, history),)
        return self._write(manifest_name(version), manifest_of(change, history))

    def _write_snapshot(self, change: Change, version: int, names: tuple[str, ...]) -> str:
        """What was known before the change."""
        address, partition = self._log.address, change.partition
        state = state_at(address, partition, self._version)
        history = all_names(address, partition, self._version) if is_of_before(self._version) else names
        name = manifest_name(version, is_snapshot=True)
        self._write(name, snapshot(partition, change.run, state, history))
        return name

    def _write_restored(self, restoration: Restoration, partition: str, version: int) -> Iterator[str]:
        """A snapshot of the state of then in place of all that is known now, and a manifest that tells of it."""
        address, begun = self._log.address, restoration.versions[partition]
        names = (all_names if is_of_before(begun) else recent_names)(address, partition, begun)
        name = manifest_name(version, is_snapshot=True)
        state = restoration.states[partition]
        yield self._write(name, snapshot(partition, restoration.run, state, names))
        before = state_at(address, partition, begun).reject_files
        told = Change(
            partition,
            restoration.kind,
            restoration.unit,
            restoration.run,
            # The snapshot says the same; these say which came and went.
            rejects=tuple(path for path in state.reject_files if path not in before),
            removed_rejects=tuple(path for path in before if path not in state.reject_files),
        )
        yield self._write(manifest_name(version), manifest_of(told, (name,)))

    def _write(self, name: str, manifest: Manifest) -> str:
        path = manifest_path(manifest.header.partition, name)
        write_manifest(self._log.address, path, manifest)
        self.wrote([path])
        return path


def manifest_of(change: Change, history: tuple[str, ...] = ()) -> Manifest:
    return Manifest.of(_header(change, history), change.artifacts)


def snapshot(partition: str, run: str, state: PartitionState, history: tuple[str, ...] = ()) -> Manifest:
    """All that the state knows, in one manifest that stands for those named."""
    known = Change(
        partition,
        SNAPSHOT,
        "",
        run,
        rejects=state.reject_files,
        asked=state.asked,
        covered=state.claimed,
        expired=state.expired,
        failures=state.failures,
        report=state.last_run,
    )
    return Manifest(_header(known, history, is_snapshot=True), state.artifacts)


def _header(change: Change, history: tuple[str, ...], *, is_snapshot: bool = False) -> Header:
    return Header(
        partition=change.partition,
        kind=change.kind,
        unit=change.unit,
        run=change.run,
        written_at=datetime.now(UTC),
        files=tuple(fact.path for fact in change.files),
        rejects=change.rejects,
        removed_rejects=change.removed_rejects,
        asked=_texts(change.asked),
        covered=_texts(change.covered),
        deleted=windows_text(change.deleted),
        expired=windows_text(change.expired),
        failures=change.failures,
        report=change.report,
        is_snapshot=is_snapshot,
        history=history,
    )


def _texts(windows: Mapping[str, Windows]) -> dict[str, tuple[str, ...]]:
    return {source: windows_text(parts) for source, parts in windows.items()}


@dataclass
class Attempts:
    """The policy of beginning again after a conflict: so many attempts at most, counted anew after each that found less
    to do, because then the other process does the same work."""

    name: str
    most: int = MAX_ATTEMPTS
    count: int = 0

    def conflicted(self, *, is_less_left: bool = False) -> None:
        """Raises TooManyConflicts when it is enough."""
        self.count = 0 if is_less_left else self.count + 1
        if self.count >= self.most:
            raise TooManyConflicts(
                f"{self.name}: other collectors were faster {self.most} times",
                hint="run again when they are done; nothing was lost and nothing was stored twice",
            )


def until_committed(name: str, attempt: Callable[[], T], most: int = MAX_ATTEMPTS) -> T:
    """Begins again, on top of what the other one committed, when another process was faster."""
    attempts = Attempts(name, most)
    while True:
        try:
            return attempt()
        except ConflictError:
            attempts.conflicted()
