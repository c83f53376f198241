"""A table with a history: commits as collectors, compactions and deletions make them, and time that passes."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.datafile import open_data_file
from tailpipe.lake.deletion import delete_rejects, delete_window
from tailpipe.lake.facts import FileFact
from tailpipe.lake.history import state_at, versions_in
from tailpipe.lake.log import TYPE_KEY, TableLog
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.lake.paths import hive_folder
from tailpipe.lake.rejects import REJECTS_SCHEMA, read_rejects, write_rejects
from tailpipe.lake.transaction import Change
from tailpipe.records import RowCounts
from tailpipe.times import Window, day_window

SCHEMA = pa.schema(
    [
        pa.field("message", pa.string(), metadata={TYPE_KEY: "VARCHAR"}),
        pa.field("tp_id", pa.string(), metadata={TYPE_KEY: "VARCHAR"}),
        pa.field("tp_timestamp", pa.timestamp("us"), metadata={TYPE_KEY: "TIMESTAMP"}),
        pa.field("tp_partition", pa.string(), metadata={TYPE_KEY: "VARCHAR"}),
        pa.field("tp_index", pa.string(), metadata={TYPE_KEY: "VARCHAR"}),
        pa.field("tp_date", pa.date32(), metadata={TYPE_KEY: "DATE"}),
    ]
)
ALWAYS = Window(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))
FIRST_DAY = date(2024, 6, 1)

# All that can be read at a version: rows, and for each partition its artifacts and the texts of its rejects.
Readable = tuple[tuple[str, ...], dict[str, tuple[frozenset[str], tuple[str, ...]]]]


@dataclass
class Table:
    """A real table below a lake; `address` may be in an object store."""

    lake: Lake
    name: str = "app_log"
    count: int = field(default=0)

    @property
    def address(self) -> TableAddress:
        return self.lake.table(self.name)

    @property
    def folder(self) -> Path:
        return Path(self.address.uri)

    @property
    def delta(self) -> DeltaTable:
        return DeltaTable(self.address.uri, storage_options=self.address.options)

    def log(self) -> TableLog:
        return TableLog(self.address, SCHEMA)

    def data_file(self, partition: str, day: int, messages: Sequence[str]) -> FileFact:
        """Written, but not committed."""
        when = FIRST_DAY + timedelta(days=day)
        values = {"tp_partition": partition, "tp_index": "default", "tp_date": when.isoformat()}
        schema = pa.schema(
            [("message", pa.string()), ("tp_id", pa.string()), ("tp_timestamp", pa.timestamp("us"))]
        )
        file = open_data_file(self.address, hive_folder(partition, "default", when), values, schema)
        noon = datetime.combine(when, datetime.min.time()) + timedelta(hours=12)
        rows = {"message": messages, "tp_id": messages, "tp_timestamp": [noon] * len(messages)}
        file.write(pa.table(rows, schema=schema))
        return file.close(when.isoformat())

    def reject_file(self, partition: str, texts: Sequence[str]) -> str:
        """Written, but not committed."""
        row = dict.fromkeys(REJECTS_SCHEMA.names) | {"records": 1, "rejected_at": datetime(2024, 6, 1)}  # noqa: DTZ001
        rows = pa.Table.from_pylist([row | {"raw": text, "id": text} for text in texts], REJECTS_SCHEMA)
        return write_rejects(self.address, partition, rows, "unit").path

    def collect(self, partition: str = "p", day: int = 0, *, rejects: int = 0) -> None:
        """One commit of a unit: a file of two rows, and a file of rejects where any are wanted."""
        self.count += 1
        messages = [f"{partition}-{self.count}-{number}" for number in range(2)]
        file = self.data_file(partition, day, messages)
        texts = [f"{partition}-{self.count}-bad{number}" for number in range(rejects)]
        known = KnownArtifact(
            "file",
            f"{self.count}.log",
            f"{self.count}.log",
            "1",
            10,
            None,
            (ALWAYS,),
            rows=RowCounts(2, stored=2),
        )
        change = Change(
            partition,
            "collect",
            file.unit,
            f"run {self.count}",
            (file,),
            rejects=(self.reject_file(partition, texts),) if texts else (),
            artifacts=(known,),
        )
        log = self.log()
        log.prepare()
        log.commit(change, log.version(partition))

    def compact(self, partition: str = "p", day: int = 0) -> None:
        """Files of a day become one."""
        log = self.log()
        log.prepare()
        when = FIRST_DAY + timedelta(days=day)
        old = [f for f in log.live_files(partition) if f.partition_values["tp_date"] == when.isoformat()]
        if len(old) < 2:
            return
        messages = self.delta.to_pyarrow_table(
            filters=[("tp_partition", "=", partition), ("tp_date", "=", when)], columns=["message"]
        )
        new = self.data_file(partition, day, messages["message"].to_pylist())
        with log.transaction(0) as transaction:
            transaction.rearrange(
                Change(partition, "compact", when.isoformat(), uuid.uuid4().hex, (new,), tuple(old))
            )

    def delete_day(self, partition: str = "p", day: int = 0) -> None:
        self.delete(day_window(FIRST_DAY + timedelta(days=day)), partition)

    def delete(self, window: Window, partition: str = "p") -> None:
        delete_window(self.lake, self.name, partition, window)

    def drop_rejects(self, partition: str = "p") -> None:
        delete_rejects(self.lake, self.name, partition)

    def paths(self) -> set[str]:
        return {entry.path for entry in self.address.files.walk()}

    def pass_time(self, time: timedelta) -> None:
        """What is there is so much older: files by their clock, commits by theirs."""
        for path in self.folder.rglob("*"):
            if path.is_file():
                if path.parent.name == "_delta_log" and path.suffix == ".json":
                    _backdate(path, time)
                found = path.stat()
                os.utime(path, (found.st_atime, found.st_mtime - time.total_seconds()))

    def readable(self, version: int | None = None) -> Readable:
        """Reads every file that the version names, and every manifest and reject of its states."""
        delta = DeltaTable(self.address.uri, version=version, storage_options=self.address.options)
        rows = tuple(sorted(delta.to_pyarrow_table(columns=["message"])["message"].to_pylist()))
        return rows, {
            partition: self._state(partition, at)
            for partition, at in versions_in(self.address, delta).items()
        }

    def _state(self, partition: str, version: int) -> tuple[frozenset[str], tuple[str, ...]]:
        state = state_at(self.address, partition, version)
        texts = [read_rejects(self.address, path, ["raw"])["raw"].to_pylist() for path in state.reject_files]
        artifacts = frozenset(known.location for known in state.artifacts.known() if known.kept)
        return artifacts, tuple(sorted(_flat(texts)))


def _flat(texts: Iterable[Iterable[str]]) -> Iterable[str]:
    return (text for part in texts for text in part)


def _backdate(entry: Path, time: timedelta) -> None:
    mode = entry.stat()
    lines = [json.loads(line) for line in entry.read_text().splitlines()]
    for line in lines:
        if "commitInfo" in line:
            line["commitInfo"]["timestamp"] -= int(time.total_seconds() * 1000)
    entry.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    os.utime(entry, (mode.st_atime, mode.st_mtime))
