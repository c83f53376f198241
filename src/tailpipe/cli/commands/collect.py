"""`tailpipe collect`: bring logs into the lake."""

from __future__ import annotations

import argparse
import os

from tailpipe.cli.arguments import add_names, add_output, add_switch, add_window
from tailpipe.cli.chosen_targets import Choice, choose_targets
from tailpipe.cli.diagnostics import engine_log
from tailpipe.cli.interruption import interruptible
from tailpipe.cli.progress import make_watcher
from tailpipe.cli.selection import asked_times
from tailpipe.cli.setup import load_setup
from tailpipe.cli.summary import exit_code, print_plan, print_summary
from tailpipe.cli.terminal import note
from tailpipe.collect.run import Collection
from tailpipe.collect.windows import AskedWindow
from tailpipe.engine.settings import engine_settings
from tailpipe.errors import EXIT_DONE, EXIT_PARTIAL

HELP = "Collect logs into the lake."

_EXAMPLES = """
examples:
  tailpipe collect                                       every partition
  tailpipe collect aws_cloudtrail_log                    every partition of a table
  tailpipe collect aws_cloudtrail_log.prod nginx_access_log.* --from T-180d
  tailpipe collect aws_cloudtrail_log.prod archive       one source of a partition
  tailpipe collect --dry-run                             show what would be done
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add_names(parser)
    begin = "2024-01-31, 2024-01-31T10:00:00Z, 1/31/2024 or T-30d (units Y m W d H M)"
    add_window(parser, begin, "the same; a date or T-1d includes that day")
    overwrite = "read what the window touches again, and replace what was stored of it"
    add("--overwrite", action="store_true", help=overwrite)
    add("--engine", metavar="NAME", help="spark or sail; wins over TAILPIPE_ENGINE")
    add_switch(parser, "--compact", "merge small files of the days written to (default: true)")
    add("--dry-run", action="store_true", help="show the plan and do nothing")
    add_switch(parser, "--progress", "show progress on standard error (default: true)")
    add_output(parser, "how the summary or plan is printed")


def run(arguments: argparse.Namespace) -> int:
    setup = load_setup(arguments, writes=not arguments.dry_run, tells=False)
    workspace = setup.workspace
    engine = engine_settings(workspace, os.environ, arguments.engine)
    choice = choose_targets(setup, arguments.partitions, engine.name)
    with interruptible(), make_watcher(is_shown=arguments.progress != "false") as watcher:
        collection = Collection(
            targets=list(choice.targets),
            lake=setup.lake,
            asked=AskedWindow(*asked_times(arguments, setup.now, is_past=True)),
            engine=engine,
            now=setup.now,
            watcher=watcher,
            workspace=workspace,
            is_overwrite=arguments.overwrite,
            is_compacting=arguments.compact != "false",
            engine_log=engine_log(arguments.debug),
        )
        if arguments.dry_run:
            plans, unplanned = collection.plan()
        else:
            outcome = collection.execute()
    if arguments.dry_run:
        return print_plan(plans, unplanned, arguments.output) or _left_out_code(choice)
    print_summary(outcome, arguments.output)
    left_out_code = _left_out_code(choice)
    return exit_code(outcome) or left_out_code


def _left_out_code(choice: Choice) -> int:
    """What was asked for and left out makes the run a partial one."""
    if choice.left_out:
        names = ", ".join(choice.left_out)
        note(f"left out because of problems in the configuration: {names}")
    return EXIT_DONE if choice.is_whole and not choice.left_out else EXIT_PARTIAL
