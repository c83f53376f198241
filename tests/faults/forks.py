"""Runs of the command in forked processes, a few at a time, some of which are to die."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from steps import EXIT_OF_THE_DEAD, Incident

from installed import Home

SERVER = Path(__file__).with_name("fork_server.py")
AT_ONCE = 2
TIMEOUT_SECONDS = 120
EXIT_OF_THE_KILLED = -9

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Ended:
    """A run that is over; `steps` are counted only in runs that came to their end."""

    code: int
    seconds: float
    output: str
    errors: str
    steps: dict[str, int]

    @property
    def died(self) -> bool:
        return self.code in (EXIT_OF_THE_DEAD, EXIT_OF_THE_KILLED)

    def done(self) -> Ended:
        assert self.code == 0, f"exit code {self.code}\n{self.errors}{self.output}"
        return self

    def json(self) -> Any:
        return json.loads(self.done().output)


@dataclass(frozen=True)
class Forks:
    """Servers that wait for work. Use it from as many threads as there are servers."""

    idle: queue.Queue[subprocess.Popen[str]] = field(default_factory=queue.Queue)

    def run(
        self,
        home: Home,
        *arguments: str,
        incident: Incident | None = None,
        kill_after_seconds: float | None = None,
        kill_sign: Path | None = None,
        clock_shift_days: int = 0,
    ) -> Ended:
        """It is killed after a while, or as soon as there is a file that is the sign."""
        request = {
            "folder": str(home.folder),
            "logs": str(home.logs.resolve()),
            "environment": home.variables(),
            "arguments": arguments,
            "incident": json.dumps(asdict(incident)) if incident else None,
            "clock_shift_days": clock_shift_days,
            "kill_after_seconds": kill_after_seconds,
            "kill_sign": str(kill_sign) if kill_sign else None,
            "timeout_seconds": TIMEOUT_SECONDS,
        }
        (home.folder / "steps.json").unlink(missing_ok=True)
        answer = self._ask(request)
        return Ended(
            answer["code"],
            answer["seconds"],
            (home.folder / "stdout").read_text(),
            (home.folder / "stderr").read_text(),
            _counts(home.folder / "steps.json"),
        )

    def for_all(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(work, items))

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        server = self.idle.get()
        try:
            assert server.stdin
            assert server.stdout
            server.stdin.write(json.dumps(request) + "\n")
            server.stdin.flush()
            answer: dict[str, Any] = json.loads(server.stdout.readline())
            return answer
        finally:
            self.idle.put(server)


@contextmanager
def open_forks() -> Iterator[Forks]:
    command = [sys.executable, str(SERVER)]
    servers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(AT_ONCE)
    ]
    forks = Forks()
    for server in servers:
        forks.idle.put(server)
    try:
        yield forks
    finally:
        for server in servers:
            server.communicate()


def _counts(path: Path) -> dict[str, int]:
    """Nothing, or half a file, where the run was killed."""
    try:
        counts: dict[str, int] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return counts
