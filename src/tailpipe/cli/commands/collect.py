"""`tailpipe collect`: bring logs into the lake."""

from __future__ import annotations

import argparse

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
    parser.add_argument(
        "partitions",
        nargs="*",
        metavar="NAME",
        help="a table, table.partition, a partition, a source of it, or table.partition.source; "
        "* matches any text; none means all",
    )
    parser.add_argument(
        "--from",
        dest="start",
        metavar="TIME",
        help="2024-01-31, 2024-01-31T10:00:00Z, 1/31/2024 or T-30d (units Y m W d H M)",
    )
    parser.add_argument("--to", dest="end", metavar="TIME", help="the same; a date or T-1d includes that day")
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="read what the window touches again, and replace what was stored of it",
    )
    parser.add_argument("--engine", metavar="NAME", help="spark or sail; wins over TAILPIPE_ENGINE")
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
    from pathlib import Path

    from tailpipe.cli.asked_window import asked_window
    from tailpipe.cli.interruption import interruptible
    from tailpipe.cli.progress import make_watcher
    from tailpipe.cli.setup import load_setup
    from tailpipe.cli.summary import exit_code, print_plan, print_summary
    from tailpipe.collect.run import Collection, Defaults
    from tailpipe.collect.selection import select
    from tailpipe.collect.target import check_engine, make_targets, only_sources
    from tailpipe.engine.settings import engine_settings

    setup = load_setup(arguments)
    selections = select(
        arguments.partitions,
        make_targets(setup.config, setup.registry),
        lambda target: [feed.source.name for feed in target.feeds],
    )
    targets = [only_sources(selection.chosen, selection.sources) for selection in selections]
    workspace = setup.workspace
    engine = engine_settings(workspace, os.environ, arguments.engine)
    check_engine(targets, engine.name)
    with interruptible(), make_watcher(is_shown=arguments.progress == "true") as watcher:
        collection = Collection(
            targets=targets,
            data_dir=setup.data_dir,
            asked=asked_window(arguments, setup.now, is_past=True),
            engine=engine,
            now=setup.now,
            watcher=watcher,
            defaults=Defaults(workspace.lookback, workspace.lateness, workspace.max_rejects),
            is_overwrite=arguments.overwrite,
            engine_log=Path("/dev/stderr") if arguments.debug else None,
        )
        if arguments.dry_run:
            plans, unplanned = collection.plan()
        else:
            outcome = collection.execute()
    if arguments.dry_run:
        return print_plan(plans, unplanned, arguments.output)
    print_summary(outcome, arguments.output)
    return exit_code(outcome)
