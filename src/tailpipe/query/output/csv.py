"""Comma-separated: a header, an empty field for null, quotes where RFC 4180 asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TextIO

from tailpipe.query.output.options import OutputOptions
from tailpipe.query.results import Result


def write(result: Result, out: TextIO, options: OutputOptions) -> int:
    line = _line_maker(options.separator)
    if options.has_header:
        out.write(line([column.name for column in result.columns]))
    count = 0
    for batch in result.text_batches():
        out.write("".join(map(line, batch)))
        count += len(batch)
    return count


def _line_maker(separator: str) -> Callable[[Sequence[str | None]], str]:
    # csv.writer leaves a lone carriage return unquoted before Python 3.13, and readers end the record there.
    needs_quotes = re.compile(f'["\r\n{re.escape(separator)}]').search

    def field(text: str | None) -> str:
        if text is None:
            return ""
        if not text or needs_quotes(text):
            return '"' + text.replace('"', '""') + '"'
        return text

    def line(cells: Sequence[str | None]) -> str:
        # A line with nothing on it is no record for most readers.
        return (separator.join(map(field, cells)) or '""') + "\n"

    return line
