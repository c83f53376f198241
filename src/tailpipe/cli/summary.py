"""The closing words of a run, and the plan of a dry one: for people, or as JSON for scripts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tailpipe.cli.compaction_report import compaction_json, compaction_words
from tailpipe.cli.expired_words import expired_json, expired_words
from tailpipe.cli.reasons import print_left_out, print_reasons, print_unstored, tell, window_words
from tailpipe.cli.terminal import counted, say, seconds, size
from tailpipe.collect.listing import Listing
from tailpipe.collect.outcome import Cause, PartitionOutcome, RunOutcome, UnitFailed, Upkeep, unlisted
from tailpipe.collect.plan import Action, PartitionPlan, Unit
from tailpipe.collect.windows import END_OF_TIME
from tailpipe.errors import EXIT_DONE, EXIT_LAKE, EXIT_PARTIAL, EXIT_SOURCE, EXIT_USAGE
from tailpipe.records import RowCounts
from tailpipe.sources.artifact import SkipReason
from tailpipe.times import Window

_ACTION_WORDS = {
    Action.READ_ON: "read on",
    Action.WIDEN: "read again for a wider window",
    Action.REPLACE: "replaced",
}


def exit_code(outcome: RunOutcome) -> int:
    """A partition of which every record was rejected is not done: its format does not fit its logs."""
    if not outcome.failed:
        return EXIT_PARTIAL if any(_is_all_rejected(part) for part in outcome.partitions) else EXIT_DONE
    cause, *others = {failure.cause for failure in outcome.failed}
    codes = {Cause.UNLISTED: EXIT_SOURCE, Cause.USAGE: EXIT_USAGE, Cause.LAKE: EXIT_LAKE}
    return EXIT_PARTIAL if others else codes.get(cause, EXIT_PARTIAL)


def print_summary(outcome: RunOutcome, form: str) -> None:
    if form == "json":
        say(json.dumps(_outcome_json(outcome), indent=2))
        return
    for partition in outcome.partitions:
        _print_partition(partition)
    rows = outcome.rows
    rate = f", {rows.read / outcome.seconds:,.0f} rows/s" if rows.read and outcome.seconds else ""
    say(f"total: {balance(rows)}  ({seconds(outcome.seconds)}{rate})")
    failed = sum(failure.cause is not Cause.USAGE for failure in outcome.failed)
    if failed:
        pronoun = "it" if failed == 1 else "them"
        say(f"{counted(failed, 'unit')} failed; the next run takes {pronoun} up again")


def print_plan(plans: Sequence[PartitionPlan], outcome: RunOutcome, form: str) -> int:
    """`outcome` are the partitions that could not be planned."""
    code = exit_code(_with_unlisted(plans, outcome))
    if form == "json":
        parts = [_plan_json(plan) for plan in plans] + [_partition_json(each) for each in outcome.partitions]
        say(json.dumps({"partitions": parts}, indent=2))
        return code
    for plan in plans:
        tell(f"{plan.target.name}  window {window_words(plan.window)}")
        for unit in plan.units:
            artifacts = counted(len(unit.artifacts), "artifact")
            tell(f"  {unit.label:<16}  {artifacts:>16}  {size(unit.size_bytes):>10}{_action_words(unit)}")
        total = f"{counted(plan.artifact_count, 'artifact')}, {size(plan.size_bytes)}"
        tell(f"  {counted(len(plan.units), 'unit')}, {total}")
        for listing in plan.listings:
            _print_edge(listing)
        if not plan.units:
            print_reasons(plan.listings, plan.window)
        _print_failures(unlisted(plan.listings))
    for partition in outcome.partitions:
        _print_partition(partition)
    return code


def _with_unlisted(plans: Sequence[PartitionPlan], outcome: RunOutcome) -> RunOutcome:
    """As the run of these plans would have failed."""
    planned = tuple(
        PartitionOutcome(plan.target.name, plan.window, (), failed=tuple(unlisted(plan.listings)))
        for plan in plans
    )
    return RunOutcome((*planned, *outcome.partitions))


def _actions(unit: Unit) -> Counter[Action]:
    return Counter(planned.action for planned in unit.artifacts)


def _action_words(unit: Unit) -> str:
    """What is done with artifacts that are known already."""
    actions = _actions(unit)
    words = [f"{actions[action]:,} {word}" for action, word in _ACTION_WORDS.items() if actions[action]]
    return f"  ({', '.join(words)})" if words else ""


def _print_partition(partition: PartitionOutcome) -> None:
    tell(partition.name)
    if partition.done:
        days = counted(len(partition.days), "day")
        read = size(sum(unit.size_bytes for unit in partition.done))
        stored = size(sum(unit.stored_bytes for unit in partition.done))
        files = counted(sum(unit.files for unit in partition.done), "file")
        tell(f"  {counted(partition.artifacts, 'artifact')}, {read} read; {days}, {files}, {stored} stored")
        tell(f"  {balance(partition.rows)}")
    print_unstored(partition)
    if _is_all_rejected(partition):
        tell("  every record was rejected")
        tell("  hint: does the format fit the logs? The reasons are in quarantine")
    if partition.rows.rejected:
        tell(f"  see: tailpipe rejects show {partition.name}")
    if not partition.rows.stored:
        print_reasons(partition.listings, partition.window)
    _print_remarks(partition)
    _print_failures(partition.failed)
    _print_upkeep(partition.upkeep)


def _print_upkeep(upkeep: Upkeep) -> None:
    if upkeep.compaction.done:
        tell(f"  {compaction_words(upkeep.compaction)}")
    if upkeep.expired and not upkeep.expired.is_nothing:
        tell(f"  {expired_words(upkeep.expired)}")
    for problem in upkeep.problems:
        cause, *hints = problem.split("\nhint: ")
        tell(f"  warning: {cause}")
        for hint in hints:
            tell(f"  hint: {hint}")


def _print_failures(failed: Iterable[UnitFailed]) -> None:
    for failure in failed:
        cause, *hints = failure.message.split("\nhint: ")
        tell(f"  failed: {failure.label}: {cause}")
        for hint in hints:
            tell(f"  hint: {hint}")


def _print_remarks(partition: PartitionOutcome) -> None:
    """What is neither usual nor a failure: things that were left out, changed, moved, wait, or came too late."""
    for listing in partition.listings:
        source = f"  source {listing.source}: "
        if partition.rows.stored:
            print_left_out(listing)
        if listing.twice:
            artifacts = counted(listing.twice, "artifact")
            tell(
                f"{source}{artifacts} collected before by another source, so now twice: {listing.twice_example}"
            )
            tell(
                "    hint: was the source renamed, or another put before it? Its name is what it is known by"
            )
        if listing.replaced and partition.done:
            artifacts = counted(listing.replaced, "artifact")
            tell(f"{source}{artifacts} read again in place of what was stored: {listing.replaced_example}")
        if listing.moved:
            tell(f"{source}{counted(listing.moved, 'file')} moved since collected, and known again")
        if listing.skipped.get(SkipReason.WAITING):
            tell(f"{source}waiting until it is packed: {listing.waiting_example}")
        if listing.skipped.get(SkipReason.LATE):
            artifacts = counted(listing.skipped[SkipReason.LATE], "artifact")
            tell(
                f"{source}{artifacts} came later than the lateness allows, for example {listing.late_example}"
            )
            tell("    hint: --from with a time before it collects it")
        if listing.skipped.get(SkipReason.EXPIRED):
            artifacts = counted(listing.skipped[SkipReason.EXPIRED], "artifact")
            example = listing.skip_examples[SkipReason.EXPIRED]
            tell(f"{source}{artifacts} of expired days left alone, for example {example}")
        if listing.gone:
            artifacts = counted(listing.gone, "artifact")
            pronoun = "it" if listing.gone == 1 else "them"
            tell(
                f"{source}{artifacts} of the window no longer there; what was collected of {pronoun} is kept"
            )
        if listing.lost:
            artifacts = counted(listing.lost, "artifact")
            has = "has" if listing.lost == 1 else "have"
            tell(
                f"{source}{artifacts} no longer there {has} rows of the window that are not in the lake, "
                f"for example {listing.lost_example}"
            )
        _print_edge(listing)
        if listing.doubted:
            tell(
                f"{source}an earlier run says it looked up to {listing.doubted}, which is after now: a clock was "
                "wrong. All that was asked for was looked at again"
            )
    went_on = sum(unit.went_on for unit in partition.done)
    if went_on:
        pronoun = "it" if went_on == 1 else "them"
        lines = counted(went_on, "last line")
        tell(f"  {lines} went on since the last run; what was collected of {pronoun} is replaced")
    _print_waiting(partition)


def _print_edge(listing: Listing) -> None:
    if listing.edge:
        tell(f"  source {listing.source}: the window begins {listing.edge[:10]}: rows before that day expire")


def _print_waiting(partition: PartitionOutcome) -> None:
    """In every run as long as they wait, also in those that found nothing else."""
    waiting = [path for unit in partition.done for path in unit.waiting]
    waiting += [listing.unended_example for listing in partition.listings if listing.unended_example]
    count = sum(len(unit.waiting) for unit in partition.done)
    count += sum(listing.unended for listing in partition.listings)
    if waiting:
        others = f" (and {counted(count - 1, 'other file')})" if count > 1 else ""
        tell(
            f"  {waiting[0]}{others}: the last line has no end yet and may be half written; a later run takes it"
        )
        tell("    hint: it is taken as it is when nobody has written to the file for ten seconds")


def _is_all_rejected(partition: PartitionOutcome) -> bool:
    """A log that goes on with a bad line says nothing about its format."""
    rows = partition.rows
    goes_on = all(item.action is Action.READ_ON for unit in partition.done for item in unit.unit.artifacts)
    return rows.rejected > 0 and rows.rejected == rows.read and not goes_on


def balance(rows: RowCounts) -> str:
    parts = f"stored {rows.stored:,} + filtered {rows.left_out:,} + rejected {rows.rejected:,}"
    return f"rows in {rows.read:,} = {parts}"


def _outcome_json(outcome: RunOutcome) -> dict[str, Any]:
    return {
        "engine": outcome.engine,
        "seconds": round(outcome.seconds, 3),
        "timings": dict(outcome.timings),
        "rows": rows_json(outcome.rows),
        "partitions": [_partition_json(partition) for partition in outcome.partitions],
    }


def _partition_json(partition: PartitionOutcome) -> dict[str, Any]:
    return {
        "partition": partition.name,
        "window": _window_json(partition.window),
        "artifacts": partition.artifacts,
        "days": sorted(partition.days),
        "size_bytes": sum(unit.size_bytes for unit in partition.done),
        "raw_bytes": sum(unit.raw_bytes for unit in partition.done),
        "stored_bytes": sum(unit.stored_bytes for unit in partition.done),
        "files": sum(unit.files for unit in partition.done),
        "rows": rows_json(partition.rows),
        "failed": [_failure_json(failure) for failure in partition.failed],
        "compacted": compaction_json(partition.upkeep.compaction),
        "expired": expired_json(partition.upkeep.expired),
        "warnings": list(partition.upkeep.problems),
        "sources": [_listing_json(listing) for listing in partition.listings],
    }


def _failure_json(failure: UnitFailed) -> dict[str, Any]:
    return {
        "label": failure.label,
        "artifacts": failure.artifacts,
        "message": failure.message,
        "is_unlisted": failure.cause is Cause.UNLISTED,
    }


def _plan_json(plan: PartitionPlan) -> dict[str, Any]:
    return {
        "partition": plan.target.name,
        "window": _window_json(plan.window),
        "units": [
            {
                "unit": unit.key,
                "artifacts": len(unit.artifacts),
                "size_bytes": unit.size_bytes,
                "actions": {action.value: count for action, count in _actions(unit).items()},
            }
            for unit in plan.units
        ],
        "sources": [_listing_json(listing) for listing in plan.listings],
    }


def rows_json(rows: RowCounts) -> dict[str, int]:
    return {
        "in": rows.read,
        "stored": rows.stored,
        "filtered": rows.left_out,
        "rejected": rows.rejected,
        "outside_window": rows.outside - rows.stored_before,
        "stored_before": rows.stored_before,
    }


def _listing_json(listing: Listing) -> dict[str, Any]:
    return vars(listing) | {"failures": [vars(failure) for failure in listing.failures]}


def _window_json(window: Window) -> dict[str, str | None]:
    end = None if window.end == END_OF_TIME else window.end.isoformat()
    return {"from": window.start.isoformat(), "to": end}
