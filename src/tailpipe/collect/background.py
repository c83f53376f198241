"""A job in a thread of its own: the main thread stays free for signals and for telling what goes on.

Waiting inside the engine's client would not do: it catches interruptions, or waits for the job's end before it
lets them through.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

Result = TypeVar("Result")
_LOOK_SECONDS = 0.2
# How long an interrupted job may take to finish what it is in the middle of.
GRACE_SECONDS = 10


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
