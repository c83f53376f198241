"""Cases that run in other processes and are watched: one that never ends, or takes its process along, is named."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

AT_ONCE = 2
# Far above what any case needs, also on a machine that stands still for a while.
SECONDS = 60.0


@dataclass(frozen=True)
class Complaint:
    case: int
    text: str


def watched(judge: Callable[[int], str | None], count: int, seconds: float = SECONDS) -> Iterator[Complaint]:
    """`judge` says what is wrong with a case, by its number. It must be importable."""
    shares = [range(first, count, AT_ONCE) for first in range(AT_ONCE)]
    children = {child.ours: child for child in (_Child(judge, share) for share in shares)}
    while children:
        ready = [connection for connection in wait(children, seconds) if isinstance(connection, Connection)]
        for connection in ready or list(children):
            child = children[connection]
            complaint = child.hear() if ready else child.end("it has not ended")
            if complaint:
                yield complaint
            if child.is_over:
                del children[connection]
                if child.rest:
                    follower = _Child(judge, child.rest)
                    children[follower.ours] = follower


class _Child:
    def __init__(self, judge: Callable[[int], str | None], cases: range) -> None:
        context = multiprocessing.get_context("spawn")
        self.ours, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=_judge_all, args=(judge, cases, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.cases = cases
        self.heard = 0
        self.is_over = False

    @property
    def rest(self) -> range:
        """What a child that came to a bad end has left undone."""
        return self.cases[self.heard :]

    def hear(self) -> Complaint | None:
        try:
            text = self.ours.recv()
        except EOFError:
            self.process.join()
            if not self.rest:
                self.is_over = True
                return None
            return self.end(f"its process ended with {self.process.exitcode}")
        self.heard += 1
        return Complaint(self.cases[self.heard - 1], text) if text else None

    def end(self, text: str) -> Complaint:
        self.process.kill()
        self.is_over = True
        self.heard += 1
        return Complaint(self.cases[self.heard - 1], text)


def _judge_all(judge: Callable[[int], str | None], cases: range, results: Connection) -> None:
    for case in cases:
        results.send(judge(case))
    results.close()
