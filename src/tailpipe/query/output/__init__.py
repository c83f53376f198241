"""How answers look: a function per output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TextIO

from tailpipe.query.output import json, pretty
from tailpipe.query.output.grid import write_table
from tailpipe.query.output.lines import write_csv, write_line, write_plain
from tailpipe.query.output.options import OutputOptions
from tailpipe.query.results import Result

__all__ = ["WRITERS", "OutputOptions", "Writer"]

Writer = Callable[[Result, TextIO, OutputOptions], None]

WRITERS: Mapping[str, Writer] = {
    "table": write_table,
    "csv": write_csv,
    "json": json.write,
    "jsonl": json.write_lines,
    "line": write_line,
    "pretty": pretty.write,
    "plain": write_plain,
    "text": write_table,
}
