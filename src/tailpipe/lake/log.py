"""The Delta log of one table: the only thing that says which files and manifests are true.

A commit carries an application transaction `tailpipe/<partition>`, from one version to the next. Two collectors of one
partition therefore conflict instead of duplicating, and the loser plans again on top of the winner.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import pyarrow as pa

from tailpipe.errors import ConflictError, LakeError, UnknownOutcome
from tailpipe.lake.address import TableAddress
from tailpipe.lake.delta_errors import delta_message
from tailpipe.lake.evolution import TYPE_KEY as TYPE_KEY
from tailpipe.lake.evolution import Evolution, TypeConflict, as_in, evolve
from tailpipe.lake.facts import FileFact
from tailpipe.lake.floor import APPLICATION as VACUUM
from tailpipe.lake.floor import floor_of
from tailpipe.lake.history import application, state_at, version_of
from tailpipe.lake.paths import LOG, PARTITION_COLUMNS, entry_path
from tailpipe.lake.presence import Identity, identity, is_leaving, is_replaced, staying
from tailpipe.lake.removal import LiveFile, add_action, are_live, live_files, remove_action
from tailpipe.lake.rewriting import Rewriting, refused, rewrite_files
from tailpipe.lake.state import PartitionState
from tailpipe.lake.store_errors import plain_cause, store_hint
from tailpipe.lake.table_deletion import remove_late_commit, remove_late_entries
from tailpipe.lake.transaction import Change, Restoration, Transaction, until_committed

# Each commit reads all entries since the last checkpoint, twice: with 25 between checkpoints it takes half of what the
# usual 100 take. In a bucket each is a request, so there are fewer.
_ENTRIES_PER_CHECKPOINT = 25
_ENTRIES_PER_CHECKPOINT_IN_BUCKET = 5
# Files that were written by a log opened longer ago are looked for before a commit names them.
OLD_SECONDS = 12 * 3600
_NO_PARTITION = uuid.UUID(int=0).hex


class TableLog:
    """The log as this process last saw it. `schema` is what the table should have now."""

    def __init__(self, address: TableAddress, schema: pa.Schema) -> None:
        self.address = address
        self._schema = schema
        self._delta: Any = None
        self._options: dict[str, str] | None = None
        self._identity: Identity | None = None
        self._prepared: pa.Schema | None = None
        self._opened_at = time.time()
        self._versions: dict[tuple[int, str], int] = {}

    def refresh(self) -> None:
        from deltalake.exceptions import DeltaError

        seen = identity(self.address)
        if self._delta is not None and seen == self._identity:
            with suppress(DeltaError, OSError):
                self._update()
                return
        self._identity = seen
        self._open()

    def _open(self) -> None:
        self._options = self.address.options
        self._delta = self.address.opened()
        self._versions.clear()

    def _update(self) -> None:
        """The library keeps the credentials with which it opened the table. They may have been renewed since."""
        if self._options != self.address.options and self.address.is_table():
            self._open()
        else:
            self._delta.update_incremental()

    @property
    def delta(self) -> Any:
        """The table as it was when this process last looked; None where there is none."""
        return self._delta

    def state(self, partition: str) -> PartitionState:
        """What the log says now; later commits of this process build on it."""
        return state_at(self.address, partition, self.version(partition))

    def version(self, partition: str) -> int:
        """On which a transaction may begin now that needs nothing of the state."""
        self.refresh()
        return self._version_of(partition)

    def _version_of(self, partition: str) -> int:
        """To find it, the library reads all entries since the last checkpoint again."""
        key = self._delta.version() if self._delta is not None else -1, partition
        if key not in self._versions:
            self._versions[key] = version_of(self._delta, partition)
        return self._versions[key]

    def live_files(self, partition: str | None = None, days: Iterable[str] | None = None) -> list[LiveFile]:
        """Data files that are visible now: of one partition or of all, of some days or of all."""
        if self._delta is None:
            return []
        self._update()
        return live_files(self._delta, partition, days)

    def are_live(self, files: Sequence[LiveFile]) -> bool:
        """Whether all of them are visible now."""
        self.refresh()
        return self._delta is not None and are_live(self._delta, files)

    def stored_schema(self) -> pa.Schema:
        """That of the table as this process last saw it."""
        return pa.schema(self._delta.schema().to_arrow())

    def transaction(self, version: int) -> Transaction:
        """Begins on the version of a partition's state."""
        return Transaction(self, version)

    def commit(self, change: Change, version: int) -> int:
        """A transaction that wrote nothing before."""
        with self.transaction(version) as transaction:
            return transaction.commit(change)

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

    @contextmanager
    def telling(self, what: str) -> Iterator[None]:
        """Errors of the system and of the library, as a LakeError that says what failed."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError) as error:
            raise self._failed(what, error) from plain_cause(error)

    def check(self, change: Change, version: int | None) -> None:
        """Makes the table if there is none. Raises ConflictError if it is not as the change was prepared for.

        Without a version, the change concerns files alone.
        """
        if self._delta is not None and is_replaced(self.address, self._identity):
            raise self._conflict(change.partition, "deleted")
        if self._delta is None:
            self._create()
        else:
            self._update()
        if change.files and len(self._schema):
            self._check_prepared(change.partition)
        if version is not None and self._version_of(change.partition) != version:
            raise self._conflict(change.partition)
        if not are_live(self._delta, change.removed):
            raise self._conflict(change.partition, "rewritten")
        if time.time() - self._opened_at > OLD_SECONDS:
            self._check_exist(change)

    def append(self, change: Change, mark: str, version: int | None) -> None:
        """Makes the change visible. The mark is the manifest that was written for it.

        Without a version, the change brings no manifest and no rows: the mark is that of the run.
        """
        from deltalake import CommitProperties, Transaction

        # For people, who read them in the log or by `tailpipe history`; nothing is decided by them.
        told = {"partition": change.partition, "kind": change.kind, "unit": change.unit}
        told["run" if version is None else "manifest"] = mark
        moved = [] if version is None else [Transaction(application(change.partition), version)]
        properties = CommitProperties(
            custom_metadata={f"tailpipe.{name}": value for name, value in told.items()},
            app_transactions=moved,
        )
        self._append(
            f"commit of {change.partition} {change.unit}".rstrip(),
            mark,
            lambda: self._delta.create_write_transaction(
                [
                    *(add_action(fact, is_data=version is not None) for fact in change.files),
                    *map(remove_action, change.removed),
                ],
                "append",
                self._delta.schema(),
                list(PARTITION_COLUMNS),
                commit_properties=properties,
            ),
            self._conflict(change.partition),
        )

    def append_schema(self, evolution: Evolution, files: Iterable[FileFact]) -> None:
        """Makes a schema visible, with all data files anew where values are converted."""
        from deltalake import CommitProperties, Schema

        told = {"tailpipe.kind": "rewrite", "tailpipe.run": uuid.uuid4().hex}
        # Only overwriting changes the schema: all files, or those of a partition that does not exist.
        self._append(
            "changing the schema",
            told["tailpipe.run"],
            lambda: self._delta.create_write_transaction(
                list(map(add_action, files)),
                "overwrite",
                Schema.from_arrow(evolution.schema),
                list(PARTITION_COLUMNS),
                partition_filters=None if evolution.converted else [("tp_partition", "=", _NO_PARTITION)],
                commit_properties=CommitProperties(custom_metadata=told, max_commit_retries=0),
            ),
            ConflictError(f"{self.address.name} was changed by another process meanwhile"),
        )

    def append_mark(self, kind: str, versions: Mapping[str, int]) -> None:
        """An entry that changes nothing but the versions of application transactions."""
        from deltalake import CommitProperties, Transaction

        told = {"tailpipe.kind": kind, "tailpipe.run": uuid.uuid4().hex}
        properties = CommitProperties(
            custom_metadata=told,
            app_transactions=[Transaction(name, version) for name, version in versions.items()],
        )
        self._append(
            kind,
            told["tailpipe.run"],
            lambda: self._delta.create_write_transaction(
                [], "append", self._delta.schema(), list(PARTITION_COLUMNS), commit_properties=properties
            ),
            ConflictError(f"{self.address.name} was changed by another process meanwhile"),
        )

    def append_restoration(self, restoration: Restoration, moved: Mapping[str, int]) -> int:
        """Makes it visible as the version after its base, and moves all partitions on. Returns that version.

        Whoever removes files meanwhile, which come back here, must notice: what says how far they went moves too.
        """
        from deltalake import CommitProperties, Transaction

        conflict = ConflictError(f"{self.address.name} was changed by another process meanwhile")
        if self._identity != identity(self.address) or self._delta.version() != restoration.base:
            raise conflict
        told = {"kind": restoration.kind, "unit": restoration.unit, "run": restoration.run}
        versions = {application(name): version for name, version in moved.items()}
        versions[VACUUM] = floor_of(self._delta)
        self._append(
            restoration.kind,
            restoration.run,
            lambda: self._delta.create_write_transaction(
                [*map(add_action, restoration.files), *map(remove_action, restoration.removed)],
                "append",
                self._delta.schema(),
                list(PARTITION_COLUMNS),
                commit_properties=CommitProperties(
                    custom_metadata={f"tailpipe.{name}": value for name, value in told.items()},
                    app_transactions=[Transaction(name, version) for name, version in versions.items()],
                    max_commit_retries=0,
                ),
            ),
            conflict,
        )
        return restoration.base + 1

    def _append(self, what: str, mark: str, commit: Callable[[], None], conflict: ConflictError) -> None:
        """Commits an entry that has the mark, and tells conflict, failure and unknown outcome apart."""
        from deltalake.exceptions import CommitFailedError, DeltaError

        before = self._delta.version()
        try:
            commit()
        except (DeltaError, OSError) as error:
            # What follows the commit, such as a checkpoint, may fail too: the log knows whether it is there.
            if self._find_entry(mark, before, what) is None:
                raise (
                    conflict if isinstance(error, CommitFailedError) else self._failed(what, error)
                ) from plain_cause(error)
        if self.address.storage:
            if self._is_taken_back(mark, before):
                raise conflict
            return
        with suppress(LakeError, OSError):
            self._sync_entry(self._find_entry(mark, before, what))

    def _sync_entry(self, path: str | None) -> None:
        """The library leaves its entry to the system's buffers: a power cut could leave half of it."""
        if path is not None:
            self.address.files.sync(path)
            self.address.files.sync(LOG)

    def _is_taken_back(self, mark: str, before: int) -> bool:
        """Nobody waits for a commit to an object store: an entry must not outlive the table it belongs to."""
        try:
            if not is_replaced(self.address, self._identity) and not is_leaving(self.address, before):
                return False
        except (LakeError, OSError):
            return False
        with suppress(LakeError, OSError):
            remove_late_commit(self.address, mark, before)
        return True

    def _find_entry(self, mark: str, before: int, what: str) -> str | None:
        """The entry with the mark, among those after a version."""
        try:
            for version in count(before + 1):
                path = entry_path(version)
                if mark.encode() in self.address.files.read(path):
                    return path
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnknownOutcome(
                f"{self.address}: {what} broke off: {error}",
                hint="collect again when the lake can be reached: what is there already is not stored twice",
            ) from error
        return None

    def _create(self) -> None:
        """Two first collections may race: whoever comes second finds the other's table."""
        from deltalake import DeltaTable, Schema
        from deltalake.exceptions import DeltaError

        try:
            if self.address.storage:
                remove_late_entries(self.address)
            DeltaTable.create(
                self.address.uri,
                Schema.from_arrow(self._schema),
                mode="ignore",
                partition_by=list(PARTITION_COLUMNS),
                configuration=_configuration(self.address),
                storage_options=self.address.options,
            )
        except DeltaError:
            if not self.address.is_table():
                raise
        self.refresh()

    def _check_exist(self, change: Change) -> None:
        """A file that no commit names for a day may be taken for one that a killed command left behind."""
        paths = (*(fact.path for fact in change.files), *change.rejects)
        if any(self.address.files.entry(path) is None for path in paths):
            raise self._conflict(change.partition, "vacuumed")

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
                hint=conflict_hint(self.address.name),
            )
        if evolution.converted:
            tell(f"rewriting {self.address.name}: {', '.join(map(str, evolution.converted))}")
        return self._change_schema()[0] if evolution.is_changed else evolution.schema

    def _evolution(self, is_forced: bool = False) -> Evolution:
        stored = self.stored_schema()
        evolution = evolve(stored, self._schema, is_forced=is_forced)
        if (evolution.conflicts or evolution.converted) and not live_files(self._delta):
            return evolve(stored, self._schema, is_empty=True)
        return evolution

    def _change_schema(self, is_forced: bool = False, may_lose: bool = False) -> tuple[pa.Schema, Rewriting]:
        def change() -> tuple[pa.Schema, Rewriting]:
            with self.telling("changing the schema"):
                self._update()
                evolution = self._evolution(is_forced)
            if not evolution.is_changed:
                return evolution.schema, Rewriting()
            with staying(self.address), self.transaction(0) as transaction:
                files = live_files(self._delta) if evolution.converted else []
                rewriting = rewrite_files(self.address, files, evolution.converted, transaction.wrote)
                if rewriting.lost and not may_lose:
                    raise refused(self.address, rewriting)
                transaction.change_schema(evolution, rewriting.added)
            self._update()
            return evolution.schema, rewriting

        return until_committed(self.address.name, change)

    def _failed(self, what: str, error: Exception) -> LakeError:
        return LakeError(
            f"{self.address}: {what} failed: {delta_message(error)}. Nothing of it is visible.",
            hint=store_hint(error)
            or "check that the folder can be written and the disk has room, then collect again",
        )

    def _conflict(self, partition: str, what: str = "collected") -> ConflictError:
        return ConflictError(
            f"{self.address.name}.{partition} was {what} by another process while this run was writing"
        )


def _configuration(address: TableAddress) -> dict[str, str]:
    """Entries are cleaned up by nobody but us."""
    interval = _ENTRIES_PER_CHECKPOINT_IN_BUCKET if address.storage else _ENTRIES_PER_CHECKPOINT
    return {"delta.enableExpiredLogCleanup": "false", "delta.checkpointInterval": str(interval)}


def conflict_hint(table: str) -> str:
    return (
        f"tailpipe table rewrite {table} converts what is stored, tailpipe table delete {table} removes it; "
        "or give the column another name"
    )
