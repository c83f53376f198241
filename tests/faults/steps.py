"""The steps of a command towards the disk, counted from outside: at a chosen one the process dies, or something else
happens.

Functions of the libraries are wrapped in the process that runs the command; the command itself knows nothing of it.
A step has a name and a number (the third time that a data file is closed), so that the same point is met again in
the next run, however threads take turns.
"""

from __future__ import annotations

import functools
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXIT_OF_THE_DEAD = 99
BEFORE, AFTER = "before", "after"
KINDS = {"_delta_log": "log", "_manifests": "manifest", "_rejects": "rejects"}


@dataclass(frozen=True)
class Point:
    """Where to die: before or after the step of this name for the n-th time."""

    name: str
    number: int
    moment: str

    def __str__(self) -> str:
        return f"{self.moment} {self.name} {self.number}"


@dataclass(frozen=True)
class Incident:
    """What happens at a point: the process dies, or somebody does something to a log file."""

    point: Point
    kind: str = "die"
    path: str = ""
    text: str = ""

    @property
    def is_over(self) -> bool:
        """Of what happens once in all processes together, the path is a sign."""
        return self.kind == "die once" and os.path.exists(self.path)

    def happen(self) -> None:
        match self.kind:
            case "die":
                os._exit(EXIT_OF_THE_DEAD)
            case "die once":
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
                os._exit(EXIT_OF_THE_DEAD)
            case "move":
                os.rename(self.path, self.text)
            case "append" | "write":
                with open(self.path, self.kind[0]) as file:
                    file.write(self.text)


class Steps:
    """`place` is where all of this process's steps happen; without it, the main thread is the driver."""

    def __init__(self, incident: Incident | None = None, place: str | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self._incident = incident
        self._place = place
        self._lock = threading.Lock()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """A step that raises is done too."""
        is_main = threading.current_thread() is threading.main_thread()
        name = f"{name} ({self._place or ('driver' if is_main else 'task')})"
        with self._lock:
            self.counts[name] += 1
            number = self.counts[name]
        self._pass(Point(name, number, BEFORE))
        try:
            yield
        finally:
            self._pass(Point(name, number, AFTER))

    def write_counts(self, path: Path) -> None:
        path.write_text(json.dumps(self.counts))

    def _pass(self, point: Point) -> None:
        incident = self._incident
        if incident and point == incident.point and not incident.is_over:
            incident.happen()


def install(steps: Steps, logs: str, *, is_query: bool = False) -> None:
    """Wraps all that touches the disk, in this process and for good. `logs` is the folder that sources list."""
    _wrap_listing(steps, logs)
    _wrap_sources(steps)
    _wrap_sync(steps)
    _wrap_files(steps)
    _wrap_delta(steps)
    if is_query:
        _wrap_query(steps)


def install_in_worker(incident: Incident) -> None:
    """What a task of Apache Spark does in a process of its own."""
    steps = Steps(incident, "worker")
    _wrap_sources(steps)
    _wrap_sync(steps)
    _wrap_files(steps)


def read_incident(text: str) -> Incident:
    values = json.loads(text)
    return Incident(**{**values, "point": Point(**values["point"])})


def kind_of(path: object) -> str:
    """What a file in the lake is, by its folder."""
    parts = str(path).split("/")
    known = next((KINDS[part] for part in parts if part in KINDS), None)
    return known or ("data" if any(part.startswith("tp_partition=") for part in parts) else "other")


def is_of_a_lake(path: object) -> bool:
    return kind_of(path) != "other"


def _wrap(steps: Steps, owner: Any, attribute: str, name: str | Callable[..., str | None]) -> None:
    """`name` may look at the arguments, and gives None for a call that is no step."""
    original = getattr(owner, attribute)

    @functools.wraps(original)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        told = name if isinstance(name, str) else name(*args, **kwargs)
        if told is None:
            return original(*args, **kwargs)
        with steps.step(told):
            return original(*args, **kwargs)

    setattr(owner, attribute, wrapper)


def _wrap_listing(steps: Steps, logs: str) -> None:
    def name(path: Any = ".", *_: Any) -> str | None:
        return "list folder" if str(path).startswith(logs) else None

    _wrap(steps, os, "scandir", name)


def _wrap_sources(steps: Steps) -> None:
    from tailpipe.sources.file import FileSource

    original = FileSource.open

    @contextmanager
    def open_counted(self: FileSource, *args: Any, **kwargs: Any) -> Iterator[Any]:
        with steps.step("read artifact"), original(self, *args, **kwargs) as stream:
            yield stream

    FileSource.open = open_counted


def _wrap_sync(steps: Steps) -> None:
    _wrap(
        steps, os, "fsync", lambda descriptor: f"sync {kind_of(os.readlink(f'/proc/self/fd/{descriptor}'))}"
    )


def _wrap_files(steps: Steps) -> None:
    """Files of a lake in a folder. In an object store requests are counted, on their way."""
    from tailpipe.lake.files import FolderFiles

    def name(what: str) -> Callable[..., str]:
        return lambda self, path, *_: f"{what} {kind_of(path)}"

    _wrap(steps, FolderFiles, "open_read", name("read"))
    _wrap(steps, FolderFiles, "open_new", name("claim"))
    _wrap(steps, FolderFiles, "open_write", name("create"))
    _wrap(steps, os, "unlink", lambda path, **_: f"delete {kind_of(path)}" if is_of_a_lake(path) else None)
    _wrap_parquet(steps)


def _wrap_parquet(steps: Steps) -> None:
    """What is written does not know its path, so its kind is told by who opened it."""
    from pyarrow.parquet import ParquetWriter

    from tailpipe.lake.files import FolderFiles

    kinds: dict[int, str] = {}
    opened, created = FolderFiles.open_write, ParquetWriter.__init__

    def open_write(self: FolderFiles, path: str) -> Any:
        file = opened(self, path)
        kinds[id(file)] = kind_of(path)
        return file

    def create(self: Any, where: Any, *args: Any, **kwargs: Any) -> None:
        self.kind = kinds.get(id(where), "other")
        created(self, where, *args, **kwargs)

    FolderFiles.open_write = open_write  # type: ignore[method-assign]
    ParquetWriter.__init__ = create
    _wrap(steps, ParquetWriter, "write_table", lambda self, *_, **__: f"write {self.kind}")
    _wrap(steps, ParquetWriter, "close", lambda self: f"close {self.kind}" if self.is_open else None)


def _wrap_delta(steps: Steps) -> None:
    import deltalake.table
    from deltalake import DeltaTable

    created = DeltaTable.create

    def create(*args: Any, **kwargs: Any) -> Any:
        with steps.step("create table"):
            return created(*args, **kwargs)

    DeltaTable.create = create  # type: ignore[method-assign]
    _wrap(steps, DeltaTable, "__init__", "open table")
    _wrap(steps, DeltaTable, "update_incremental", "refresh table")
    _wrap(steps, DeltaTable, "create_write_transaction", "commit")
    _wrap(steps, DeltaTable, "create_checkpoint", "checkpoint")
    _wrap(steps, deltalake.table.TableAlterer, "add_columns", "add columns")


def _wrap_query(steps: Steps) -> None:
    import tailpipe.query.connection
    import tailpipe.query.results
    import tailpipe.query.views

    _wrap(steps, tailpipe.query.connection, "open_connection", "open DuckDB")
    _wrap(steps, tailpipe.query.views, "create_views", "create views")
    _wrap(steps, tailpipe.query.results, "run_script", "run SQL")
