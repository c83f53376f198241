"""Which partitions, which of their sources, and which times the words on the command line mean."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Generic, TypeVar

from tailpipe.errors import UsageError
from tailpipe.partition_names import Key, matching
from tailpipe.suggest import nearest
from tailpipe.times import Window, parse_moment

Chosen = TypeVar("Chosen")
Sources = Mapping[Key, tuple[str, ...]]


def asked_times(
    arguments: argparse.Namespace, now: datetime, *, is_past: bool = False
) -> tuple[datetime | None, datetime | None]:
    """`--from` and `--to`, None for one that is not given. `is_past` refuses a window that has not begun."""
    start = parse_moment(arguments.start, now=now) if arguments.start is not None else None
    end = parse_moment(arguments.end, now=now, is_end=True) if arguments.end is not None else None
    if is_past and start and start > now:
        raise UsageError(f"--from {arguments.start} is in the future.", hint="T-30d means 30 days ago")
    if start and end and start >= end:
        raise UsageError(
            f"--from {arguments.start} is not before --to {arguments.end}: the window is empty.",
            hint="exchange them; a date given to --to includes that day",
        )
    return start, end


def asked_past(text: str, now: datetime) -> int | datetime:
    """`--as-of`: a number is a version. A date means its beginning, as with `--from`."""
    if text.strip().isascii() and text.strip().isdigit():
        return int(text)
    try:
        moment = parse_moment(text, now=now)
    except UsageError as error:
        raise UsageError(f"{error.message} A version is a whole number, such as 12.", error.hint) from None
    if moment > now:
        raise UsageError(f"--as-of {text} is in the future.", hint="T-7d means 7 days ago")
    return moment


def whole_window(arguments: argparse.Namespace, now: datetime) -> Window:
    """The same without open ends: what is not said reaches as far as time does."""
    from tailpipe.collect.windows import ALWAYS

    start, end = asked_times(arguments, now)
    return Window(start or ALWAYS.start, end or ALWAYS.end)


@dataclass(frozen=True)
class Selection(Generic[Chosen]):
    """`sources` are the names of those to collect; empty means all."""

    chosen: Chosen
    sources: tuple[str, ...] = ()


def select(
    words: Sequence[str],
    partitions: Mapping[Key, Chosen],
    sources_of: Callable[[Chosen], Sequence[str]],
) -> list[Selection[Chosen]]:
    """No word means all; `*` in a word matches any text.

    A word that is a table, `table.partition` or a partition's name chooses partitions. One that is none of these but
    a source's name restricts what the others chose to such sources; if they chose nothing, it chooses every
    partition that has one. `table.partition.source` adds a source to what is chosen.
    """
    if not partitions:
        raise UsageError(
            "the configuration has no partition, so there is nothing to collect.",
            hint='add a block such as `partition "nginx_access_log" "web" { source "file" { paths = ["…"] } }`',
        )
    known = {key: tuple(sources_of(partition)) for key, partition in partitions.items()}
    chosen = _choose(words, known) if words else {key: set(names) for key, names in known.items()}
    return [
        Selection(partitions[key], () if names == set(known[key]) else _ordered(names, known[key]))
        for key, names in chosen.items()
    ]


def chosen_partitions(words: Sequence[str], keys: Iterable[Key]) -> list[Key]:
    """Those that the words name: tables, `table.partition` or partitions, in the order of the words. None means all."""
    known = list(keys)
    if not words:
        return known
    chosen: dict[Key, None] = {}
    for word in words:
        found = matching(word, known)
        if not found:
            names = [".".join(key) for key in known]
            near = nearest(word, [*names, *(name for key in known for name in key)])
            raise UsageError(
                f'no partition matches "{word}". There are: {", ".join(names) or "none"}.',
                hint=f"did you mean {near}?" if near else None,
            )
        chosen |= dict.fromkeys(found)
    return list(chosen)


def _choose(words: Sequence[str], known: Sources) -> dict[Key, set[str]]:
    """The chosen sources of each chosen partition, partitions in the order in which words mention them."""
    chosen: dict[Key, set[str]] = {}
    whole: list[Key] = []
    restrictions: list[str] = []
    for word in words:
        if word.count(".") > 1:
            for key, name in _places(word, known):
                chosen.setdefault(key, set()).add(name)
        elif keys := matching(word, known):
            chosen |= {key: set() for key in keys if key not in chosen}
            whole += keys
        elif _has_source(word, known):
            restrictions.append(word)
        else:
            raise _unknown(word, known)
    if not restrictions:
        return chosen | {key: set(known[key]) for key in whole}
    for key in whole or list(chosen) or list(known):
        found = {name for name in known[key] if _is_any(name, restrictions)}
        if found:
            chosen[key] = chosen.get(key, set()) | found
    _check_restrictions(restrictions, chosen, known)
    return chosen


def _ordered(names: set[str], configured: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in configured if name in names)


def _places(word: str, known: Sources) -> list[tuple[Key, str]]:
    """Sources that `table.partition.source` means."""
    partition, _, source = word.rpartition(".")
    keys = matching(partition, known)
    found = [(key, name) for key in keys for name in known[key] if fnmatchcase(name, source)]
    if found:
        return found
    if not keys:
        raise _unknown(partition, known)
    raise _no_such_source(source, keys, known)


def _has_source(word: str, known: Mapping[Key, Iterable[str]]) -> bool:
    return any(fnmatchcase(name, word) for names in known.values() for name in names)


def _is_any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _check_restrictions(restrictions: Sequence[str], chosen: Mapping[Key, set[str]], known: Sources) -> None:
    """Every restriction must leave something, and leave something of every partition."""
    for word in restrictions:
        if not _has_source(word, chosen):
            raise _no_such_source(word, list(chosen), known)
    for key, names in chosen.items():
        if not names:
            raise _no_such_source(", ".join(restrictions), [key], known)


def _no_such_source(word: str, keys: Sequence[Key], known: Sources) -> UsageError:
    partitions = ", ".join(".".join(key) for key in keys)
    own = list(dict.fromkeys(name for key in keys for name in known[key]))
    near = nearest(word, own)
    elsewhere = [f"{'.'.join(key)}.{name}" for key, names in known.items() for name in names if name == word]
    hint = f"did you mean {near}?" if near else None
    if elsewhere:
        hint = f"to collect that source, write {elsewhere[0]}"
    return UsageError(f'no source of {partitions} matches "{word}". Configured: {", ".join(own)}.', hint)


def _unknown(word: str, known: Sources) -> UsageError:
    partitions = [".".join(key) for key in known]
    if "." in word:
        message = f'no partition matches "{word}". Configured: {", ".join(partitions)}.'
        candidates = partitions
    else:
        sources = list(dict.fromkeys(name for names in known.values() for name in names))
        message = f'no partition and no source matches "{word}". '
        message += f"Partitions: {', '.join(partitions)}. Sources: {', '.join(sources)}."
        candidates = [*partitions, *(key[0] for key in known), *(key[1] for key in known), *sources]
    near = nearest(word, candidates)
    return UsageError(message, hint=f"did you mean {near}?" if near else None)
