"""Jobs that end before all their artifacts are read, so that what was read can be committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tailpipe.collect.plan import PlannedArtifact, Unit
from tailpipe.collect.spool import request_stop

# When a job has run for so long, what was read of files without a date is committed, and another job reads the rest.
COMMIT_SECONDS = 30


@dataclass
class Stopping:
    """Whether the job that runs was asked to end early: by an interruption, or because it is time for a commit."""

    can_be_due: bool
    is_requested: bool = False
    interruption: BaseException | None = None

    def is_due(self, seconds: float) -> bool:
        return self.can_be_due and not self.is_requested and seconds > COMMIT_SECONDS

    def request(self, folder: Path, interruption: BaseException | None = None) -> None:
        self.is_requested = True
        self.interruption = interruption
        request_stop(folder)

    def raise_interruption(self) -> None:
        if self.interruption is not None:
            raise self.interruption


def read_together(slots: Sequence[tuple[Unit, PlannedArtifact]]) -> tuple[int, ...]:
    """By slot: artifacts of a day belong together, those without one are each their own."""
    firsts: dict[str, int] = {}
    return tuple(
        slot if unit.day is None else firsts.setdefault(unit.key, slot)
        for slot, (unit, _) in enumerate(slots)
    )
