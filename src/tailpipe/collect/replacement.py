"""What leaves the lake in the commit in which something comes in its place.

Artifacts that were read again from their beginning take all out that they ever gave; a last line that was taken without
its end, and went on since, takes out the one row or reject that it gave. Rejects that were tried leave quarantine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from tailpipe.collect.jobs import choice_of
from tailpipe.collect.plan import Action, PlannedArtifact, Unit
from tailpipe.collect.target import Target
from tailpipe.lake.columns import row_id
from tailpipe.lake.facts import FileFact, RejectsFact
from tailpipe.lake.log import TableLog
from tailpipe.lake.manifest import KnownArtifact
from tailpipe.lake.removal import Chosen, LiveFile, RejectRemoval, Wrote, remove_chosen, remove_rejects
from tailpipe.times import Window, merge, midnight


@dataclass(frozen=True)
class Replacement:
    """`files` and `rejects` are what is left of those removed. `found` are ids of single lines, where they were."""

    removed: tuple[LiveFile, ...] = ()
    files: tuple[FileFact, ...] = ()
    removed_rejects: tuple[str, ...] = ()
    rejects: tuple[RejectsFact, ...] = ()
    rows_found: frozenset[str] = frozenset()
    rejects_found: frozenset[str] = frozenset()


def open_line_id(target: Target, planned: PlannedArtifact) -> str:
    """The id of what the last line gave that was taken without its end."""
    assert planned.known is not None
    return row_id(planned.prefix(target), planned.known.mark.position)


def remove_replaced(
    target: Target,
    log: TableLog,
    unit: Unit,
    reject_files: Sequence[str],
    restarted: Sequence[PlannedArtifact],
    wrote: Wrote,
) -> Replacement:
    """Writes files anew without the rows and rejects that go; nothing of that is visible before a commit."""
    partition = target.config.name
    if unit.rejects is not None:
        choice = choice_of(target, unit.rejects, unit.artifacts)
        tried = remove_rejects(log.address, partition, unit.rejects.files, choice, unit.key, wrote)
        return Replacement(removed_rejects=tried.removed, rejects=tried.added)
    replaced = [item for item in unit.artifacts if item.action is Action.REPLACE]
    known = [item.known for item in (*replaced, *restarted) if item.known is not None]
    if not known:
        return Replacement()
    prefixes = frozenset(item.prefix(target).decode() for item in replaced)
    rows = Chosen(prefixes, frozenset(open_line_id(target, item) for item in restarted))
    files = sorted(_files_within(log.live_files(partition), known), key=lambda file: file.range, reverse=True)
    gone = remove_chosen(log.address, files, rows, unit.key, wrote)
    rejects = Chosen(prefixes, rows.ids - rows.found)
    gone_rejects = RejectRemoval((), (), 0)
    if not rejects.is_found and any(each.rows.rejected for each in known):
        gone_rejects = remove_rejects(log.address, partition, reject_files, rejects, unit.key, wrote)
    return Replacement(
        gone.removed,
        gone.added,
        gone_rejects.removed,
        gone_rejects.added,
        frozenset(rows.found),
        frozenset(rejects.found),
    )


def _files_within(files: Iterable[LiveFile], records: Sequence[KnownArtifact]) -> list[LiveFile]:
    """Files that can hold rows of the artifacts, by the days of their rows."""
    spans = merge(
        Window(midnight(record.first.date()), record.last + timedelta.resolution)
        for record in records
        if record.first and record.last
    )

    def may_hold(file: LiveFile) -> bool:
        day = midnight(date.fromisoformat(file.partition_values["tp_date"]))
        return any(span.contains(day) for span in spans)

    return [file for file in files if may_hold(file)]
