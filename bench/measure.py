"""One command from cold: how long it takes, and the most memory its whole process tree holds."""

from __future__ import annotations

import resource
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

SAMPLE_SECONDS = 0.1
PAUSE_SECONDS = 3.0
"""A longer gap between two samples means that the whole machine stood still, as virtual ones do at times."""


@dataclass(frozen=True)
class Measurement:
    """`cpu_seconds` are those of the command and of all children it waited for: the same on a busy machine."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str
    was_paused: bool


class CommandFailed(Exception):
    pass


def measured(command: Sequence[str], environment: Mapping[str, str], errors: Path) -> Measurement:
    """Standard error goes to a file, to be read when the command fails."""
    peak = _Peak()
    started, cpu_before = time.perf_counter(), _children_seconds()
    with errors.open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=dict(environment))
        watcher = threading.Thread(target=peak.watch, args=(process.pid,), daemon=True)
        watcher.start()
        output, _ = process.communicate()
    seconds, cpu_seconds = time.perf_counter() - started, _children_seconds() - cpu_before
    peak.stop()
    watcher.join()
    if process.returncode != 0:
        tail = errors.read_text(errors="replace")[-2_000:] or output.decode()[-2_000:]
        raise CommandFailed(f"{' '.join(command)} ended with code {process.returncode}\n{tail}")
    was_paused = peak.longest_gap_seconds > PAUSE_SECONDS
    return Measurement(seconds, cpu_seconds, peak.bytes, output.decode(), was_paused)


def best_seconds(work: Callable[[], object]) -> float:
    """Of three calls in this process."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class _Peak:
    def __init__(self) -> None:
        self.bytes = 0
        self.longest_gap_seconds = 0.0
        self._stopped = threading.Event()

    def watch(self, pid: int) -> None:
        last = time.perf_counter()
        while not self._stopped.wait(SAMPLE_SECONDS):
            self.bytes = max(self.bytes, _tree_bytes(pid))
            now = time.perf_counter()
            self.longest_gap_seconds = max(self.longest_gap_seconds, now - last)
            last = now

    def stop(self) -> None:
        self._stopped.set()


def _tree_bytes(pid: int) -> int:
    try:
        root = psutil.Process(pid)
        return sum(_process_bytes(process) for process in [root, *root.children(recursive=True)])
    except psutil.Error:
        return 0


def _process_bytes(process: psutil.Process) -> int:
    """Shared pages are counted once: proportionally where the system tells, resident elsewhere."""
    try:
        memory = process.memory_full_info()
        return int(getattr(memory, "pss", 0) or memory.rss)
    except psutil.Error:
        return 0
