"""Jobs that may end before all their artifacts are read, so that what was read can be committed.

A job runs in a thread of its own: the main thread stays free for signals and for telling what goes on. Waiting inside
the engine's client would not do: it catches interruptions, or waits for the job's end before it lets them through.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tailpipe.collect.events import Watcher
from tailpipe.collect.plan import PlannedArtifact, Unit
from tailpipe.collect.spool import read_spool, request_stop
from tailpipe.scratch import scratch_folder

Result = TypeVar("Result")

# When a job has run for so long, what was read of files without a date is committed, and another job reads the rest.
COMMIT_SECONDS = 30
_LOOK_SECONDS = 0.2
# How long an interrupted job may take to finish what it is in the middle of.
GRACE_SECONDS = 10


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


def run_watched(
    job: Callable[[], Result],
    look: Callable[[], None],
    stop: Callable[[BaseException], None] | None = None,
) -> Result:
    """What the job returns or raises; `look` is called every now and then while it runs.

    An interruption is handed to `stop`, which asks the job to end early: what it returns then is returned, and whoever
    gave `stop` must raise the interruption. Without `stop`, or where the job does not end soon, the interruption leaves
    the job behind: whoever catches it must end the engine.
    """
    future: Future[Result] = Future()
    threading.Thread(target=_fulfil, args=(future, job), name="tailpipe-job", daemon=True).start()
    try:
        _wait(future, look)
    except Exception:
        raise
    except BaseException as interruption:
        if stop is None:
            raise
        stop(interruption)
        _wait(future, look, time.monotonic() + GRACE_SECONDS)
        if not future.done():
            raise
    return future.result()


def _wait(future: Future[Result], look: Callable[[], None], deadline: float | None = None) -> None:
    while not wait([future], timeout=_LOOK_SECONDS).done:
        if deadline is not None and time.monotonic() > deadline:
            return
        look()


def _fulfil(future: Future[Result], job: Callable[[], Result]) -> None:
    try:
        future.set_result(job())
    except BaseException as error:
        future.set_exception(error)


def read_together(slots: Sequence[tuple[Unit, PlannedArtifact]]) -> tuple[int, ...]:
    """By slot: artifacts of a unit that is committed whole belong together, others are each their own."""
    firsts: dict[str, int] = {}
    return tuple(
        slot if not unit.is_whole else firsts.setdefault(unit.key, slot)
        for slot, (unit, _) in enumerate(slots)
    )
