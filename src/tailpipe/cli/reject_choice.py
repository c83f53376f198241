"""Which partitions' quarantine, and what of it, the words of `tailpipe rejects` mean."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from tailpipe.cli.asked_window import whole_window
from tailpipe.cli.setup import Setup
from tailpipe.errors import UsageError
from tailpipe.lake.catalog import list_tables, partition_states
from tailpipe.partition_names import Key, matching
from tailpipe.suggest import nearest
from tailpipe.times import Window


def find_quarantine(setup: Setup) -> dict[Key, list[str]]:
    """Files of every partition that is configured or was collected."""
    found: dict[Key, list[str]] = {key: [] for key in (*setup.partitions, *setup.broken_partitions)}
    for table in list_tables(setup.lake):
        states = partition_states(setup.lake, table)
        found |= {(table, partition): list(state.reject_files) for partition, state in states.items()}
    return found


def choose(words: Sequence[str], known: Mapping[Key, list[str]]) -> dict[Key, list[str]]:
    """No word means all."""
    if not words:
        return dict(known)
    keys: dict[Key, None] = {}
    for word in words:
        found = matching(word, known)
        if not found:
            raise _unknown(word, known)
        keys |= dict.fromkeys(found)
    return {key: known[key] for key in keys}


def _unknown(word: str, known: Mapping[Key, list[str]]) -> UsageError:
    names = [".".join(key) for key in known]
    near = nearest(word, [*names, *(part for key in known for part in key)])
    hint = f"did you mean {near}?" if near else "tailpipe partition list names them"
    return UsageError(f'no partition matches "{word}". There are: {", ".join(names) or "none"}.', hint)


def rejection_window(arguments: argparse.Namespace, setup: Setup) -> Window | None:
    if arguments.start is None and arguments.end is None:
        return None
    return whole_window(arguments, setup.now)
