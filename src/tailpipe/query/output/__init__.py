"""How answers look: one module per output, all with `write(result, out, options) -> rows written`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TextIO

from tailpipe.query.output import csv, json, line, plain, pretty, table
from tailpipe.query.output.options import OutputOptions
from tailpipe.query.results import Result

__all__ = ["WRITERS", "OutputOptions", "Writer"]

Writer = Callable[[Result, TextIO, OutputOptions], int]

WRITERS: Mapping[str, Writer] = {
    "table": table.write,
    "csv": csv.write,
    "json": json.write,
    "jsonl": json.write_lines,
    "line": line.write,
    "pretty": pretty.write,
    "plain": plain.write,
    "text": table.write,
}
