"""What a run tells while it goes on."""

from __future__ import annotations

from tailpipe.collect.outcome import PartitionOutcome, UnitDone, UnitFailed
from tailpipe.collect.plan import PartitionPlan
from tailpipe.collect.spool import Counts


class Watcher:
    """Whoever shows it to people overrides what is to be shown."""

    def waiting_for(self, what: str) -> None:
        """Something that takes seconds begins: the engine starts, a source is listed."""

    def partition_planned(self, plan: PartitionPlan) -> None: ...

    def counted(self, counts: Counts) -> None:
        """Live counts of the job that runs now."""

    def stopping(self) -> None:
        """The run was interrupted: what is being read is read to its end and committed."""

    def unit_done(self, plan: PartitionPlan, unit: UnitDone) -> None: ...

    def unit_failed(self, plan: PartitionPlan, failure: UnitFailed) -> None: ...

    def planning_again(self, reason: str) -> None: ...

    def partition_broken_off(self, outcome: PartitionOutcome) -> None:
        """The last failure of the outcome is why."""

    def partition_finished(self, outcome: PartitionOutcome) -> None: ...

    def ended(self) -> None:
        """Nothing more is to be told, though the engine may take a while to end."""
