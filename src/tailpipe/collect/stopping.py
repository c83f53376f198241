"""Jobs that end before all their artifacts are read, so that what was read can be committed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tailpipe.collect.background import run_watched
from tailpipe.collect.events import Watcher
from tailpipe.collect.plan import PlannedArtifact, Unit
from tailpipe.collect.spool import read_spool, request_stop
from tailpipe.scratch import scratch_folder

Result = TypeVar("Result")

# When a job has run for so long, what was read of files without a date is committed, and another job reads the rest.
COMMIT_SECONDS = 30


@dataclass
class Stopping:
    """Whether the job that runs was asked to end early: by an interruption, or because it is time for a commit."""

    can_be_due: bool
    is_requested: bool = False
    interruption: BaseException | None = None

    def is_due(self, seconds: float) -> bool:
        return self.can_be_due and not self.is_requested and seconds > COMMIT_SECONDS

    def request(self, folder: Path, interruption: BaseException | None = None) -> None:
        self.is_requested = True
        self.interruption = interruption
        request_stop(folder)

    def raise_interruption(self) -> None:
        if self.interruption is not None:
            raise self.interruption


def run_stoppable(job: Callable[[str | None], Result], stopping: Stopping, watcher: Watcher | None) -> Result:
    """What the job returns, which gets a folder for its spool.

    Without a watcher it gets none: it comes to its end, and an interruption leaves it behind.
    """
    if watcher is None:
        return run_watched(lambda: job(None), lambda: None)
    started = time.monotonic()
    with scratch_folder("counts") as folder:

        def look() -> None:
            watcher.counted(read_spool(folder))
            if stopping.is_due(time.monotonic() - started):
                stopping.request(folder)

        def stop(interruption: BaseException) -> None:
            watcher.stopping()
            stopping.request(folder, interruption)

        return run_watched(lambda: job(str(folder)), look, stop)


def read_together(slots: Sequence[tuple[Unit, PlannedArtifact]]) -> tuple[int, ...]:
    """By slot: artifacts of a unit that is committed whole belong together, others are each their own."""
    firsts: dict[str, int] = {}
    return tuple(
        slot if not unit.is_whole else firsts.setdefault(unit.key, slot)
        for slot, (unit, _) in enumerate(slots)
    )
