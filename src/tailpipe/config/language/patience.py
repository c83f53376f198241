"""Whether a piece of work comes to an end, tried in a process of its own.

The parser's own recovery from errors takes a time that grows with the square of some texts, cannot be interrupted, and
says nothing on its way.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable


def comes_to_an_end(work: Callable[[], object], cpu_seconds: int) -> bool:
    """What the work does is lost; an exception is an end."""
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFEXITED(status)
