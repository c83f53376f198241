"""What is to be done about a unit that was read, judged by what its tasks told. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from tailpipe.collect.outcome import UnitFailed
from tailpipe.collect.plan import ArtifactKey, PlannedArtifact, Unit
from tailpipe.collect.tally import UnitTally
from tailpipe.config.reject_limit import RejectLimit
from tailpipe.lake.folder_limit import refusal
from tailpipe.lake.manifest import KnownArtifact


@dataclass(frozen=True)
class Limits:
    """`known` gives the artifacts of a day as they were before the run; `index` is the column of `tp_index`."""

    known: Callable[[date], Iterable[KnownArtifact]] = lambda day: ()
    rejects: RejectLimit | None = None
    index: str | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether what was read is committed, what failed, and what another job must read."""

    is_committed: bool = False
    failed: tuple[UnitFailed, ...] = ()
    left: tuple[Unit, ...] = ()


def judge(tally: UnitTally, limits: Limits) -> Verdict:
    """A unit that is committed whole fails whole; of others, artifacts that fail are left out and the rest is read
    again, for their rows share files."""
    if not tally.errors and not tally.can_be_committed:
        return Verdict(left=(tally.unit,))
    return _judge_whole(tally, limits) if tally.unit.is_whole else _judge_apart(tally, limits)


def _judge_whole(tally: UnitTally, limits: Limits) -> Verdict:
    messages = (
        [*tally.errors.values()] or _day_over_limit(tally, limits) or [*_folders(tally, limits).values()]
    )
    if not messages:
        return _balanced(tally)
    return Verdict(failed=(whole_failed(tally.unit, _unit_message(tally.unit, messages)),))


def _judge_apart(tally: UnitTally, limits: Limits) -> Verdict:
    errors = tally.errors or _files_over_limit(tally, limits) or _folders(tally, limits)
    if not errors:
        return _balanced(tally)
    rest = tuple(item for item in tally.unit.artifacts if item.key not in errors)
    failed = tuple(_artifact_failed(key, message) for key, message in errors.items())
    return Verdict(failed=failed, left=_part(tally.unit, rest))


def whole_failed(unit: Unit, message: str) -> UnitFailed:
    return UnitFailed(unit.label, len(unit.artifacts), message, day=unit.day)


def _artifact_failed(key: ArtifactKey, message: str) -> UnitFailed:
    sentence = message.removeprefix(f"{key.location}: ")
    return UnitFailed(key.location, 1, f"{sentence}. Nothing of it was stored.", location=key.location)


def _balanced(tally: UnitTally) -> Verdict:
    rows, left = tally.rows, _part(tally.unit, tally.left())
    rejects = tally.unit.rejects
    to_try = rows.read if rejects is None else sum(rejects.counts.values())
    if rows.is_balanced and rows.read == to_try:
        return Verdict(is_committed=True, left=left)
    tried = "" if rejects is None else f"{to_try:,} rejects to try, "
    message = (
        f"the counts do not add up: {tried}{rows.read:,} rows in, {rows.stored:,} stored, "
        f"{rows.left_out:,} filtered, {rows.rejected:,} rejected. Nothing was stored; please report this."
    )
    return Verdict(failed=(whole_failed(tally.read, message),), left=left)


def _part(unit: Unit, artifacts: tuple[PlannedArtifact, ...]) -> tuple[Unit, ...]:
    return (replace(unit, artifacts=artifacts),) if artifacts else ()


def _day_over_limit(tally: UnitTally, limits: Limits) -> list[str]:
    """A day answers for its rejects as a whole, with what earlier runs read of it: it does not matter in how many runs
    it was read."""
    if limits.rejects is None or not tally.rows.rejected or tally.unit.day is None:
        return []
    known = {each.key: each for each in limits.known(tally.unit.day)} | tally.known
    message = _over_limit(limits.rejects, known.values())
    return [message] if message else []


def _files_over_limit(tally: UnitTally, limits: Limits) -> dict[ArtifactKey, str]:
    """Files without a date answer each for its own, with what earlier runs read of it."""
    if limits.rejects is None:
        return {}
    rejected = [item for item in tally.read.artifacts if tally.by_artifact[item.key].rejected]
    messages = {item.key: _over_limit(limits.rejects, [tally.known_of(item)]) for item in rejected}
    return {key: message for key, message in messages.items() if message}


def _over_limit(limit: RejectLimit, records: Iterable[KnownArtifact]) -> str | None:
    rejected, read = map(
        sum, zip(*((record.rows.rejected, record.rows.read) for record in records), strict=True)
    )
    if not limit.is_exceeded(rejected, read):
        return None
    return f"{rejected:,} of {read:,} records were rejected, which is more than max_rejects = {limit}"


def _folders(tally: UnitTally, limits: Limits) -> dict[ArtifactKey, str]:
    """Each task kept to the limit of folders; together they may not have."""
    values = [(fact.partition_values["tp_index"], fact.partition_values["tp_date"]) for fact in tally.files]
    message = refusal(values, limits.index)
    return dict.fromkeys(tally.by_artifact, message) if message else {}


def _unit_message(unit: Unit, messages: Sequence[str]) -> str:
    first, *others = messages
    more = f" (and {len(others):,} more)" if others else ""
    pending = f". Nothing of {unit.label} was stored; the day stays pending." if unit.day else ""
    return f"{first}{more}{pending}"
