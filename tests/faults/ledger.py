"""Which deaths were tried, and what came of them: a table for the end of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ledger:
    """Deaths as (scenario, step), and those of them that broke something."""

    tried: Counter[tuple[str, str]] = field(default_factory=Counter)
    broken: Counter[tuple[str, str]] = field(default_factory=Counter)

    @contextmanager
    def entry(self, scenario: str, step: str) -> Iterator[None]:
        """Whatever is raised in the block says that a death broke something."""
        self.tried[scenario, step] += 1
        try:
            yield
        except BaseException:
            self.broken[scenario, step] += 1
            raise

    def lines(self) -> Iterator[str]:
        """A line per step, a column per scenario."""
        scenarios = list(dict.fromkeys(scenario for scenario, _ in self.tried))
        steps = sorted({step for _, step in self.tried})
        width = max(map(len, steps))
        yield " ".join(["point".ljust(width), *scenarios, "result"])
        for step in steps:
            counts = [str(self.tried[scenario, step] or "").rjust(len(scenario)) for scenario in scenarios]
            broken = sum(self.broken[scenario, step] for scenario in scenarios)
            yield " ".join([step.ljust(width), *counts, f"{broken} BROKEN" if broken else "recovered"])
        yield f"{self.tried.total()} deaths, {self.tried.total() - self.broken.total()} recovered"
