"""Tables with a past: real commits of all kinds, and what was true after each of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from tailpipe.lake.address import Lake, TableAddress
from tailpipe.lake.catalog import partition_states
from tailpipe.lake.columns import id_prefix
from tailpipe.lake.compaction import ASKED, compact_day, plan_days
from tailpipe.lake.datafile import open_data_file
from tailpipe.lake.deletion import delete_rejects, delete_window
from tailpipe.lake.evolution import TYPE_KEY
from tailpipe.lake.facts import FileFact
from tailpipe.lake.log import TableLog
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.lake.paths import hive_folder
from tailpipe.lake.rejects import REJECTS_SCHEMA, write_rejects
from tailpipe.lake.transaction import Change
from tailpipe.records import RowCounts
from tailpipe.times import Window, day_window

TABLE = "app_log"
FIRST_DAY = date(2024, 6, 1)
DAYS = 4
JUNE = Window(datetime(2024, 6, 1, tzinfo=UTC), datetime(2024, 7, 1, tzinfo=UTC))
_TYPES: dict[str, pa.DataType] = {"INTEGER": pa.int32(), "BIGINT": pa.int64(), "VARCHAR": pa.string()}


def schema(size: str = "INTEGER", more: tuple[str, ...] = ()) -> pa.Schema:
    columns = {
        "message": "VARCHAR",
        "size": size,
        **dict.fromkeys(more, "VARCHAR"),
        "tp_id": "VARCHAR",
        "tp_timestamp": "TIMESTAMP",
        "tp_partition": "VARCHAR",
        "tp_index": "VARCHAR",
        "tp_date": "DATE",
    }
    types = {**_TYPES, "TIMESTAMP": pa.timestamp("us"), "DATE": pa.date32()}
    return pa.schema(
        [pa.field(name, types[type_], metadata={TYPE_KEY: type_}) for name, type_ in columns.items()]
    )


@dataclass(frozen=True)
class Truth:
    """What a version of a table holds."""

    rows: list[dict[str, Any]]
    states: dict[str, Any]


def truth(address: TableAddress, *, with_columns: bool = True) -> Truth:
    """Rows as the log and its files tell them, without our own reading; states as planning sees them."""
    delta = DeltaTable(address.uri, address.version, address.options)
    rows = delta.to_pyarrow_table()
    names = rows.column_names if with_columns else ["message", "tp_partition", "tp_id"]
    folder, _, table = address.uri.rpartition("/")
    states = partition_states(Lake(folder, address.storage, address.version), table)
    known = {
        name: (
            sorted(map(repr, state.artifacts.known())),
            state.asked,
            state.claimed,
            state.covered,
            state.failures,
            sorted(state.reject_files),
            state.last_run,
        )
        for name, state in states.items()
    }
    return Truth(sorted(rows.select(names).to_pylist(), key=repr), known)


@dataclass
class History:
    """Moves change the table as commands do. `past` has what was true after each commit."""

    lake: Lake
    past: dict[int, Truth] = field(default_factory=dict)
    schema: pa.Schema = field(default_factory=schema)
    count: int = 0

    @property
    def address(self) -> TableAddress:
        return self.lake.table(TABLE)

    @property
    def log(self) -> TableLog:
        return TableLog(self.address, self.schema)

    @property
    def version(self) -> int:
        return int(self.address.opened().version())

    def move(self, choice: random.Random) -> None:
        """One that is possible on any table."""
        partition = choice.choice(["one", "two", "a b=c"])
        moves = [
            lambda: self.collect(partition, choice.randrange(DAYS), rejected=choice.randrange(3)),
            lambda: self.collect(partition, choice.randrange(DAYS), rejected=choice.randrange(3)),
            lambda: self.overwrite(partition),
            lambda: delete_window(self.lake, TABLE, partition, day_window(_day(choice.randrange(DAYS)))),
            self.compact,
            lambda: delete_rejects(self.lake, TABLE, partition),
            lambda: self.change_schema(choice.choice(["INTEGER", "BIGINT"]), choice.choice([(), ("more",)])),
        ]
        choice.choice(moves)()
        self.remember()

    def remember(self) -> None:
        if self.version not in self.past:
            self.past[self.version] = truth(self.address)

    def collect(self, partition: str, day: int = 0, rows: int = 2, rejected: int = 0) -> None:
        """One artifact, of which rows are stored and some rejected."""
        self.count += 1
        location = f"{self.count}.log"
        log = self.log
        log.prepare()
        state = log.state(partition)
        rejects = [self._rejects(partition, location, rejected)] if rejected else []
        log.commit(
            Change(
                partition,
                "collect",
                _day(day).isoformat(),
                f"run {self.count}",
                files=(self.data_file(partition, day, rows, location),),
                rejects=tuple(rejects),
                artifacts=(_known(location, day, RowCounts(rows + rejected, rows, rejected=rejected)),),
                asked={"file": (JUNE,)},
                covered={"file": (day_window(_day(day)),)},
            ),
            state.version,
        )

    def overwrite(self, partition: str) -> None:
        """One of the files comes anew."""
        log = self.log
        log.prepare()
        version = log.version(partition)
        files = log.live_files(partition)[:1]
        if not files:
            return
        day = (date.fromisoformat(files[0].partition_values["tp_date"]) - FIRST_DAY).days
        self.count += 1
        new = self.data_file(partition, day, files[0].rows, f"{self.count}.log")
        change = Change(partition, "overwrite", "", f"run {self.count}", files=(new,), removed=tuple(files))
        log.commit(change, version)

    def compact(self) -> None:
        planner = partial(plan_days, ASKED)
        log = TableLog(self.address, pa.schema([]))
        log.refresh()
        for plan in planner(log.live_files()):
            compact_day(log, plan, planner)

    def change_schema(self, size: str, more: tuple[str, ...]) -> None:
        """Types only become wider, and columns stay."""
        is_wide = self.schema.field("size").type == pa.int64()
        self.schema = schema("BIGINT" if is_wide else size, more)
        self.log.prepare()

    def data_file(self, partition: str, day: int, rows: int, location: str) -> FileFact:
        stored = TableLog(self.address, self.schema).prepare()
        values = {"tp_partition": partition, "tp_index": "default", "tp_date": _day(day).isoformat()}
        columns = [stored[name] for name in self.schema.names if name not in values]
        file = open_data_file(
            self.address, hive_folder(partition, "default", _day(day)), values, pa.schema(columns)
        )
        moment = datetime.combine(_day(day), datetime.min.time()) + timedelta(hours=12)
        prefix = id_prefix(f"{TABLE}.{partition}", "file", location).decode()
        content = {
            "message": [f"{location} {number}" for number in range(rows)],
            "size": [f"{n} bytes" if pa.types.is_string(stored["size"].type) else n for n in range(rows)],
            "more": ["more"] * rows,
            "tp_id": [f"{prefix}{number:08d}" for number in range(rows)],
            "tp_timestamp": [moment] * rows,
        }
        file.write(pa.table({column.name: content[column.name] for column in columns}, pa.schema(columns)))
        return file.close(_day(day).isoformat())

    def _rejects(self, partition: str, location: str, count: int) -> str:
        prefix = id_prefix(f"{TABLE}.{partition}", "file", location).decode()
        rows = [
            {
                "id": f"{prefix}{number:08d}",
                "table_name": TABLE,
                "partition": partition,
                "source": "file",
                "artifact": location,
                "position": number,
                "raw": "text",
                "reason": "bad",
                "rejected_at": JUNE.start.replace(tzinfo=None),
                "records": 1,
            }
            for number in range(count)
        ]
        return write_rejects(self.address, partition, pa.Table.from_pylist(rows, REJECTS_SCHEMA), "unit").path


def _day(number: int) -> date:
    return FIRST_DAY + timedelta(days=number)


def _known(location: str, day: int, rows: RowCounts) -> KnownArtifact:
    moment = datetime.combine(_day(day), datetime.min.time(), UTC) + timedelta(hours=12)
    window = day_window(_day(day))
    return KnownArtifact(
        "file",
        location,
        location,
        "1",
        10,
        window,
        (window,),
        rows=rows,
        first=moment,
        last=moment,
        oldest=moment,
        newest=moment,
        collected_at=JUNE.end,
    )
