"""`tailpipe collect`: bring logs into the lake."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tailpipe.cli.terminal import note
from tailpipe.errors import EXIT_DONE, EXIT_PARTIAL

if TYPE_CHECKING:
    from tailpipe.cli.chosen_targets import Choice

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
    from tailpipe.cli.asked_window import add_window
    from tailpipe.cli.selection import add_names

    parser.epilog = _EXAMPLES
    add_names(parser)
    begin = "2024-01-31, 2024-01-31T10:00:00Z, 1/31/2024 or T-30d (units Y m W d H M)"
    add_window(parser, begin, "the same; a date or T-1d includes that day")
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="read what the window touches again, and replace what was stored of it",
    )
    parser.add_argument("--engine", metavar="NAME", help="spark or sail; wins over TAILPIPE_ENGINE")
    parser.add_argument(
        "--compact",
        nargs="?",
        const="true",
        choices=("true", "false"),
        help="accepted without effect, for scripts written for the Tailpipe CLI",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the plan and do nothing")
    parser.add_argument(
        "--progress",
        nargs="?",
        const="true",
        default="true",
        choices=("true", "false"),
        help="show progress on standard error (default: true)",
    )
    parser.add_argument(
        "--output", choices=("text", "json"), default="text", help="how the summary or plan is printed"
    )


def run(arguments: argparse.Namespace) -> int:
    import os

    from tailpipe.cli.asked_window import asked_times
    from tailpipe.cli.chosen_targets import choose_targets
    from tailpipe.cli.diagnostics import engine_log
    from tailpipe.cli.interruption import interruptible
    from tailpipe.cli.progress import make_watcher
    from tailpipe.cli.setup import load_setup
    from tailpipe.cli.summary import exit_code, print_plan, print_summary
    from tailpipe.collect.run import Collection, Defaults
    from tailpipe.collect.windows import AskedWindow
    from tailpipe.engine.settings import engine_settings

    setup = load_setup(arguments, writes=not arguments.dry_run, tells=False)
    workspace = setup.workspace
    engine = engine_settings(workspace, os.environ, arguments.engine)
    choice = choose_targets(setup, arguments.partitions, engine.name)
    with interruptible(), make_watcher(is_shown=arguments.progress == "true") as watcher:
        collection = Collection(
            targets=list(choice.targets),
            lake=setup.lake,
            asked=AskedWindow(*asked_times(arguments, setup.now, is_past=True)),
            engine=engine,
            now=setup.now,
            watcher=watcher,
            defaults=Defaults(workspace.lookback, workspace.lateness, workspace.max_rejects),
            is_overwrite=arguments.overwrite,
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
