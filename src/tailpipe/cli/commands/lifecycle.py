"""`tailpipe lifecycle`: what leaves the lake by its age, and when."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from tailpipe.cli.arguments import add_actions, add_output, add_partitions
from tailpipe.cli.chosen_targets import may_hide_partitions
from tailpipe.cli.expired_words import expired_json, expired_words
from tailpipe.cli.listing import columns, unless_damaged
from tailpipe.cli.selection import chosen_partitions
from tailpipe.cli.setup import Setup, load_setup
from tailpipe.cli.terminal import note, say, say_json
from tailpipe.errors import EXIT_DONE, EXIT_PARTIAL, TailpipeError, UsageError, told
from tailpipe.lake.catalog import list_tables, partition_states
from tailpipe.lake.lifecycle import MAX_LEAP, Expired, edge_of, expirable, expire, last_run_of
from tailpipe.lake.state import PartitionState
from tailpipe.partition_names import Key
from tailpipe.times import Lookback

HELP = "Show which rows expire by their age, or take them out of the lake."

_COUNTS = ("days", "rows", "rejects", "files", "size_bytes")
_EXAMPLES = """
examples:
  tailpipe lifecycle show                    how long rows stay, and what would go now
  tailpipe lifecycle run --dry-run           the same, for the partitions of which something would go
  tailpipe lifecycle run aws_cloudtrail_log  take out what is older than expire_after says
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add_actions(parser, {"show": "what would go", "run": "take it out"})
    add_partitions(parser)
    parser.add_argument("--dry-run", action="store_true", help="run: say what would go, and change nothing")
    force = "run: believe the clock, however long ago the last collection was"
    parser.add_argument("--force", action="store_true", help=force)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    is_shown = arguments.action == "show"
    if is_shown and (arguments.dry_run or arguments.force):
        raise UsageError("--dry-run and --force are for run.", "show never changes anything")
    is_dry = is_shown or arguments.dry_run
    setup = load_setup(arguments, needs_config=False, writes=not is_dry)
    ageing = Ageing.of(setup, is_forced=arguments.force)
    chosen = ageing.chosen(arguments.partitions)
    outcomes = [ageing.outcome(key, is_dry) for key in chosen]
    if arguments.output == "json":
        say_json({"dry_run": is_dry, "partitions": [outcome.json() for outcome in outcomes]})
    elif is_shown:
        _print_sheet(outcomes)
    else:
        _print_run(outcomes, is_dry)
    return EXIT_PARTIAL if any(outcome.problem for outcome in outcomes) else EXIT_DONE


@dataclass(frozen=True)
class Outcome:
    """Of one partition. Without `expire_after` its rows stay; `problem` says why nothing could be done."""

    name: str
    expire_after: Lookback | None = None
    expired: Expired | None = None
    problem: str | None = None

    def json(self) -> dict[str, Any]:
        expire_after = str(self.expire_after) if self.expire_after else None
        problem = {"problem": self.problem} if self.problem else {}
        facts = expired_json(self.expired) or {}
        return {"partition": self.name, "expire_after": expire_after, **facts, **problem}


@dataclass(frozen=True)
class Ageing:
    """`last_run` is the last one that the lake knows of; None where the clock is believed without it."""

    setup: Setup
    states: Mapping[Key, PartitionState]
    last_run: datetime | None

    @classmethod
    def of(cls, setup: Setup, *, is_forced: bool) -> Ageing:
        states = {
            (table, name): state
            for table in list_tables(setup.lake)
            for name, state in unless_damaged(partial(partition_states, setup.lake, table)).items()
        }
        last_run = last_run_of(states.values())
        if last_run and setup.now - last_run > MAX_LEAP and not is_forced:
            note(
                f"warning: the last collection was {last_run:%Y-%m-%d}: rows expire as if it were "
                f"{last_run + MAX_LEAP:%Y-%m-%d}, because the clock may be wrong.\n"
                "hint: collect first, or --force if the clock is right"
            )
        return cls(setup, states, None if is_forced else last_run)

    def chosen(self, words: list[str]) -> list[Key]:
        """Of configured partitions, and of those that only the lake knows."""
        setup = self.setup
        keys = (*setup.partitions, *setup.broken_partitions, *self.states)
        return chosen_partitions(words, dict.fromkeys(keys))

    def outcome(self, key: Key, is_dry: bool) -> Outcome:
        """Whatever fails of one partition is its own failure."""
        name = ".".join(key)
        try:
            problem = self._problem(key)
            expire_after = self._expire_after(key)
            if problem or expire_after is None:
                return Outcome(name, problem=problem)
            edge = edge_of(expire_after, self.setup.now, self.last_run)
            work = expirable if is_dry else expire
            return Outcome(name, expire_after, work(self.setup.lake, *key, edge))
        except (TailpipeError, OSError) as error:
            return Outcome(name, problem=told(error))

    def _problem(self, key: Key) -> str | None:
        """Where nobody can say what was meant, rows stay."""
        config = self.setup.config
        if key in config.partitions:
            return None
        if key in self.setup.broken_partitions or ("table", (key[0],)) in config.broken:
            return "configured with problems, so its rows stay\nhint: tailpipe config check"
        if may_hide_partitions(self.setup):
            return "not configured as far as the files can be read, so its rows stay\nhint: tailpipe config check"
        return None

    def _expire_after(self, key: Key) -> Lookback | None:
        """The nearest that says something: the partition, its table, the workspace."""
        config = self.setup.config
        own = config.partitions.get(key) or config.tables.get(key[0])
        return (own.expire_after if own else None) or self.setup.workspace.expire_after


def _print_sheet(outcomes: list[Outcome]) -> None:
    rows = [
        {
            "partition": outcome.name,
            "expire_after": str(outcome.expire_after or ("" if outcome.problem else "never")),
            "before": f"{outcome.expired.edge:%Y-%m-%d}" if outcome.expired else None,
            **{name: getattr(outcome.expired, name, None) for name in _COUNTS},
        }
        for outcome in outcomes
    ]
    say(columns(rows) if rows else "There is no partition yet.")
    _tell_problems(outcomes)


def _print_run(outcomes: list[Outcome], is_dry: bool) -> None:
    for line in _lines(outcomes, is_dry):
        say(line)
    _tell_problems(outcomes)


def _lines(outcomes: list[Outcome], is_dry: bool) -> Iterator[str]:
    aged = [outcome for outcome in outcomes if outcome.expired]
    if not aged:
        yield "Rows expire nowhere: no partition, table or workspace here has expire_after."
    for outcome in aged:
        expired = outcome.expired
        assert expired is not None
        yield f"{outcome.name}: {expired_words(expired, is_dry)}"


def _tell_problems(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.problem:
            note(f"{outcome.name}: {outcome.problem}")
