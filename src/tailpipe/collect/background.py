"""A job in a thread of its own: the main thread stays free for signals and for telling what goes on.

Waiting inside the engine's client would not do: it catches interruptions, or waits for the job's end before it
lets them through.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

Result = TypeVar("Result")
_LOOK_SECONDS = 0.2


def run_watched(job: Callable[[], Result], look: Callable[[], None]) -> Result:
    """What the job returns or raises; `look` is called every now and then while it runs.

    An interruption leaves the job behind: whoever catches it must end the engine.
    """
    future: Future[Result] = Future()
    threading.Thread(target=_fulfil, args=(future, job), name="tailpipe-job", daemon=True).start()
    while not wait([future], timeout=_LOOK_SECONDS).done:
        look()
    return future.result()


def _fulfil(future: Future[Result], job: Callable[[], Result]) -> None:
    try:
        future.set_result(job())
    except BaseException as error:
        future.set_exception(error)
