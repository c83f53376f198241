"""A place to collect in: logs, configuration and a lake below one folder, on an open session."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from deltalake import DeltaTable

from tailpipe.cli.progress import Silence
from tailpipe.cli.selection import select
from tailpipe.collect.outcome import RunOutcome
from tailpipe.collect.plan import PartitionPlan
from tailpipe.collect.run import Collection
from tailpipe.collect.target import only_sources
from tailpipe.collect.windows import AskedWindow
from tailpipe.config import load
from tailpipe.engine.session import Session
from tailpipe.engine.settings import EngineSettings
from tailpipe.lake.address import Lake
from tailpipe.lake.catalog import reject_files
from tailpipe.plugins.registry import Registry, load_registry
from tailpipe.times import parse_moment
from targets import make_targets

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
LONG_AGO = datetime(2024, 5, 1, tzinfo=UTC)
# What differs between two collections of the same logs, or follows from where they lie.
BY_RUN = frozenset({"tp_ingest_timestamp"})
BY_PLACE = frozenset({"tp_id", "tp_source_location"})
_writes = count()


@dataclass(frozen=True)
class Place:
    """`elsewhere` is where the data goes, unless that is beside the logs."""

    folder: Path
    session: Session
    elsewhere: Path | None = None

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def data(self) -> Path:
        return self.elsewhere or self.folder / "data"

    @property
    def lake(self) -> Lake:
        return Lake(str(self.data))

    def write(self, name: str, content: str | bytes) -> Path:
        """A log file that nobody writes any more; a name that ends in .gz gets its content compressed."""
        path = self.logs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
        written = LONG_AGO.timestamp() + next(_writes)
        os.utime(path, (written, written))
        return path

    def configure(self, text: str) -> None:
        """Replaces the configuration; `LOGS` in it is the folder of the logs."""
        path = self.folder / "config" / "main.tpc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("LOGS", str(self.logs)))

    def collection(
        self,
        *names: str,
        start: str | None = None,
        end: str | None = None,
        now: datetime = NOW,
        is_overwrite: bool = False,
    ) -> Collection:
        registry = installed()
        config = load([self.folder / "config"], registry, environment={}, now=now)
        asked = AskedWindow(
            parse_moment(start, now=now) if start else None,
            parse_moment(end, now=now, is_end=True) if end else None,
        )
        selections = select(
            names, make_targets(config, registry), lambda target: [feed.source.name for feed in target.feeds]
        )
        return Collection(
            targets=[only_sources(selection.chosen, selection.sources) for selection in selections],
            lake=self.lake,
            asked=asked,
            engine=EngineSettings(cores=self.session.cores),
            now=now,
            watcher=Silence(),
            is_overwrite=is_overwrite,
            open_engine=self._opener(),
        )

    def plan(self, *names: str, **asked: Any) -> list[PartitionPlan]:
        """`asked` are keywords of `collection`."""
        plans, outcome = self.collection(*names, **asked).plan()
        assert not outcome.failed, outcome.failed
        return plans

    def collect(self, *names: str, **asked: Any) -> RunOutcome:
        outcome = self.collection(*names, **asked).execute()
        assert outcome.rows.is_balanced
        return outcome

    def rows(self, table: str, without: frozenset[str] = BY_RUN) -> list[dict[str, Any]]:
        """What the Delta log says is there now, ordered by time and content."""
        if not (self.data / table / "_delta_log").is_dir():
            return []
        return stored_rows(self.data / table, without)

    def rejects(self, table: str) -> list[dict[str, Any]]:
        """Quarantined records as (file name, position, reason, raw), in the order of their places."""
        found = [row for file in reject_files(self.lake, table) for row in pq.read_table(file).to_pylist()]
        shown = [
            {
                "file": Path(row["artifact"]).name,
                "position": row["position"],
                "reason": row["reason"],
                "raw": row["raw"],
            }
            for row in found
        ]
        return sorted(shown, key=lambda row: (row["file"], row["position"]))

    def _opener(self) -> Callable[[EngineSettings, int | None], AbstractContextManager[Session]]:
        @contextmanager
        def existing(settings: EngineSettings, log: int | None) -> Iterator[Session]:
            yield self.session

        return existing


@cache
def installed() -> Registry:
    return load_registry()


def stored_rows(location: Path, without: frozenset[str] = BY_RUN) -> list[dict[str, Any]]:
    table = DeltaTable(str(location)).to_pyarrow_table()
    kept = [name for name in table.column_names if name not in without]
    return sorted((shown(row) for row in table.select(kept).to_pylist()), key=canonical)


def shown(value: Any) -> Any:
    """Values as a JSON file can hold them: times as ISO text."""
    match value:
        case dict():
            return {key: shown(item) for key, item in value.items()}
        case list():
            return [shown(item) for item in value]
        case datetime() | date():
            return value.isoformat()
        case _:
            return value


def canonical(row: Mapping[str, Any]) -> str:
    return str(row.get("tp_timestamp")) + json.dumps(row, sort_keys=True, default=str)


def only(rows: Sequence[Mapping[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns) for row in rows]
