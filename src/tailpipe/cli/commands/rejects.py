"""`tailpipe rejects`: look at quarantine, try it again after a fix, or empty it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tailpipe.errors import EXIT_DONE, EXIT_PARTIAL, UsageError

if TYPE_CHECKING:
    from tailpipe.cli.setup import Setup
    from tailpipe.collect.retry import RetryOutcome
    from tailpipe.times import Window

HELP = "List, show, retry and drop records that could not become rows."

_EXAMPLES = """
examples:
  tailpipe rejects list                                  how many, and why
  tailpipe rejects show nginx_access_log.web             their texts
  tailpipe rejects retry nginx_access_log --from T-1d    after a fix: those rejected since yesterday
  tailpipe rejects drop nginx_access_log.web             take them out for good
"""
_ID = re.compile(r"[0-9a-v]{20}|[0-9a-v]{32}")
# Which commands take an option.
_TAKERS = {
    "limit": ("show",),
    "force": ("drop",),
    "engine": ("retry",),
    "progress": ("retry",),
}
_SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    from tailpipe.cli.asked_window import add_window

    parser.epilog = _EXAMPLES
    actions = (
        "list: counts and reasons; show: their texts; retry: try them again; drop: take them out for good"
    )
    parser.add_argument("action", choices=("list", "show", "retry", "drop"), help=actions)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a table, table.partition or a partition; * matches any text; none means all. show takes ids too",
    )
    add_window(parser, "only those rejected since then", "only those rejected before; a date is included")
    parser.add_argument("--limit", type=int, metavar="N", help=f"how many are shown (default: {_SHOWN})")
    parser.add_argument("--force", action="store_true", default=None, help="drop without asking")
    parser.add_argument("--engine", metavar="NAME", help="spark or sail; wins over TAILPIPE_ENGINE")
    parser.add_argument(
        "--progress", nargs="?", const="true", choices=("true", "false"), help="show progress (default: true)"
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="how it is printed")


def run(arguments: argparse.Namespace) -> int:
    from tailpipe.cli.setup import load_setup

    _check_usage(arguments)
    is_retry = arguments.action == "retry"
    setup = load_setup(
        arguments, needs_config=is_retry, writes=arguments.action in ("retry", "drop"), tells=not is_retry
    )
    commands = {"list": _list, "show": _show, "retry": _retry, "drop": _drop}
    return commands[arguments.action](arguments, setup)


def _check_usage(arguments: argparse.Namespace) -> None:
    for option, takers in _TAKERS.items():
        if getattr(arguments, option) is not None and arguments.action not in takers:
            raise UsageError(f"{arguments.action} takes no --{option}.", f"it is for {', '.join(takers)}")
    if arguments.limit is not None and arguments.limit < 1:
        raise UsageError(f"--limit {arguments.limit} shows nothing.", "give a number from 1")
    if arguments.action == "drop" and not arguments.names:
        raise UsageError("of which partitions are rejects to be dropped?", "'*' means all of them")


def _list(arguments: argparse.Namespace, setup: Setup) -> int:
    from tailpipe.cli.reject_choice import choose, find_quarantine, rejection_window
    from tailpipe.cli.reject_words import say_groups
    from tailpipe.lake.quarantine import count_reasons

    window = rejection_window(arguments, setup)
    chosen = choose(arguments.names, find_quarantine(setup))
    counts = {
        ".".join(key): count_reasons(setup.lake.table(key[0]), files, window) for key, files in chosen.items()
    }
    say_groups({name: groups for name, groups in counts.items() if groups}, arguments.output)
    return EXIT_DONE


def _show(arguments: argparse.Namespace, setup: Setup) -> int:
    from tailpipe.cli.reject_choice import choose, find_quarantine, rejection_window
    from tailpipe.cli.reject_words import say_rejects
    from tailpipe.lake.quarantine import find_rejects
    from tailpipe.partition_names import matching

    quarantine = find_quarantine(setup)
    ids = [word for word in arguments.names if _ID.fullmatch(word) and not matching(word, quarantine)]
    chosen = choose([word for word in arguments.names if word not in ids], quarantine)
    limit = max(arguments.limit or _SHOWN, len(ids))
    window = rejection_window(arguments, setup)
    rejects: list[Mapping[str, object]] = []
    total = 0
    for key, files in chosen.items():
        found, count = find_rejects(setup.lake.table(key[0]), files, window, ids, limit - len(rejects))
        rejects += found
        total += count
    unknown = [id for id in ids if id not in {reject["id"] for reject in rejects}]
    if unknown:
        raise UsageError(
            f"no reject has the id {unknown[0]}.",
            "it may have been retried or dropped; tailpipe rejects list gives an example of each kind",
        )
    say_rejects(rejects, total, arguments.output)
    return EXIT_DONE


def _drop(arguments: argparse.Namespace, setup: Setup) -> int:
    from tailpipe.cli.confirmation import confirm
    from tailpipe.cli.reject_choice import choose, find_quarantine, rejection_window
    from tailpipe.cli.reject_words import NOTHING, say_json
    from tailpipe.cli.terminal import counted, say
    from tailpipe.lake.deletion import delete_rejects
    from tailpipe.lake.quarantine import find_rejects

    window = rejection_window(arguments, setup)
    chosen = choose(arguments.names, find_quarantine(setup))
    counts = {
        key: find_rejects(setup.lake.table(key[0]), files, window, (), 0)[1] for key, files in chosen.items()
    }
    keys = [key for key, count in counts.items() if count]
    if keys:
        names = ", ".join(map(".".join, keys))
        confirm(f"Drop {counted(sum(counts.values()), 'reject')} of {names} for good?", bool(arguments.force))
    dropped = {".".join(key): delete_rejects(setup.lake, *key, window) for key in keys}
    if arguments.output == "json":
        say_json({"rejects": sum(dropped.values()), "partitions": dropped})
        return EXIT_DONE
    for name, count in dropped.items():
        say(f"{name}: {counted(count, 'reject')} dropped")
    if not dropped:
        say(f"{NOTHING} to drop.")
    return EXIT_DONE


def _retry(arguments: argparse.Namespace, setup: Setup) -> int:
    import os

    from tailpipe.cli.chosen_targets import usable_targets
    from tailpipe.cli.diagnostics import engine_log
    from tailpipe.cli.interruption import interruptible
    from tailpipe.cli.progress import make_watcher
    from tailpipe.cli.reject_choice import choose, find_quarantine, rejection_window
    from tailpipe.cli.reject_words import say_retries
    from tailpipe.cli.setup import all_problems, warn_of
    from tailpipe.collect.retry import Retry
    from tailpipe.engine.settings import engine_settings
    from tailpipe.records import RowCounts

    window = rejection_window(arguments, setup)
    chosen = choose(arguments.names, find_quarantine(setup))
    engine = engine_settings(setup.workspace, os.environ, arguments.engine)
    targets, broken = usable_targets(setup, engine.name)
    warn_of((*all_problems(setup), *(problem for problems in broken.values() for problem in problems)))
    tried = [targets[key] for key, files in chosen.items() if files and key in targets]
    with interruptible(), make_watcher(is_shown=arguments.progress != "false") as watcher:
        retry = Retry(
            targets=tried,
            lake=setup.lake,
            window=window,
            engine=engine,
            now=setup.now,
            watcher=watcher,
            engine_log=engine_log(arguments.debug),
        )
        done = retry.execute()
    others = {key: files for key, files in chosen.items() if key not in targets}
    outcomes = [*done, *_not_tried(setup, others, broken, window)]
    outcomes = [outcome for outcome in outcomes if outcome.rows.read or outcome.left or outcome.failure]
    rows = sum((outcome.rows for outcome in outcomes), RowCounts())
    say_retries(outcomes, rows, arguments.output)
    is_failed = any(outcome.failure for outcome in outcomes)
    is_all_left = bool(outcomes) and rows.stored + rows.left_out == 0
    return EXIT_PARTIAL if is_failed or is_all_left else EXIT_DONE


def _not_tried(
    setup: Setup,
    partitions: Mapping[tuple[str, str], Sequence[str]],
    broken: Collection[tuple[str, str]],
    window: Window | None,
) -> Iterator[RetryOutcome]:
    from tailpipe.collect.retry import Left, RetryOutcome
    from tailpipe.lake.quarantine import find_rejects

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
