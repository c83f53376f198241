"""`tailpipe query`: SQL over what was collected."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tailpipe.cli.arguments import add_as_of, add_window
from tailpipe.cli.diagnostics import log
from tailpipe.cli.selection import asked_past, asked_times
from tailpipe.cli.setup import Setup, load_setup
from tailpipe.cli.streams import DRAWN, ESCAPED, write_what_is_lacking
from tailpipe.cli.terminal import note
from tailpipe.errors import EXIT_DONE, UsageError
from tailpipe.lake.catalog import stored_partitions
from tailpipe.partition_names import Key, partition_pattern
from tailpipe.query.access import Access
from tailpipe.query.connection import open_connection
from tailpipe.query.output import WRITERS, OutputOptions, Writer
from tailpipe.query.restriction import Restriction
from tailpipe.query.results import Result, run_script
from tailpipe.query.tables import find_queryable
from tailpipe.query.views import create_views
from tailpipe.suggest import nearest

if TYPE_CHECKING:
    from tailpipe.query.past import Past

# One value after another is told apart by itself here; other outputs get an empty line between results.
SELF_DELIMITING = ("json", "jsonl")
DRAWN_OUTPUTS = ("table", "text", "pretty")

HELP = "Query collected logs with SQL (DuckDB's dialect)."
OUTPUTS = ("table", "csv", "json", "jsonl", "line", "pretty", "plain")


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sql", nargs="*", help="SQL, a .sql file, or - for standard input; statements end with a semicolon")
    add("--output", default="table", metavar="FORMAT", help=f"one of {', '.join(OUTPUTS)} (default table)")
    header = "print column names: true or false (default true)"
    add("--header", type=_true_or_false, nargs="?", const=True, default=True, metavar="BOOL", help=header)
    add("--separator", default=",", metavar="CHARACTER", help="between fields of csv (default ,)")
    begin = "only rows from this time on, such as T-7d"
    add_window(parser, begin, "only rows before this time; a date includes its day")
    add_as_of(parser, "tables as they were")
    partition = "only rows of these partitions: table.partition or partition, comma-separated, * allowed"
    add("--partition", action="append", default=[], metavar="NAME", help=partition)
    index = "only rows with these values of tp_index, comma-separated, * allowed"
    add("--index", action="append", default=[], metavar="VALUE", help=index)
    external = "let SQL read and write files outside the lake, attach databases and use the network"
    add("--allow-external", action="store_true", help=external)
    add("--timing", action="store_true", help="print the time taken, on standard error")


def run(arguments: argparse.Namespace) -> int:
    started = time.perf_counter()
    write = _writer(arguments.output)
    options = _output_options(arguments, sys.stdout)
    restriction = _restriction(arguments, datetime.now(UTC))
    scripts = _scripts(arguments.sql, sys.stdin)
    write_what_is_lacking(sys.stdout, DRAWN if arguments.output in DRAWN_OUTPUTS else ESCAPED)
    for number, result in enumerate(_results(arguments, scripts, restriction)):
        if number and arguments.output not in SELF_DELIMITING:
            sys.stdout.write("\n")
        write(result, sys.stdout, options)
    log("info", f"the query took {time.perf_counter() - started:.3f} s")
    if arguments.timing:
        note(f"time: {time.perf_counter() - started:.3f} s")
    return EXIT_DONE


def _results(
    arguments: argparse.Namespace, scripts: Sequence[str], restriction: Restriction
) -> Iterator[Result]:
    setup = load_setup(arguments, needs_config=False)
    partitions, workspace = setup.partitions.values(), setup.workspace
    past = _past(arguments, setup, "\n".join(scripts))
    found = find_queryable(
        setup.lake, setup.tables, [partition.table for partition in partitions], note, past
    )
    for warning in found.warnings:
        note(str(warning))
    if arguments.partition:
        _warn_of_unknown(
            _listed(arguments.partition), sorted({*setup.partitions, *stored_partitions(setup.lake)})
        )
    access = Access(setup.lake, arguments.allow_external)
    with open_connection(
        memory_max_mb=workspace.memory_max_mb, cores=workspace.cores, is_external=access.is_external
    ) as connection:
        create_views(connection, found, "\n".join(scripts), restriction)
        access.restrict(connection)
        for script in scripts:
            log("debug", f"SQL: {script}")
            yield from run_script(connection, script, found.table_names, access)


def _past(arguments: argparse.Namespace, setup: Setup, sql: str) -> Past | None:
    if arguments.as_of is None:
        return None
    # Only who looks back pays for what it takes.
    from tailpipe.query.past import open_past

    return open_past(setup.lake, asked_past(arguments.as_of, setup.now), sql, note)


def _writer(name: str) -> Writer:
    writer = WRITERS.get(name)
    if writer is None:
        near = nearest(name, OUTPUTS)
        hint = f"did you mean {near}?" if near else None
        raise UsageError(f'--output "{name}" is not known. Expected one of: {", ".join(OUTPUTS)}.', hint)
    return writer


def _output_options(arguments: argparse.Namespace, out: TextIO) -> OutputOptions:
    separator = {"\\t": "\t", "tab": "\t"}.get(arguments.separator, arguments.separator)
    if len(separator) != 1 or separator in '"\r\n':
        message = f'--separator "{arguments.separator}" cannot separate fields. Expected one character.'
        raise UsageError(message, r"for tabs write --separator '\t'")
    width = shutil.get_terminal_size().columns if out.isatty() else None
    return OutputOptions(has_header=arguments.header, separator=separator, width_columns=width)


def _restriction(arguments: argparse.Namespace, now: datetime) -> Restriction:
    start, end = asked_times(arguments, now)
    return Restriction(
        start, end, tuple(map(partition_pattern, _listed(arguments.partition))), _listed(arguments.index)
    )


def _listed(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def _scripts(texts: Sequence[str], standard_input: TextIO) -> list[str]:
    if not texts and standard_input.isatty():
        raise UsageError("no SQL was given.", 'tailpipe query "select 1", or a .sql file, or - to read it')
    scripts = [_script(text, standard_input) for text in texts or ["-"]]
    if not any(script.strip() for script in scripts):
        raise UsageError("the SQL is empty.", 'tailpipe query "show tables" lists what can be queried')
    for script in scripts:
        _check_unicode(script)
    return scripts


def _script(text: str, standard_input: TextIO) -> str:
    if text == "-":
        return standard_input.read()
    if not text.endswith(".sql") or any(character in text for character in "\n;"):
        return text
    try:
        return Path(text).expanduser().read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{text}: there is no such file.", "SQL itself must not end in .sql") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{text}: cannot be read as SQL: {error}", "expected text in UTF-8") from None


def _check_unicode(script: str) -> None:
    """Bytes that are no UTF-8 arrive as halves of surrogates."""
    try:
        script.encode()
    except UnicodeEncodeError as error:
        byte = ord(script[error.start]) & 0xFF
        raise UsageError(
            f"the SQL is not text in UTF-8: character {error.start + 1:,} is the byte 0x{byte:02x}.",
            "in SQL, bytes are written '\\xFF'::blob",
        ) from None


def _warn_of_unknown(words: Sequence[str], known: Sequence[Key]) -> None:
    for word in words:
        if not any(map(partition_pattern(word).matches, known)):
            names = f"There are: {', '.join(map('.'.join, known))}." if known else "There are none yet."
            note(f'warning: --partition "{word}" matches no partition. {names}')


def _true_or_false(text: str) -> bool:
    values = {"true": True, "false": False}
    if text.lower() not in values:
        raise argparse.ArgumentTypeError(
            f'"{text}" is neither true nor false; before SQL write --header=true'
        )
    return values[text.lower()]
