"""Ctrl-C and polite requests to end, while an engine runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from tailpipe.errors import EXIT_INTERRUPTED

_before_giving_up: list[Callable[[], None]] = []


class Interrupted(BaseException):
    """Not a KeyboardInterrupt: pyspark answers that one by asking its server to stop the job, and waits for an
    answer. The embedded server got the same signal and may be gone. `kept` says what is kept of the work done.
    """

    kept = "What was committed is kept. The next run takes up the rest."


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


@contextmanager
def loading() -> Iterator[None]:
    """While modules are loaded, Ctrl-C ends the process at once: nothing is begun, and an exception could be raised in
    the middle of a library, which may lose it or crash. Who ignores the signal still does."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def before_giving_up(action: Callable[[], None]) -> Iterator[None]:
    """A second signal in the block calls the action before it ends the process; any lock may be taken then."""
    _before_giving_up.append(action)
    try:
        yield
    finally:
        _before_giving_up.remove(action)


def _interrupt(number: int, frame: FrameType | None) -> None:
    for either in (signal.SIGINT, signal.SIGTERM):
        signal.signal(either, _give_up)
    raise Interrupted


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"Interrupted.\n")
    os._exit(EXIT_INTERRUPTED)


def _give_up(number: int, frame: FrameType | None) -> None:
    for action in _before_giving_up:
        action()
    os._exit(EXIT_INTERRUPTED)
