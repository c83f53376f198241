"""Ctrl-C and polite requests to end, while an engine runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tailpipe.errors import EXIT_INTERRUPTED


class Interrupted(BaseException):
    """Not a KeyboardInterrupt: pyspark answers that one by asking its server to stop the job, and waits for an
    answer. The embedded server got the same signal and may be gone. `kept` says what is kept of the work done.
    """

    kept = "What was committed is kept."


@contextmanager
def interruptible() -> Iterator[None]:
    """The first signal raises Interrupted in the block; a second one ends the process at once."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, _interrupt) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(number, _give_up)
    raise Interrupted


def _give_up(number: int, frame: FrameType | None) -> None:
    os._exit(EXIT_INTERRUPTED)
