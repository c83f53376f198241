"""Standard input, output and error as they may be: closed, full, in another encoding."""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

from tailpipe.cli.terminal import note
from tailpipe.errors import EXIT_DONE, EXIT_PARTIAL, system_message

# How characters are written that the encoding of the output lacks: as JSON would, or lines as lines.
ESCAPED, DRAWN = "tailpipe-escaped", "tailpipe-drawn"
_FILES = 4096
_FEWEST_FILES = 64
_DRAWN = (
    {ord(mark): "|" for mark in "│"}
    | {ord(mark): "-" for mark in "─"}
    | dict.fromkeys(map(ord, "┌┬┐├┼┤└┴┘"), "+")
)


def open_streams() -> None:
    """Makes every stream usable. To be called before anything is opened.

    A file that is opened while a standard descriptor is closed would get its number, and what is printed with it.
    """
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            # Standard output that cannot be written: nobody gets an answer, and that is told.
            os.open(os.devnull, flags)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
    codecs.register_error(ESCAPED, _escape)
    codecs.register_error(DRAWN, _draw)
    encoding = sys.stdout.encoding if sys.stdout else "utf-8"
    out = _Output(1, "w", closefd=False)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(out), encoding, DRAWN, line_buffering=out.isatty())


class _Output(io.FileIO):
    """Standard output, which names itself in errors, and remembers them where they are not let through."""

    problem: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.problem = OSError(error.errno, os.strerror(error.errno or 0), "standard output")
            raise self.problem from error


def allow_files() -> None:
    """As many open files as the system lets us have: some shells start with fewer than an engine needs."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if 0 <= soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    if 0 <= soft < _FEWEST_FILES:
        note(
            f"this process may open {soft} files, and needs {_FEWEST_FILES}.\nhint: raise the limit: ulimit -n 1024"
        )
        sys.exit(EXIT_PARTIAL)


def write_what_is_lacking(stream: TextIO, how: str) -> None:
    """`how` is ESCAPED or DRAWN."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors=how)


def flushed(code: int) -> int:
    """The exit code after everything was printed, or could not be."""
    with suppress(OSError):
        sys.stdout.flush()
    problem = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    error = problem.problem if isinstance(problem, _Output) else None
    if error is None:
        return code
    # What is still in buffers would be tried again as the interpreter ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(error, BrokenPipeError) or code != EXIT_DONE:
        return code
    note(system_message(error))
    return EXIT_PARTIAL


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(
        f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True)
    ), error.end


def _draw(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    drawn = error.object[error.start : error.end].translate(_DRAWN)
    return drawn.encode("ascii", ESCAPED).decode(), error.end
