"""`tailpipe config check`: is the configuration right, and does it fit what is stored?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from tailpipe.cli.setup import load_setup, warn_of
from tailpipe.cli.terminal import counted, note, say
from tailpipe.collect.check import find_problems
from tailpipe.collect.target import engine_problems, find_targets
from tailpipe.config.report import in_order
from tailpipe.config.values import Config
from tailpipe.engine.settings import engine_settings
from tailpipe.errors import EXIT_DONE, ConfigError, LakeError, Position, Problem, TailpipeError, told
from tailpipe.lake.address import Lake
from tailpipe.lake.catalog import list_tables
from tailpipe.lake.log import TYPE_KEY, TableLog, conflict_hint
from tailpipe.tables.stored_schema import table_schema
from tailpipe.tables.table import Table

HELP = "Check the configuration."


def configure(parser: argparse.ArgumentParser) -> None:
    check = "check: read all .tpc files and report every problem"
    parser.add_argument("action", choices=("check",), help=check)


def run(arguments: argparse.Namespace) -> int:
    setup = load_setup(arguments, tells=False)
    targets, _ = find_targets(setup.config, setup.registry)
    problems = list(find_problems(setup.config, setup.registry))
    unread: TailpipeError | OSError | None = None
    # A broken workspace is told already; where its tables are and which engine is its are not known.
    if ("workspace", (setup.workspace_name,)) not in setup.config.broken:
        problems += engine_problems(targets.values(), engine_settings(setup.workspace, {}).name)
        try:
            problems += _stored_type_problems(setup.lake, setup.tables, setup.config)
        except (TailpipeError, OSError) as error:
            unread = error
    if any(not problem.is_warning for problem in problems):
        if unread is not None:
            note(f"warning: the types of what is stored are not checked: {told(unread)}")
        raise ConfigError(in_order(problems))
    warn_of(problems)
    if unread is not None:
        raise unread
    files = counted(len(setup.config.files), "file")
    say(
        f"{files}, {counted(len(targets), 'partition')}, {counted(len(setup.config.tables), 'table')}: no problems"
    )
    return EXIT_DONE


def _stored_type_problems(lake: Lake, tables: Mapping[str, Table], config: Config) -> list[Problem]:
    """Columns whose stored values do not fit the types that are declared now.

    Reads the log of each table that is collected and configured. One that cannot be read is a warning.
    """
    problems: list[Problem] = []
    for name in (name for name in list_tables(lake) if name in tables):
        try:
            conflicts = TableLog(lake.table(name), table_schema(tables[name], TYPE_KEY)).conflicts()
        except LakeError as error:
            problems.append(Problem(error.message, hint=error.hint, is_warning=True))
            continue
        problems += [
            Problem(
                f'table "{name}": {conflict}', _position(config, name, conflict.column), conflict_hint(name)
            )
            for conflict in conflicts
        ]
    return problems


def _position(config: Config, table: str, column: str) -> Position | None:
    if table not in config.tables:
        return None
    for each in config.tables[table].columns:
        if each.name == column:
            return each.argument_positions.get("type") or each.position
    return config.tables[table].position
