"""`tailpipe config check`: is the configuration right?"""

from __future__ import annotations

import argparse

from tailpipe.errors import EXIT_DONE

HELP = "Check the configuration."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=("check",), help="check: read all .tpc files and report every problem"
    )


def run(arguments: argparse.Namespace) -> int:
    from tailpipe.cli.setup import load_setup, warn_of
    from tailpipe.cli.stored_types import stored_type_problems
    from tailpipe.cli.terminal import counted, say
    from tailpipe.collect.check import find_problems
    from tailpipe.collect.target import engine_problems, find_targets
    from tailpipe.config.report import in_order
    from tailpipe.engine.settings import engine_settings
    from tailpipe.errors import ConfigError

    setup = load_setup(arguments, tells=False)
    targets, _ = find_targets(setup.config, setup.registry)
    problems = list(find_problems(setup.config, setup.registry))
    # A broken workspace is told already; where its tables are and which engine is its are not known.
    if ("workspace", (setup.workspace_name,)) not in setup.config.broken:
        problems += stored_type_problems(setup.lake, setup.tables, setup.config)
        problems += engine_problems(targets.values(), engine_settings(setup.workspace, {}).name)
    if any(not problem.is_warning for problem in problems):
        raise ConfigError(in_order(problems))
    warn_of(problems)
    files = counted(len(setup.config.files), "file")
    say(
        f"{files}, {counted(len(targets), 'partition')}, {counted(len(setup.config.tables), 'table')}: no problems"
    )
    return EXIT_DONE
