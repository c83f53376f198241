"""`tailpipe restore`: a table becomes what it was."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tailpipe.cli.arguments import add_as_of, add_output
from tailpipe.cli.listing import chosen_name, columns
from tailpipe.cli.selection import asked_past
from tailpipe.cli.setup import load_setup
from tailpipe.cli.terminal import confirm, counted, note, say, say_json
from tailpipe.errors import EXIT_DONE, UsageError
from tailpipe.lake.address import TableAddress
from tailpipe.lake.catalog import list_tables
from tailpipe.lake.timeline import AsOf, moment_text, version_at

if TYPE_CHECKING:
    from tailpipe.lake.restoring import Restored

HELP = "Make a table what it was at a time or a version, as a new commit."

_EXAMPLES = """
examples:
  tailpipe restore app_log --as-of 2024-06-01T10:00:00Z --dry-run  what would come and go
  tailpipe restore app_log --as-of 41                              a version that tailpipe history tells
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("name", metavar="TABLE", help="a table that was collected")
    add_as_of(parser, "the table as it was", is_required=True)
    parser.add_argument("--dry-run", action="store_true", help="only say what would come and go")
    parser.add_argument("--force", action="store_true", help="restore without asking")
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from tailpipe.lake.restoring import plan_restore, restore

    setup = load_setup(arguments, needs_config=False, writes=not arguments.dry_run)
    name = chosen_name(arguments.name, "collected table", list_tables(setup.lake))
    address = setup.lake.table(name)
    version = _version(address, asked_past(arguments.as_of, setup.now))
    planned = plan_restore(address, version)
    if not arguments.dry_run:
        question = f"Restore {name} to version {version} of {moment_text(planned.at)}"
        what = f"{counted(planned.rows_then, 'row')} in place of {planned.rows_now:,}"
        confirm(f"{question} ({what})?", arguments.force)
    done = planned if arguments.dry_run else restore(address, version)
    if arguments.output == "json":
        say_json(_facts(name, done))
    else:
        _print(name, done, arguments.dry_run)
    return EXIT_DONE


def _version(address: TableAddress, as_of: AsOf) -> int:
    version = version_at(address, as_of)
    if version is None and isinstance(as_of, datetime):
        raise UsageError(
            f"{address.name} did not exist at {moment_text(as_of)}.",
            hint=f"tailpipe table delete {address.name} removes it",
        )
    assert version is not None
    return version


def _facts(name: str, done: Restored) -> dict[str, Any]:
    totals = {"rows_now": done.rows_now, "rows_then": done.rows_then}
    return {"table": name, **totals, **asdict(done), "at": done.at.isoformat()}


def _print(name: str, done: Restored, is_dry: bool) -> None:
    if done.partitions:
        say(columns([asdict(part) for part in done.partitions]))
    rows = f"{counted(done.rows_then, 'row')} in place of {done.rows_now:,}"
    then = f"version {done.version} of {moment_text(done.at)}"
    if is_dry:
        note(f"{name} would be restored to {then}: {rows}. Nothing was changed.")
    elif done.after is None:
        say(f"{name}: nothing to restore, it is as it was at {then}")
    else:
        say(f"{name}: restored to {then}, as version {done.after}: {rows}")
        note(
            "tailpipe collect takes again what is no longer there and its sources still have; "
            f"tailpipe restore {name} --as-of {done.before} undoes this"
        )
