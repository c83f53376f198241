"""The Delta log of one table: the only thing that says which files and manifests are true.

A commit carries an application transaction `tailpipe/<partition>`, version n+1. Two collectors of one
partition therefore conflict instead of duplicating, and the loser plans again on top of the winner.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import pyarrow as pa

from tailpipe.errors import ConflictError, LakeError, UnknownOutcome
from tailpipe.lake.address import TableAddress
from tailpipe.lake.delta_errors import delta_message
from tailpipe.lake.evolution import TYPE_KEY as TYPE_KEY
from tailpipe.lake.evolution import Evolution, TypeConflict, as_in, evolve
from tailpipe.lake.facts import FileFact
from tailpipe.lake.known import Artifacts
from tailpipe.lake.manifest import (
    Failure,
    Header,
    KnownArtifact,
    RunReport,
    Windows,
    windows_text,
)
from tailpipe.lake.manifest_columns import as_columns
from tailpipe.lake.manifest_file import Manifest, read_manifest, write_manifest
from tailpipe.lake.paths import LOG, PARTITION_COLUMNS, manifest_path
from tailpipe.lake.presence import Identity, identity, staying
from tailpipe.lake.removal import LiveFile, add_action, live_files, remove_action
from tailpipe.lake.rewriting import Rewriting, change_schema
from tailpipe.lake.state import PartitionState, fold

_MANIFEST_KEY = "tailpipe.manifest"
_PARTITION_KEY = "tailpipe.partition"
_SNAPSHOT_KEY = "tailpipe.snapshot"

_MAX_ATTEMPTS = 5
_ENTRY = re.compile(r"[0-9]{20}\.json")

# Manifests are named by log entries, so the log must keep them: entries are never cleaned up. Each commit reads all
# entries since the last checkpoint, twice: with 25 between checkpoints it takes half of what the usual 100 take.
_CONFIGURATION = {"delta.enableExpiredLogCleanup": "false", "delta.checkpointInterval": "25"}


@dataclass(frozen=True)
class Change:
    """One atomic change: files that come and go, what they were made of, and what a run claims.

    See `manifest.Header` for the words. A snapshot names every artifact, window, failure and reject file there is.
    """

    partition: str
    kind: str
    unit: str
    run: str
    files: tuple[FileFact, ...] = ()
    removed: tuple[LiveFile, ...] = ()
    rejects: tuple[str, ...] = ()
    removed_rejects: tuple[str, ...] = ()
    artifacts: tuple[KnownArtifact, ...] | Artifacts = ()
    asked: Mapping[str, Windows] = field(default_factory=dict)
    covered: Mapping[str, Windows] = field(default_factory=dict)
    deleted: Windows = ()
    failures: tuple[Failure, ...] = ()
    report: RunReport | None = None
    is_snapshot: bool = False


class TableLog:
    """The log as this process last saw it. `schema` is what the table should have now."""

    def __init__(self, address: TableAddress, schema: pa.Schema) -> None:
        self.address = address
        self._schema = schema
        self._delta: Any = None
        self._identity: Identity | None = None
        self._prepared: pa.Schema | None = None

    def refresh(self) -> None:
        self._identity = identity(self.address)
        self._delta = self.address.opened()

    def prepare(self, tell: Callable[[str], None] = lambda what: None) -> dict[str, pa.Field]:
        """Makes the table follow the schema that it should have, and says how data files spell and type its columns.

        Files with narrower types are rewritten, which may take a while: `tell` hears of it before. Raises LakeError
        where stored values do not fit a declared type.
        """
        self.refresh()
        self._prepared = self._evolved(tell) if self._delta is not None else self._schema
        return as_in(self._prepared, self._schema.names)

    def conflicts(self) -> tuple[TypeConflict, ...]:
        """Declared columns whose stored values do not fit; nothing is changed."""
        self.refresh()
        return self._evolution().conflicts if self._delta is not None else ()

    def rewrite(self, *, may_lose: bool) -> Rewriting:
        """What is stored takes on the declared types, in one commit. Values that do not fit are refused, or lost."""
        self.refresh()
        if self._delta is None:
            return Rewriting()
        return self._change_schema(is_forced=True, may_lose=may_lose)[1]

    def state(self, partition: str) -> PartitionState:
        """What the log says now; later commits of this process build on it."""
        self.refresh()
        return fold(self._transaction_version(partition), read_history(self.address, partition))

    def live_files(self, partition: str) -> list[LiveFile]:
        """Data files that are visible now."""
        if self._delta is None:
            return []
        self._delta.update_incremental()
        return live_files(self._delta, partition)

    def commit(self, change: Change, expected_version: int) -> int:
        """Makes the change visible and returns the new version.

        Raises UnknownOutcome if nobody can say whether it is visible; after any other error it is not.
        """
        from deltalake.exceptions import DeltaError

        with staying(self.address):
            try:
                self._ensure_table(change)
                if self._transaction_version(change.partition) != expected_version:
                    raise self._conflict(change.partition)
                name = self._write_manifest(change, expected_version + 1)
            except (DeltaError, OSError) as error:
                raise self._failed(change, error) from error
            self._append(change, name, expected_version + 1)
        return expected_version + 1

    def _transaction_version(self, partition: str) -> int:
        if self._delta is None:
            return 0
        return int(self._delta.transaction_version(_application(partition)) or 0)

    def _ensure_table(self, change: Change) -> None:
        from deltalake import DeltaTable, Schema

        if self._identity != identity(self.address) and self._delta is not None:
            raise self._conflict(change.partition, "deleted")
        if self._delta is None:
            # Two first collections may race: whoever comes second finds the other's table.
            DeltaTable.create(
                self.address.uri,
                Schema.from_arrow(self._schema),
                mode="ignore",
                partition_by=list(PARTITION_COLUMNS),
                configuration=_CONFIGURATION,
                storage_options=dict(self.address.options) or None,
            )
            self.refresh()
        else:
            self._delta.update_incremental()
        if change.files and len(self._schema):
            self._check_prepared(change.partition)

    def _check_prepared(self, partition: str) -> None:
        """Files were written for the schema of the time; another process may have changed it."""
        now = self._evolved()
        prepared = self._prepared if self._prepared is not None else self._schema
        if as_in(now, self._schema.names) != as_in(prepared, self._schema.names):
            raise self._conflict(partition)

    def _evolved(self, tell: Callable[[str], None] = lambda what: None) -> pa.Schema:
        """The table's schema, after it was made to follow what is declared."""
        evolution = self._evolution()
        if evolution.conflicts:
            raise LakeError(
                f"{self.address}: {'; '.join(map(str, evolution.conflicts))}",
                hint=conflict_hint(self._name),
            )
        if evolution.converted:
            tell(f"rewriting {self._name}: {', '.join(map(str, evolution.converted))}")
        return self._change_schema()[0] if evolution.is_changed else evolution.schema

    def _evolution(self, is_forced: bool = False) -> Evolution:
        stored = pa.schema(self._delta.schema().to_arrow())
        evolution = evolve(stored, self._schema, is_forced=is_forced)
        if (evolution.conflicts or evolution.converted) and not live_files(self._delta):
            return evolve(stored, self._schema, is_empty=True)
        return evolution

    def _change_schema(self, is_forced: bool = False, may_lose: bool = False) -> tuple[pa.Schema, Rewriting]:
        """Starts over when another commit came first."""
        from deltalake.exceptions import CommitFailedError, DeltaError

        for _ in range(_MAX_ATTEMPTS):
            evolution = self._evolution(is_forced)
            if not evolution.is_changed:
                return evolution.schema, Rewriting()
            try:
                with staying(self.address):
                    rewriting = change_schema(self._delta, self.address, evolution, may_lose=may_lose)
                self._delta.update_incremental()
                return evolution.schema, rewriting
            except CommitFailedError:
                self._delta.update_incremental()
            except (DeltaError, OSError) as error:
                raise LakeError(
                    f"{self.address}: the schema cannot be changed: {delta_message(error)}",
                    hint="check that the folder can be written and the disk has room",
                ) from error
        raise LakeError(
            f"{self.address}: collectors were faster {_MAX_ATTEMPTS} times; nothing was changed",
            hint="run again when they are done",
        )

    def _write_manifest(self, change: Change, version: int) -> str:
        header = Header(
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
            failures=change.failures,
            report=change.report,
            is_snapshot=change.is_snapshot,
        )
        name = manifest_path(change.partition, f"{version:08d}-{uuid.uuid4().hex}")
        known = change.artifacts
        rows = known if isinstance(known, Artifacts) else as_columns(known)
        write_manifest(self.address, name, Manifest(header, rows))
        return name

    def _append(self, change: Change, manifest: str, version: int) -> None:
        from deltalake import CommitProperties, Transaction
        from deltalake.exceptions import CommitFailedError, DeltaError

        before = self._delta.version()
        marks = {_SNAPSHOT_KEY: "true"} if change.is_snapshot else {}
        properties = CommitProperties(
            custom_metadata={
                _MANIFEST_KEY: manifest,
                _PARTITION_KEY: change.partition,
                "tailpipe.kind": change.kind,
                "tailpipe.unit": change.unit,
                **marks,
            },
            app_transactions=[Transaction(_application(change.partition), version)],
        )
        try:
            self._delta.create_write_transaction(
                [*map(add_action, change.files), *map(remove_action, change.removed)],
                "append",
                self._delta.schema(),
                list(PARTITION_COLUMNS),
                commit_properties=properties,
            )
        except (DeltaError, OSError) as error:
            # What follows the commit, such as a checkpoint, may fail too: the log knows whether it is there.
            if not self._names(manifest, change):
                if isinstance(error, CommitFailedError):
                    raise self._conflict(change.partition) from error
                raise self._failed(change, error) from error
        self._sync_entry(manifest, before)

    def _sync_entry(self, manifest: str, before: int) -> None:
        """The library leaves its entry to the system's buffers: a power cut could leave half of it."""
        version = before + 1
        with suppress(OSError):
            while True:
                path = f"{LOG}/{version:020d}.json"
                with self.address.files.open_input_stream(path) as stream:
                    is_ours = manifest.encode() in stream.read()
                if is_ours:
                    self.address.sync(path)
                    self.address.sync(LOG)
                    return
                version += 1

    def _names(self, manifest: str, change: Change) -> bool:
        try:
            return manifest in manifest_paths(self.address, change.partition)
        except (LakeError, OSError, ValueError) as error:
            raise UnknownOutcome(
                f"{self.address}: commit of {change.partition} {change.unit} broke off: {error}",
                hint="collect again when the lake can be reached: what is there already is not stored twice",
            ) from error

    def _failed(self, change: Change, error: Exception) -> LakeError:
        what = f"commit of {f'{change.partition} {change.unit}'.rstrip()} failed: {delta_message(error)}"
        return LakeError(
            f"{self.address}: {what}. Nothing of it is visible.",
            hint="check that the folder can be written and the disk has room, then collect again",
        )

    def _conflict(self, partition: str, what: str = "collected") -> ConflictError:
        return ConflictError(
            f"{self._name}.{partition} was {what} by another process while this run was writing"
        )

    @property
    def _name(self) -> str:
        return self.address.name


def conflict_hint(table: str) -> str:
    return (
        f"tailpipe table rewrite {table} converts what is stored, tailpipe table delete {table} removes it; "
        "or give the column another name"
    )


def stored_columns(address: TableAddress) -> dict[str, str]:
    """Columns that the table has now with their DuckDB types; none while it was never collected."""
    delta = address.opened()
    return (
        {field.name: str(field.metadata.get(TYPE_KEY) or field.type) for field in delta.schema().fields}
        if delta is not None
        else {}
    )


def read_history(address: TableAddress, partition: str) -> list[Manifest]:
    """Manifests of a partition that still matter, oldest first: the last snapshot and those after it."""
    return [read_manifest(address, path) for path in history_paths(address, partition).get(partition, ())]


def history_paths(address: TableAddress, partition: str | None = None) -> dict[str, list[str]]:
    """The same by their paths, of one partition or of all."""
    paths: dict[str, list[str]] = {}
    is_complete: set[str] = set()
    for entry in _commit_infos(address, newest_first=True):
        name = entry.get(_PARTITION_KEY)
        if name is None or name in is_complete or partition not in (None, name):
            continue
        paths.setdefault(name, []).insert(0, entry[_MANIFEST_KEY])
        if _SNAPSHOT_KEY in entry:
            is_complete.add(name)
            if name == partition:
                break
    return paths


def manifest_paths(address: TableAddress, partition: str | None = None) -> list[str]:
    """Manifests that the log names, oldest first; of one partition or of all."""
    return [
        entry[_MANIFEST_KEY]
        for entry in _commit_infos(address)
        if _MANIFEST_KEY in entry and partition in (None, entry.get(_PARTITION_KEY))
    ]


def _commit_infos(address: TableAddress, newest_first: bool = False) -> Iterator[dict[str, Any]]:
    from pyarrow import fs

    infos = address.files.get_file_info(fs.FileSelector(LOG, allow_not_found=True))
    entries = sorted((info.path for info in infos if _ENTRY.fullmatch(info.base_name)), reverse=newest_first)
    for path in entries:
        try:
            info = _commit_info(address.files, path)
        except (OSError, ValueError) as error:
            raise address.unreadable(error) from error
        if info is not None:
            yield info


def _commit_info(filesystem: Any, path: str) -> dict[str, Any] | None:
    with filesystem.open_input_stream(path) as stream:
        # delta-rs writes commitInfo first; only that line is of interest.
        for line in stream.read().splitlines():
            if line.startswith(b'{"commitInfo"'):
                info: dict[str, Any] = msgspec.json.decode(line)["commitInfo"]
                return info
    return None


def _application(partition: str) -> str:
    return f"tailpipe/{partition}"


def _texts(windows: Mapping[str, Windows]) -> dict[str, tuple[str, ...]]:
    return {source: windows_text(parts) for source, parts in windows.items()}
