"""`tailpipe rejects`: look at quarantine, try it again after a fix, or empty it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence

from tailpipe.cli.arguments import add_actions, add_output, add_switch, add_window
from tailpipe.cli.freed_words import freed_facts, purged_words
from tailpipe.cli.reject_words import NOTHING, say_groups, say_rejects
from tailpipe.cli.selection import whole_window
from tailpipe.cli.setup import Setup, load_setup
from tailpipe.cli.terminal import confirm, counted, say, say_json
from tailpipe.errors import EXIT_DONE, UsageError
from tailpipe.lake.catalog import list_tables, partition_states
from tailpipe.lake.deletion import delete_rejects
from tailpipe.lake.purge import purge
from tailpipe.lake.quarantine import count_reasons, find_rejects
from tailpipe.partition_names import Key, matching
from tailpipe.suggest import nearest
from tailpipe.times import Window

_ID = re.compile(r"[0-9a-v]{20}|[0-9a-v]{32}")
# Which commands take an option.
_TAKERS = {
    "limit": ("show",),
    "force": ("drop",),
    "purge": ("drop",),
    "engine": ("retry",),
    "progress": ("retry",),
}
# Files of partitions.
Quarantine = Mapping[Key, Sequence[str]]

HELP = "List, show, retry and drop records that could not become rows."

_EXAMPLES = """
examples:
  tailpipe rejects list                                  how many, and why
  tailpipe rejects show nginx_access_log.web             their texts
  tailpipe rejects retry nginx_access_log --from T-1d    after a fix: those rejected since yesterday
  tailpipe rejects drop nginx_access_log.web             take them out for good
"""
SHOWN_REJECTS = 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    meanings = {
        "list": "counts and reasons",
        "show": "their texts",
        "retry": "try them again",
        "drop": "take them out for good",
    }
    add_actions(parser, meanings)
    names = "a table, table.partition or a partition; * matches any text; none means all. show takes ids too"
    add("names", nargs="*", metavar="NAME", help=names)
    add_window(parser, "only those rejected since then", "only those rejected before; a date is included")
    add("--limit", type=int, metavar="N", help=f"how many are shown (default: {SHOWN_REJECTS})")
    add("--force", action="store_true", default=None, help="drop without asking")
    purge = "drop, and remove all files that held them from the disk at once"
    add("--purge", action="store_true", default=None, help=purge)
    add("--engine", metavar="NAME", help="spark or sail; wins over TAILPIPE_ENGINE")
    add_switch(parser, "--progress", "show progress (default: true)")
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    _check_usage(arguments)
    is_retry = arguments.action == "retry"
    setup = load_setup(
        arguments, needs_config=is_retry, writes=arguments.action in ("retry", "drop"), tells=not is_retry
    )
    commands = {"list": _list, "show": _show, "retry": _retry, "drop": _drop}
    window = _rejection_window(arguments, setup)
    return commands[arguments.action](arguments, setup, _find_quarantine(setup), window)


def _find_quarantine(setup: Setup) -> Quarantine:
    """Of every partition that is configured or was collected."""
    found: dict[Key, list[str]] = {key: [] for key in (*setup.partitions, *setup.broken_partitions)}
    for table in list_tables(setup.lake):
        states = partition_states(setup.lake, table)
        found |= {(table, partition): list(state.reject_files) for partition, state in states.items()}
    return found


def _rejection_window(arguments: argparse.Namespace, setup: Setup) -> Window | None:
    if arguments.start is None and arguments.end is None:
        return None
    return whole_window(arguments, setup.now)


def _choose(words: Sequence[str], known: Quarantine) -> Quarantine:
    """No word means all."""
    if not words:
        return known
    keys: dict[Key, None] = {}
    for word in words:
        found = matching(word, known)
        if not found:
            raise _unknown(word, known)
        keys |= dict.fromkeys(found)
    return {key: known[key] for key in keys}


def _unknown(word: str, known: Quarantine) -> UsageError:
    names = [".".join(key) for key in known]
    near = nearest(word, [*names, *(part for key in known for part in key)])
    hint = f"did you mean {near}?" if near else "tailpipe partition list names them"
    return UsageError(f'no partition matches "{word}". There are: {", ".join(names) or "none"}.', hint)


def _check_usage(arguments: argparse.Namespace) -> None:
    for option, takers in _TAKERS.items():
        if getattr(arguments, option) is not None and arguments.action not in takers:
            raise UsageError(f"{arguments.action} takes no --{option}.", f"it is for {', '.join(takers)}")
    if arguments.limit is not None and arguments.limit < 1:
        raise UsageError(f"--limit {arguments.limit} shows nothing.", "give a number from 1")
    if arguments.action == "drop" and not arguments.names:
        raise UsageError("of which partitions are rejects to be dropped?", "'*' means all of them")


def _list(arguments: argparse.Namespace, setup: Setup, quarantine: Quarantine, window: Window | None) -> int:
    chosen = _choose(arguments.names, quarantine)
    counts = {
        ".".join(key): count_reasons(setup.lake.table(key[0]), files, window) for key, files in chosen.items()
    }
    say_groups({name: groups for name, groups in counts.items() if groups}, arguments.output)
    return EXIT_DONE


def _show(arguments: argparse.Namespace, setup: Setup, quarantine: Quarantine, window: Window | None) -> int:
    ids = [word for word in arguments.names if _ID.fullmatch(word) and not matching(word, quarantine)]
    chosen = _choose([word for word in arguments.names if word not in ids], quarantine)
    limit = max(arguments.limit or SHOWN_REJECTS, len(ids))
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


def _drop(arguments: argparse.Namespace, setup: Setup, quarantine: Quarantine, window: Window | None) -> int:
    chosen = _choose(arguments.names, quarantine)
    counts = {
        key: find_rejects(setup.lake.table(key[0]), files, window, (), 0)[1] for key, files in chosen.items()
    }
    keys = [key for key, count in counts.items() if count]
    if keys:
        names = ", ".join(map(".".join, keys))
        what = f"Drop {counted(sum(counts.values()), 'reject')} of {names} for good"
        confirm(f"{what}{' and purge their files' if arguments.purge else ''}?", bool(arguments.force))
    dropped = {".".join(key): delete_rejects(setup.lake, *key, window) for key in keys}
    # What was dropped earlier may still be on the disk.
    purged = {key: purge(setup.lake.table(key[0]), key[1]) for key in chosen} if arguments.purge else {}
    told = [purged_words(".".join(key), freed) for key, freed in purged.items()]
    code = max((code for _, code in told), default=EXIT_DONE)
    if arguments.output == "json":
        more = {".".join(key): freed_facts(freed) for key, freed in purged.items()}
        say_json(
            {"rejects": sum(dropped.values()), "partitions": dropped}
            | ({"purged": more} if arguments.purge else {})
        )
        return code
    for name, count in dropped.items():
        say(f"{name}: {counted(count, 'reject')} dropped")
    for sentence, _ in told:
        say(sentence)
    if not dropped and not told:
        say(f"{NOTHING} to drop.")
    return code


def _retry(arguments: argparse.Namespace, setup: Setup, quarantine: Quarantine, window: Window | None) -> int:
    from tailpipe.cli.reject_retry import retry

    return retry(arguments, setup, _choose(arguments.names, quarantine), window)
