"""`tailpipe vacuum`: files that nobody needs any more leave the lake for good."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from tailpipe.cli.arguments import add_output
from tailpipe.cli.freed_words import freed_facts, freed_line, say_left
from tailpipe.cli.setup import load_setup
from tailpipe.cli.terminal import confirm, counted, note, say, say_json
from tailpipe.errors import EXIT_DONE, EXIT_PARTIAL, LakeError, UsageError
from tailpipe.lake.address import Lake
from tailpipe.lake.catalog import list_tables
from tailpipe.lake.sweep import Freed
from tailpipe.suggest import did_you_mean
from tailpipe.times import Lookback, parse_lookback

HELP = "Remove files that no version within a retention needs, and what killed commands left."

_EXAMPLES = """
examples:
  tailpipe vacuum --dry-run                           what would go
  tailpipe vacuum                                     all tables; the last 7 days can still be queried
  tailpipe vacuum nginx_access_log --older-than 30d   one table; the last 30 days
"""
_RETENTION = "7d"
# Queries and collectors read files of the version at which they began.
_SHORT = timedelta(hours=1)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("tables", nargs="*", metavar="TABLE", help="a table; * matches any text; none means all")
    kept = f"how long older versions stay readable: a number and a unit, such as 12H (default: {_RETENTION})"
    add("--older-than", default=_RETENTION, metavar="AGE", help=kept)
    add("--dry-run", action="store_true", help="count what would go and remove nothing")
    add("--force", action="store_true", help="go ahead without asking")
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    older_than = _retention(arguments.older_than, datetime.now(UTC))
    setup = load_setup(arguments, needs_config=False, writes=not arguments.dry_run)
    tables = _chosen(arguments.tables, list_tables(setup.lake))
    if not arguments.dry_run:
        _ask(tables, older_than, arguments.force)
    freed, failed = _vacuum(setup.lake, tables, older_than, arguments.dry_run)
    left = [] if arguments.dry_run else _remove_deleted(setup.lake)
    if arguments.output == "json":
        say_json(_facts(freed, failed, arguments.dry_run))
    else:
        _say(freed, arguments.dry_run)
    is_whole = not (failed or left or any(each.left for each in freed.values()))
    return EXIT_DONE if is_whole else EXIT_PARTIAL


def _retention(text: str, now: datetime) -> Lookback:
    if text.strip() == "0":
        return Lookback(0, "d")
    lookback = parse_lookback(text)
    try:
        _ = now - lookback
    except OverflowError:
        raise UsageError(
            f'"{text}" is further back than the calendar goes.', "use a smaller number"
        ) from None
    return lookback


def _chosen(words: Sequence[str], known: Sequence[str]) -> list[str]:
    """No word means all."""
    chosen: dict[str, None] = {} if words else dict.fromkeys(known)
    for word in words:
        found = [name for name in known if fnmatchcase(name, word)]
        if not found:
            names = ", ".join(known) or "none yet"
            hint = did_you_mean(word, known) or "tailpipe table list names them"
            raise UsageError(f'there is no collected table "{word}". There are: {names}.', hint)
        chosen |= dict.fromkeys(found)
    return list(chosen)


def _ask(tables: Sequence[str], older_than: Lookback, is_forced: bool) -> None:
    is_short = (older_than.unit in "HM" and older_than.span < _SHORT) or not older_than.amount
    if is_short:
        note(
            f"warning: --older-than {older_than}: queries, and collectors that replace rows, may still read files "
            "that go. They fail then; nothing is lost."
        )
    if tables:
        names = ", ".join(tables) if len(tables) <= 5 else counted(len(tables), "table")
        ago = f"before {older_than} ago" if older_than.amount else "before now"
        confirm(f"Vacuum {names}? They cannot be queried as of {ago} afterwards.", is_forced)


def _vacuum(
    lake: Lake, tables: Sequence[str], older_than: Lookback, is_dry_run: bool
) -> tuple[dict[str, Freed], dict[str, str]]:
    """A table that fails costs itself: what was freed of the others, and why it failed."""
    from tailpipe.lake.vacuum import vacuum_table

    freed: dict[str, Freed] = {}
    failed: dict[str, str] = {}
    for table in tables:
        try:
            freed[table] = vacuum_table(lake.table(table), older_than, is_dry_run=is_dry_run)
            say_left(table, freed[table].left)
        except LakeError as error:
            note(str(error))
            failed[table] = error.message
    return freed, failed


def _remove_deleted(lake: Lake) -> Sequence[object]:
    from tailpipe.lake.table_deletion import remove_deleted

    left = remove_deleted(lake)
    for folder in left:
        note(f"{folder}: what a deleted table left cannot be removed")
    return left


def _say(freed: dict[str, Freed], is_dry_run: bool) -> None:
    words = "would free" if is_dry_run else "freed"
    for table, each in freed.items():
        say(f"{table}: {words} {freed_line(each)}" if each.files else f"{table}: nothing to free")
    if not freed:
        say("There is no table to vacuum.")


def _facts(freed: dict[str, Freed], failed: dict[str, str], is_dry_run: bool) -> dict[str, object]:
    tables = [{"table": table, **freed_facts(each)} for table, each in freed.items()]
    tables += [{"table": table, "error": error} for table, error in failed.items()]
    return {
        "dry_run": is_dry_run,
        "files": sum(sum(each.files.values()) for each in freed.values()),
        "size_bytes": sum(sum(each.size_bytes.values()) for each in freed.values()),
        "tables": tables,
    }
