"""`tailpipe rejects retry`: apart from the other commands, which need nothing of what collects."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tailpipe.cli.chosen_targets import usable_targets
from tailpipe.cli.diagnostics import engine_log
from tailpipe.cli.interruption import interruptible
from tailpipe.cli.progress import make_watcher
from tailpipe.cli.reject_words import NOTHING, group_json, say_counts
from tailpipe.cli.setup import Setup, all_problems, warn_of
from tailpipe.cli.summary import balance, rows_json
from tailpipe.cli.terminal import counted, say, say_json
from tailpipe.collect.retry import Left, Retry, RetryOutcome
from tailpipe.engine.settings import engine_settings
from tailpipe.errors import EXIT_DONE, EXIT_PARTIAL
from tailpipe.lake.quarantine import find_rejects
from tailpipe.partition_names import Key
from tailpipe.records import RowCounts
from tailpipe.times import Window

_MAIN_GROUPS = 5


def retry(
    arguments: argparse.Namespace, setup: Setup, chosen: Mapping[Key, Sequence[str]], window: Window | None
) -> int:
    engine = engine_settings(setup.workspace, os.environ, arguments.engine)
    targets, broken = usable_targets(setup, engine.name)
    warn_of((*all_problems(setup), *(problem for problems in broken.values() for problem in problems)))
    tried = [targets[key] for key, files in chosen.items() if files and key in targets]
    with interruptible(), make_watcher(is_shown=arguments.progress != "false") as watcher:
        tries = Retry(
            targets=tried,
            lake=setup.lake,
            window=window,
            engine=engine,
            now=setup.now,
            watcher=watcher,
            engine_log=engine_log(arguments.debug),
        )
        done = tries.execute()
    others = {key: files for key, files in chosen.items() if key not in targets}
    outcomes = [*done, *_not_tried(setup, others, broken, window)]
    outcomes = [outcome for outcome in outcomes if outcome.rows.read or outcome.left or outcome.failure]
    rows = sum((outcome.rows for outcome in outcomes), RowCounts())
    _say_retries(outcomes, rows, arguments.output)
    is_failed = any(outcome.failure for outcome in outcomes)
    is_all_left = bool(outcomes) and rows.stored + rows.left_out == 0
    return EXIT_PARTIAL if is_failed or is_all_left else EXIT_DONE


def _not_tried(
    setup: Setup,
    partitions: Mapping[Key, Sequence[str]],
    broken: Collection[Key],
    window: Window | None,
) -> Iterator[RetryOutcome]:
    for key, files in partitions.items():
        name = ".".join(key)
        _, rejects = find_rejects(setup.lake.table(key[0]), files, window, (), 0)
        if rejects:
            hint = f"configure {name} again, or take them out: tailpipe rejects drop {name}"
            reason = "of a partition that is not configured"
            if key in broken:
                hint = "tailpipe config check shows what is wrong"
                reason = "of a partition with problems in its configuration"
            yield RetryOutcome(name, left=(Left(rejects, reason, hint),))


def _say_retries(outcomes: Sequence[RetryOutcome], total: RowCounts, form: str) -> None:
    if form == "json":
        say_json({"rows": rows_json(total), "partitions": [_outcome_json(outcome) for outcome in outcomes]})
        return
    for outcome in outcomes:
        say(outcome.name)
        if outcome.rows.read:
            say(f"  {balance(outcome.rows)}")
        if outcome.rows.outside:
            say(f"  {counted(outcome.rows.outside, 'row')} outside the windows that were collected")
        if outcome.failure:
            say(f"  failed: {outcome.failure}. Nothing was changed.")
        for left in outcome.left:
            say(f"  not tried: {counted(left.rejects, 'reject')} {left.reason}")
            say(f"  hint: {left.hint}")
        if outcome.remaining:
            say(f"  left: {counted(sum(group.rejects for group in outcome.remaining), 'reject')}")
            say_counts(outcome.remaining, _MAIN_GROUPS)
    say(f"total: {balance(total)}" if outcomes else f"{NOTHING} to try again.")


def _outcome_json(outcome: RetryOutcome) -> dict[str, Any]:
    return {
        "partition": outcome.name,
        "rows": rows_json(outcome.rows),
        "days": sorted(outcome.days),
        "left": [asdict(left) for left in outcome.left],
        "remaining": [group_json(outcome.name, group) for group in outcome.remaining],
        "failure": outcome.failure,
    }
