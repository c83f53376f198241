"""Options that several commands take, each told once."""

from __future__ import annotations

import argparse
from collections.abc import Mapping


def add_listing(
    parser: argparse.ArgumentParser, noun: str, more_actions: Mapping[str, str] | None = None
) -> None:
    """`more_actions` are those that only this kind of thing has, with what they do."""
    add_actions(parser, {"list": "all of them", "show": f"one {noun} in full", **(more_actions or {})})
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"the {noun} that is meant")
    forms = "how it is printed; pretty and plain are other words for text"
    parser.add_argument("--output", choices=("text", "json", "pretty", "plain"), default="text", help=forms)


def add_actions(parser: argparse.ArgumentParser, meanings: Mapping[str, str]) -> None:
    actions = "; ".join(f"{action}: {meaning}" for action, meaning in meanings.items())
    parser.add_argument("action", choices=tuple(meanings), help=actions)


def add_names(parser: argparse.ArgumentParser) -> None:
    names = "a table, table.partition, a partition, a source of it, or table.partition.source; "
    names += "* matches any text; none means all"
    parser.add_argument("partitions", nargs="*", metavar="NAME", help=names)


def add_partitions(parser: argparse.ArgumentParser) -> None:
    names = "a table, table.partition or a partition; * matches any text; none means all"
    parser.add_argument("partitions", nargs="*", metavar="NAME", help=names)


def add_window(parser: argparse.ArgumentParser, start: str, end: str) -> None:
    """`start` and `end` say what the two of them mean to the command."""
    parser.add_argument("--from", dest="start", metavar="TIME", help=start)
    parser.add_argument("--to", dest="end", metavar="TIME", help=end)


def add_switch(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    parser.add_argument(name, nargs="?", const="true", choices=("true", "false"), help=help)


def add_output(parser: argparse.ArgumentParser, help: str = "how it is printed") -> None:
    parser.add_argument("--output", choices=("text", "json"), default="text", help=help)


def add_as_of(parser: argparse.ArgumentParser, what: str, *, is_required: bool = False) -> None:
    help = f"{what} at this time, such as T-7d, or at this version, a number that tailpipe history tells"
    parser.add_argument("--as-of", metavar="TIME|VERSION", required=is_required, help=help)
