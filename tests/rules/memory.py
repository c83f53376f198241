"""How much memory a command takes at most, with all it started, and logs that take some."""

from __future__ import annotations

import random
import subprocess
import time

import psutil

from installed import line

LINES_PER_MEGABYTE = 1000
_LINE_BYTES = 1000


def noise(megabytes: int) -> str:
    """Lines of a thousand bytes, all of one day, that cannot be packed."""
    numbers = random.Random(7)
    padding = _LINE_BYTES - len(line("2024-06-01T00:00:00Z", "", 10_000))
    return "".join(
        line(f"2024-06-01T{count % 24:02d}:00:00Z", numbers.randbytes(padding // 2).hex(), 10_000)
        for count in range(megabytes * LINES_PER_MEGABYTE)
    )


def peak_memory(process: subprocess.Popen[str]) -> int:
    """Bytes in memory at most, of the process and all below it, looked at every few milliseconds."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, _resident(process.pid))
        time.sleep(0.02)
    output, errors = process.communicate()
    assert process.returncode == 0, errors + output
    return peak


def _resident(pid: int) -> int:
    try:
        parent = psutil.Process(pid)
        return sum(one.memory_info().rss for one in (parent, *parent.children(recursive=True)))
    except psutil.Error:
        return 0
