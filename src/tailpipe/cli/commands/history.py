"""`tailpipe history`: what changed tables, commit by commit."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from heapq import merge
from itertools import islice
from typing import Any

from tailpipe.cli.arguments import add_output
from tailpipe.cli.listing import chosen_name, columns
from tailpipe.cli.setup import load_setup
from tailpipe.cli.terminal import note, say, say_json
from tailpipe.errors import EXIT_DONE, LakeError
from tailpipe.lake.address import Lake
from tailpipe.lake.catalog import list_tables
from tailpipe.lake.log_entries import Kept, kept_of
from tailpipe.lake.timeline import Commit, commits

HELP = "List the commits of tables: when, what, which partition, and the rows and files that came and went."

_LIMIT = 50
_EXAMPLES = """
examples:
  tailpipe history                                 the last commits of all tables
  tailpipe history aws_cloudtrail_log --limit 500  more of one
  tailpipe history "aws_cloudtrail_log.prod*"      those of some of its partitions
  tailpipe history "aws_*"                         those of some tables
"""

# What people call the kinds of commits. Others have words of their own.
_WORDS = {
    "create table": "new table",
    "overwrite": "collect --overwrite",
    "run": "end of a run",
    "retry": "rejects retry",
    "drop": "rejects drop",
    "delete": "partition delete",
    "rewrite": "change of columns",
}


@dataclass(frozen=True)
class _Log:
    """A table, what is left of its log, and the partitions of interest, which may hold `*`."""

    table: str
    partition: str
    kept: Kept
    commits: Iterator[Commit]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    name = "a table, or table.partition, where * matches any text; none means all tables"
    parser.add_argument("name", nargs="?", metavar="NAME", help=name)
    limit = f"so many commits at most, the newest; 0 means all (default {_LIMIT})"
    parser.add_argument("--limit", type=_count, default=_LIMIT, metavar="N", help=limit)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    setup = load_setup(arguments, needs_config=False)
    logs = _logs(setup.lake, arguments.name)
    found = merge(*map(_facts, logs), key=lambda facts: facts["at"], reverse=True)
    listed = list(islice(found, arguments.limit or None))
    if arguments.limit == 0 or len(listed) < arguments.limit:
        _warn_of_unknown(logs, listed)
    if arguments.output == "json":
        ends = [
            {"table": log.table, "oldest_version": log.kept.oldest, "newest_version": log.kept.versions[-1]}
            for log in logs
        ]
        say_json({"commits": [{**facts, "at": facts["at"].isoformat()} for facts in listed], "tables": ends})
        return EXIT_DONE
    say(columns([_line(facts, len(logs) > 1) for facts in listed]) if listed else "There is no commit yet.")
    for log in logs:
        if log.kept.versions[0] > 0:
            note(f"{log.table}: versions before {log.kept.versions[0]:,} are no longer in the log.")
    return EXIT_DONE


def _warn_of_unknown(logs: list[_Log], listed: list[dict[str, Any]]) -> None:
    """What concerns the whole table must not look like the history of a partition that never was."""
    if logs and logs[0].partition != "*" and all(facts["partition"] is None for facts in listed):
        note(f'warning: no commit of {logs[0].table} is of a partition "{logs[0].partition}".')


def _logs(lake: Lake, name: str | None) -> list[_Log]:
    tables = list_tables(lake)
    table, _, partition = (name or "*", "", "") if name in tables else (name or "*").partition(".")
    matching = [each for each in tables if fnmatchcase(each, table)]
    if "*" in table and (matching or name is None):
        return [log for each in matching for log in _unless_damaged(lake, each, partition or "*")]
    return [_log(lake, chosen_name(table, "collected table", tables), partition or "*")]


def _unless_damaged(lake: Lake, table: str, partition: str) -> Iterator[_Log]:
    """A damaged table must not hide the others."""
    try:
        yield _log(lake, table, partition)
    except LakeError as error:
        note(f"warning: {error}")


def _log(lake: Lake, table: str, partition: str) -> _Log:
    """What concerns no single partition concerns each."""
    address = lake.table(table)
    kept = kept_of(address)
    found = (
        commit
        for commit in commits(address, kept)
        if commit.partition is None or fnmatchcase(commit.partition, partition)
    )
    return _Log(table, partition, kept, found)


def _facts(log: _Log) -> Iterator[dict[str, Any]]:
    for commit in log.commits:
        yield {"table": log.table, **asdict(commit)}


def _line(facts: dict[str, Any], has_table: bool) -> dict[str, Any]:
    return {
        "table": facts["table"] if has_table else None,
        "version": facts["version"],
        "time": _time(facts["at"]),
        "what": _WORDS.get(facts["kind"], facts["kind"]),
        "partition": facts["partition"],
        "unit": facts["unit"],
        "rows_in": facts["rows_added"] or None,
        "rows_out": "?" if facts["rows_removed"] is None else facts["rows_removed"] or None,
        "files_in": facts["files_added"] or None,
        "files_out": facts["files_removed"] or None,
    }


def _time(at: datetime) -> str:
    """As --as-of takes it, exact."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of commits')
    return int(text)
