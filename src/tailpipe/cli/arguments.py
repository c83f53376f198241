"""What the command line takes, told without loading what the commands need: `--help` answers at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

OUTPUTS = ("table", "csv", "json", "jsonl", "line", "pretty", "plain")
SHOWN_REJECTS = 20

_COLLECT_EXAMPLES = """
examples:
  tailpipe collect                                       every partition
  tailpipe collect aws_cloudtrail_log                    every partition of a table
  tailpipe collect aws_cloudtrail_log.prod nginx_access_log.* --from T-180d
  tailpipe collect aws_cloudtrail_log.prod archive       one source of a partition
  tailpipe collect --dry-run                             show what would be done
"""
_COVERAGE_EXAMPLES = """
examples:
  tailpipe coverage                                      every partition
  tailpipe coverage aws_cloudtrail_log.prod --from T-1Y  the last year of one
  tailpipe coverage aws_cloudtrail_log.prod archive      only what one of its sources covered
"""
_REJECTS_EXAMPLES = """
examples:
  tailpipe rejects list                                  how many, and why
  tailpipe rejects show nginx_access_log.web             their texts
  tailpipe rejects retry nginx_access_log --from T-1d    after a fix: those rejected since yesterday
  tailpipe rejects drop nginx_access_log.web             take them out for good
"""


def _collect(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _COLLECT_EXAMPLES
    add = parser.add_argument
    _add_names(parser)
    begin = "2024-01-31, 2024-01-31T10:00:00Z, 1/31/2024 or T-30d (units Y m W d H M)"
    _add_window(parser, begin, "the same; a date or T-1d includes that day")
    overwrite = "read what the window touches again, and replace what was stored of it"
    add("--overwrite", action="store_true", help=overwrite)
    add("--engine", metavar="NAME", help="spark or sail; wins over TAILPIPE_ENGINE")
    _add_switch(parser, "--compact", "accepted without effect, for scripts written for the Tailpipe CLI")
    add("--dry-run", action="store_true", help="show the plan and do nothing")
    _add_switch(parser, "--progress", "show progress on standard error (default: true)")
    _add_output(parser, "how the summary or plan is printed")


def _config(parser: argparse.ArgumentParser) -> None:
    check = "check: read all .tpc files and report every problem"
    parser.add_argument("action", choices=("check",), help=check)


def _coverage(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _COVERAGE_EXAMPLES
    _add_names(parser)
    begin = "the first day, such as 2024-01-31 or T-30d; else the first that is known"
    _add_window(parser, begin, "the last day; else today")
    _add_output(parser)


def _partition(parser: argparse.ArgumentParser) -> None:
    _listing(parser, "partition", {"delete": "take rows of a window, or all, out of it"})
    begin = "delete rows from this time on, such as T-7d"
    _add_window(parser, begin, "delete rows before this time; a date includes its day")
    parser.add_argument("--force", action="store_true", help="delete without asking")


def _query(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sql", nargs="*", help="SQL, a .sql file, or - for standard input; statements end with a semicolon")
    add("--output", default="table", metavar="FORMAT", help=f"one of {', '.join(OUTPUTS)} (default table)")
    header = "print column names: true or false (default true)"
    add("--header", type=_true_or_false, nargs="?", const=True, default=True, metavar="BOOL", help=header)
    add("--separator", default=",", metavar="CHARACTER", help="between fields of csv (default ,)")
    begin = "only rows from this time on, such as T-7d"
    _add_window(parser, begin, "only rows before this time; a date includes its day")
    partition = "only rows of these partitions: table.partition or partition, comma-separated, * allowed"
    add("--partition", action="append", default=[], metavar="NAME", help=partition)
    index = "only rows with these values of tp_index, comma-separated, * allowed"
    add("--index", action="append", default=[], metavar="VALUE", help=index)
    external = "let SQL read and write files outside the lake, attach databases and use the network"
    add("--allow-external", action="store_true", help=external)
    add("--timing", action="store_true", help="print the time taken, on standard error")


def _rejects(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _REJECTS_EXAMPLES
    add = parser.add_argument
    meanings = {
        "list": "counts and reasons",
        "show": "their texts",
        "retry": "try them again",
        "drop": "take them out for good",
    }
    _add_actions(parser, meanings)
    names = "a table, table.partition or a partition; * matches any text; none means all. show takes ids too"
    add("names", nargs="*", metavar="NAME", help=names)
    _add_window(parser, "only those rejected since then", "only those rejected before; a date is included")
    add("--limit", type=int, metavar="N", help=f"how many are shown (default: {SHOWN_REJECTS})")
    add("--force", action="store_true", default=None, help="drop without asking")
    add("--engine", metavar="NAME", help="spark or sail; wins over TAILPIPE_ENGINE")
    _add_switch(parser, "--progress", "show progress (default: true)")
    _add_output(parser)


def _table(parser: argparse.ArgumentParser) -> None:
    more = {"delete": "remove it and all its rows", "rewrite": "convert what is stored to the declared types"}
    _listing(parser, "table", more)
    add = parser.add_argument
    add("--nulls", action="store_true", help="rewrite: null in place of values that cannot be converted")
    add("--force", action="store_true", help="delete, or rewrite with --nulls, without asking")


def _listing(
    parser: argparse.ArgumentParser, noun: str, more_actions: Mapping[str, str] | None = None
) -> None:
    """`more_actions` are those that only this kind of thing has, with what they do."""
    _add_actions(parser, {"list": "all of them", "show": f"one {noun} in full", **(more_actions or {})})
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"the {noun} that is meant")
    forms = "how it is printed; pretty and plain are other words for text"
    parser.add_argument("--output", choices=("text", "json", "pretty", "plain"), default="text", help=forms)


def _add_actions(parser: argparse.ArgumentParser, meanings: Mapping[str, str]) -> None:
    actions = "; ".join(f"{action}: {meaning}" for action, meaning in meanings.items())
    parser.add_argument("action", choices=tuple(meanings), help=actions)


def _add_names(parser: argparse.ArgumentParser) -> None:
    names = "a table, table.partition, a partition, a source of it, or table.partition.source; "
    names += "* matches any text; none means all"
    parser.add_argument("partitions", nargs="*", metavar="NAME", help=names)


def _add_window(parser: argparse.ArgumentParser, start: str, end: str) -> None:
    """`start` and `end` say what the two of them mean to the command."""
    parser.add_argument("--from", dest="start", metavar="TIME", help=start)
    parser.add_argument("--to", dest="end", metavar="TIME", help=end)


def _add_switch(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    parser.add_argument(name, nargs="?", const="true", choices=("true", "false"), help=help)


def _add_output(parser: argparse.ArgumentParser, help: str = "how it is printed") -> None:
    parser.add_argument("--output", choices=("text", "json"), default="text", help=help)


def _true_or_false(text: str) -> bool:
    values = {"true": True, "false": False}
    if text.lower() not in values:
        raise argparse.ArgumentTypeError(
            f'"{text}" is neither true nor false; before SQL write --header=true'
        )
    return values[text.lower()]


@dataclass(frozen=True)
class Command:
    """`module` is the one of `cli/commands/` whose `run` does it."""

    module: str
    help: str
    configure: Callable[[argparse.ArgumentParser], None]


COMMANDS = {
    "collect": Command("collect", "Collect logs into the lake.", _collect),
    "config": Command("config", "Check the configuration.", _config),
    "connection": Command(
        "blocks",
        "List and show connections: installed types and configured blocks.",
        partial(_listing, noun="connection"),
    ),
    "coverage": Command("coverage", "Show which days are collected, partial, missing or failed.", _coverage),
    "format": Command(
        "blocks",
        "List and show formats: installed types, their presets and configured blocks.",
        partial(_listing, noun="format"),
    ),
    "partition": Command(
        "partition", "List and show partitions and what is collected of them, or delete rows.", _partition
    ),
    "plugin": Command("blocks", "List and show installed plugins.", partial(_listing, noun="plugin")),
    "query": Command("query", "Query collected logs with SQL (DuckDB's dialect).", _query),
    "rejects": Command("rejects", "List, show, retry and drop records that could not become rows.", _rejects),
    "source": Command(
        "blocks",
        "List and show sources: installed types and configured blocks.",
        partial(_listing, noun="source"),
    ),
    "table": Command(
        "table",
        "List and show tables, delete one, or rewrite what is stored of it to the types that are declared now.",
        _table,
    ),
}
