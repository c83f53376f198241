"""The same logs collected by both embedded engines into lakes of their own: what came of every record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines import Place
from tailpipe.collect.outcome import RunOutcome
from tailpipe.engine.session import open_session
from tailpipe.engine.settings import ENGINES, EngineSettings

START = "0001-01-02"


@dataclass(frozen=True)
class Collected:
    """What one engine made of the logs: the run, and rows and rejects by table."""

    engine: str
    outcome: RunOutcome
    again: RunOutcome
    rows: dict[str, list[dict[str, Any]]]
    rejects: dict[str, list[dict[str, Any]]]

    def fates(self, table: str) -> dict[str, list[Any]]:
        """All rows and rejects of a table by the name of their file, to be compared with the other engine's."""
        fates: dict[str, list[Any]] = defaultdict(list)
        for row in self.rows[table]:
            fates[Path(row["tp_source_location"]).name].append(row)
        for reject in self.rejects[table]:
            fates[reject["file"]].append(reject)
        return fates


def collect_on_both(folder: Path, config: str, tables: tuple[str, ...]) -> Iterator[Collected]:
    """`folder` has the logs in `logs`. A second run on each engine must find nothing to do."""
    for engine in ENGINES:
        with _place(folder, engine) as place:
            place.configure(config)
            outcome = place.collect(start=START)
            again = place.collect(start=START)
            yield Collected(
                engine,
                outcome,
                again,
                {table: place.rows(table) for table in tables},
                {table: place.rejects(table) for table in tables},
            )


@contextmanager
def _place(folder: Path, engine: str) -> Iterator[Place]:
    with open_session(EngineSettings(name=engine, memory_max_mb=1024, cores=2)) as session:
        yield Place(folder, session, folder / f"lake-{engine}")
