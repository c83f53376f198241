"""From sources and a state to a plan: what is wanted, what is seen, what is decided."""

from __future__ import annotations

from datetime import datetime

from tailpipe.collect.decide import decide
from tailpipe.collect.observe import observe
from tailpipe.collect.plan import PartitionPlan
from tailpipe.collect.target import Target
from tailpipe.collect.windows import AskedWindow, Horizons, wanted_windows
from tailpipe.lake.state import PartitionState


def plan_partition(
    target: Target,
    state: PartitionState,
    asked: AskedWindow,
    horizons: Horizons,
    now: datetime,
    is_overwrite: bool = False,
) -> PartitionPlan:
    """Lists the sources and leaves out what the lake has. Reads no log content but parts of files that changed."""
    wanted = [
        wanted_windows(state, feed.source.name, asked, horizons, now, is_overwrite) for feed in target.feeds
    ]
    return decide(target, state, wanted, observe(target, state, wanted, now))
