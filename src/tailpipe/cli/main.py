"""The command `tailpipe`: finds the command's module, runs it, turns errors into messages and exit codes."""

from __future__ import annotations

import argparse
import os
import pkgutil
import re
import sys
from ast import literal_eval
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from typing import Any, NoReturn

from tailpipe import __version__
from tailpipe.cli import commands
from tailpipe.cli.diagnostics import is_logged, log
from tailpipe.cli.interruption import Interrupted, loading
from tailpipe.cli.streams import allow_files, flushed, open_streams
from tailpipe.cli.terminal import note
from tailpipe.errors import EXIT_DONE, EXIT_INTERRUPTED, EXIT_PARTIAL, EXIT_USAGE, TailpipeError, told

DESCRIPTION = "Collect logs into a lake of Parquet tables, and query them in SQL."


def run(argv: Sequence[str] | None = None) -> None:
    open_streams()
    allow_files()
    # numpy's linear algebra starts threads that wait busily; nothing here uses it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        code = main(sys.argv[1:] if argv is None else argv)
    except SystemExit as end:  # argparse has said what there was to say
        code = end.code if isinstance(end.code, int) else EXIT_DONE
    except KeyboardInterrupt:
        note("Interrupted.")
        code = EXIT_INTERRUPTED
    code = flushed(code)
    if code == EXIT_INTERRUPTED or "pysail" in sys.modules:
        # Threads of an embedded engine, or of a job that failed, may never end, or crash as the interpreter ends.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def main(argv: Sequence[str]) -> int:
    with loading():
        parser = make_parser(argv)
        arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return EXIT_USAGE
    try:
        with loading():
            command = import_module(f"{commands.__name__}.{arguments.command}")
        code: int = command.run(arguments)
        sys.stdout.flush()
    except Interrupted as interrupted:
        note(f"Interrupted. {interrupted.kept}")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_DONE
    except Exception as error:
        if arguments.debug:
            raise
        code = _told(error)
        if is_logged("debug"):
            from traceback import format_exception

            log("debug", "".join(format_exception(error)))
    return code


def _told(error: Exception) -> int:
    """Says what went wrong; the exit code for it."""
    if isinstance(error, MemoryError):
        note("there is not enough memory.\nhint: close other programs, or allow this one to use more of it")
    elif isinstance(error, FileNotFoundError) and error.filename is None and _is_folder_gone():
        note("the working directory does not exist any more.\nhint: change to one that does")
    else:
        note(told(error))
    return error.exit_code if isinstance(error, TailpipeError) else EXIT_PARTIAL


def _is_folder_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        note(f"{self.prog}: error: {message}")
        sys.exit(EXIT_USAGE)


class _CommandParser(_Parser):
    """Names may stand before, behind and between options: `show --output json NAME`."""

    _is_mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # Called by `parse_known_intermixed_args` too, for each of its two passes.
        if self._is_mixing:
            return super().parse_known_args(args, namespace)
        self._is_mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_mixing = False


def make_parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Only commands among the words are loaded, which takes a while; of the others it tells what they are for."""
    parser = _Parser(prog="tailpipe", description=DESCRIPTION, parents=[_common_options(is_top=True)])
    parser.add_argument("--version", "-v", action="version", version=f"tailpipe {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_CommandParser)
    for name in command_names():
        help = _help(name)
        subparser = subparsers.add_parser(
            name,
            help=help,
            description=help,
            parents=[_common_options(is_top=False)],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in words:
            import_module(f"{commands.__name__}.{name}").configure(subparser)
    return parser


def command_names() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(commands.__path__)]


def _help(command: str) -> str:
    """What the module says in HELP; read without loading it."""
    text = files(commands).joinpath(f"{command}.py").read_text(encoding="utf-8")
    found = re.search(r'^HELP = (".*")$', text, re.MULTILINE)
    return str(literal_eval(found[1])) if found else ""


def _common_options(is_top: bool) -> _CommandParser:
    """Accepted before and after the command; given after it, they must not undo what stood before it."""

    def default(value: object) -> object:
        return value if is_top else argparse.SUPPRESS

    options = _CommandParser(add_help=False)
    options.add_argument(
        "--config-path",
        action="append",
        metavar="PATH",
        default=default([]),
        help="folder with .tpc files, or one such file; may be repeated, later ones win",
    )
    options.add_argument("--workspace", metavar="NAME", default=default(None), help="workspace to use")
    options.add_argument(
        "--debug", action="store_true", default=default(False), help="show stack traces and engine output"
    )
    return options
