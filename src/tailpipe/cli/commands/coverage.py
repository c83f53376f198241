"""`tailpipe coverage`: which days are collected, and what of the others is missing."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from tailpipe.cli.arguments import add_names, add_output, add_window
from tailpipe.cli.calendar import make_pen
from tailpipe.cli.coverage_report import Report, report_json, report_lines
from tailpipe.cli.selection import Selection, asked_times, select
from tailpipe.cli.setup import Setup, load_setup
from tailpipe.cli.terminal import say, say_json
from tailpipe.collect.windows import AskedWindow
from tailpipe.errors import EXIT_DONE
from tailpipe.lake.catalog import list_tables, partition_names, partition_states
from tailpipe.lake.coverage import cover, known_days, other_failures
from tailpipe.lake.sizes import rows_per_day
from tailpipe.lake.state import PartitionState
from tailpipe.partition_names import Key
from tailpipe.times import Window

HELP = "Show which days are collected, partial, missing, failed or expired."

_EXAMPLES = """
examples:
  tailpipe coverage                                      every partition
  tailpipe coverage aws_cloudtrail_log.prod --from T-1Y  the last year of one
  tailpipe coverage aws_cloudtrail_log.prod archive      only what one of its sources covered
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add_names(parser)
    begin = "the first day, such as 2024-01-31 or T-30d; else the first that is known"
    add_window(parser, begin, "the last day; else today")
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    setup = load_setup(arguments, needs_config=False)
    asked = AskedWindow(*asked_times(arguments, setup.now))
    reports = [_report(setup, selection, asked) for selection in _selections(setup, arguments.partitions)]
    if arguments.output == "json":
        say_json({"partitions": [report_json(report) for report in reports]})
    else:
        _print_text(reports)
    return EXIT_DONE


def _selections(setup: Setup, words: list[str]) -> list[Selection[Key]]:
    """Of configured partitions, and of those that only the lake knows."""
    stored = (
        (table, name) for table in list_tables(setup.lake) for name in partition_names(setup.lake, table)
    )
    keys = {key: key for key in (*setup.partitions, *setup.broken_partitions, *stored)}
    if not keys and not words:
        return []
    return select(words, keys, lambda key: _configured_sources(setup, key))


def _configured_sources(setup: Setup, key: Key) -> list[str]:
    config = setup.partitions.get(key)
    return [source.name for source in config.sources] if config else []


def _report(setup: Setup, selection: Selection[Key], asked: AskedWindow) -> Report:
    table, partition = selection.chosen
    states = partition_states(setup.lake, table, lambda name: name == partition)
    state = _of_sources(
        states.get(partition, PartitionState()),
        selection.sources,
        _configured_sources(setup, selection.chosen),
    )
    rows: Mapping[date, int] = rows_per_day(setup.lake, table).get(partition, {})
    known = known_days(state, rows, setup.now)
    start = asked.start or (known and known.start)
    end = asked.end or setup.now
    days = cover(state, rows, Window(start, end), setup.now) if start else ()
    return Report(
        name=f"{table}.{partition}",
        days=days,
        failures=other_failures(state),
        today=setup.now.date(),
        later_rows=0 if asked.end else sum(n for day, n in rows.items() if day > setup.now.date()),
        sources=selection.sources,
        is_configured=selection.chosen in (*setup.partitions, *setup.broken_partitions),
        is_known=bool(rows or any(state.asked.values()) or state.failures),
    )


def _of_sources(state: PartitionState, chosen: tuple[str, ...], configured: Sequence[str]) -> PartitionState:
    """What chosen sources, else all that are configured, have to say: also one that was never collected."""
    names = chosen or configured
    if not names or not state.asked:
        return state
    state = replace(
        state,
        asked={name: state.asked.get(name, ()) for name in names},
        claimed={name: state.claimed.get(name, ()) for name in names},
    )
    if not chosen:
        return state
    return replace(state, artifacts=state.artifacts.of_sources(chosen))


def _print_text(reports: list[Report]) -> None:
    if not reports:
        say("There is no partition yet.")
    width, pen = shutil.get_terminal_size().columns, make_pen(sys.stdout)
    for number, report in enumerate(reports):
        if number:
            say()
        for line in report_lines(report, width, pen):
            say(line)
