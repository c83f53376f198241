"""Which partitions a command collects, and which of those it was asked for have to be left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tailpipe.cli.selection import select
from tailpipe.cli.setup import Setup, all_problems, problems_of, warn_of
from tailpipe.cli.terminal import note
from tailpipe.collect.target import Target, engine_problems, find_targets, only_sources
from tailpipe.config.report import in_order
from tailpipe.errors import ConfigError, Problem
from tailpipe.partition_names import Key


@dataclass(frozen=True)
class Choice:
    """`left_out` are partitions that were asked for and cannot be used.

    `is_whole` is false when every partition was asked for, and some may be in text that was not understood.
    """

    targets: tuple[Target, ...]
    left_out: tuple[str, ...]
    is_whole: bool


def usable_targets(setup: Setup, engine: str) -> tuple[dict[Key, Target], dict[Key, tuple[Problem, ...]]]:
    """What the engine can run, and what is wrong with each of the others."""
    targets, broken = find_targets(setup.config, setup.registry)
    for key, target in list(targets.items()):
        problems = engine_problems([target], engine)
        if problems:
            broken[key] = problems
            del targets[key]
    return targets, broken


def choose_targets(setup: Setup, words: Sequence[str], engine: str) -> Choice:
    """Tells what is wrong. Raises ConfigError when all that was asked for has to be left out."""
    targets, broken = usable_targets(setup, engine)
    sources = {key: [feed.source.name for feed in target.feeds] for key, target in targets.items()}
    keys = {key: key for key in (*targets, *broken)}
    if not keys and setup.config.errors:
        raise ConfigError(setup.config.errors)
    selections = select(words, keys, lambda key: sources.get(key, []))
    chosen = [each for each in selections if each.chosen in targets]
    left_out = [each.chosen for each in selections if each.chosen not in targets]
    problems = _tell(setup, broken, left_out)
    if not chosen:
        raise ConfigError(problems)
    for problem in problems:
        note(str(problem))
    return Choice(
        targets=tuple(only_sources(targets[each.chosen], each.sources) for each in chosen),
        left_out=tuple(".".join(key) for key in left_out),
        is_whole=bool(words) or not may_hide_partitions(setup),
    )


def _tell(
    setup: Setup, broken: Mapping[Key, tuple[Problem, ...]], left_out: Sequence[Key]
) -> tuple[Problem, ...]:
    """Warns of what was not asked for; returns what is wrong with that which was."""
    own = in_order(
        problem for key in left_out for problem in broken[key] or problems_of("partition", key, setup.config)
    )
    others = [problem for problems in broken.values() for problem in problems]
    warn_of(problem for problem in (*all_problems(setup), *others) if problem not in own)
    return own


def may_hide_partitions(setup: Setup) -> bool:
    unnamed = any(kind == "partition" and len(key) != 2 for kind, key in setup.config.broken)
    return unnamed or bool(setup.config.lost_texts)
