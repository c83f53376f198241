"""A folder between a running job and the driver: tasks leave their live counts there, the driver asks them to stop.

Works where driver and tasks share a disk, which is the case for embedded engines; a cluster shows whole jobs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.records import CLOSING_POSITION

if TYPE_CHECKING:
    import pyarrow as pa

_EVERY_SECONDS = 0.25
_STOP = "stop"


@dataclass(frozen=True)
class Counts:
    artifacts: int = 0
    size_bytes: int = 0
    rows: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.artifacts + other.artifacts, self.size_bytes + other.size_bytes, self.rows + other.rows
        )


class SpoolWriter:
    def __init__(self, folder: Path, pack: int, sizes: Mapping[int, int]) -> None:
        self._path = folder / f"{pack}.json"
        self._sizes = sizes
        self._counts = Counts()
        self._written = 0.0

    def count(self, batch: pa.RecordBatch) -> None:
        import pyarrow.compute as pc

        is_closing = pc.equal(batch.column("position"), CLOSING_POSITION)
        done = batch.column("artifact").filter(is_closing).to_pylist()
        size = sum(self._sizes.get(slot, 0) for slot in done)
        self._counts += Counts(len(done), size, batch.num_rows - len(done))
        if time.monotonic() - self._written > _EVERY_SECONDS:
            self.write()

    def write(self) -> None:
        # In one step: counts that were read half written would go back on the display.
        unfinished = self._path.with_suffix(".part")
        unfinished.write_text(json.dumps(vars(self._counts)))
        unfinished.replace(self._path)
        self._written = time.monotonic()


def request_stop(folder: Path) -> None:
    """Tasks begin no other artifact."""
    (folder / _STOP).touch()


def is_stop_requested(folder: Path) -> bool:
    return (folder / _STOP).exists()


def read_spool(folder: Path) -> Counts:
    total = Counts()
    for path in folder.glob("*.json"):
        try:
            total += Counts(**json.loads(path.read_text()))
        except (OSError, ValueError):
            continue  # half written; the next look will see it
    return total
