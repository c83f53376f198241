"""Format `regex`: lines by a regular expression with named groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.config.schema import Argument, BlockSchema
from tailpipe.config.values import FormatConfig
from tailpipe.formats.arguments import DESCRIPTION, FIELD_MAP, argument_error, field_map
from tailpipe.formats.format import LINES, Cut
from tailpipe.formats.lines import cut_text, refuse_longer, separator_refusals
from tailpipe.formats.pattern import Pattern, PatternError, normalise
from tailpipe.formats.text_fields import search_pass, table_names, text_fields

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

# Spark ends with the line that fills its stack; a quarter of a gigabyte of it holds this many repetitions.
MAX_REPEATED_BYTES = 256 * 1024

SCHEMA = BlockSchema(
    (
        Argument(
            "layout",
            required=True,
            description="Regular expression whose named groups are the fields; may match anywhere in a line.",
        ),
        FIELD_MAP,
        DESCRIPTION,
    ),
    "Lines that match a regular expression.",
)


@dataclass(frozen=True)
class Regex:
    """Also what grok layouts become: `pattern` is searched for in each line."""

    pattern: Pattern
    field_map: Mapping[str, str] = field(default_factory=dict)
    type: str = "regex"
    refusal: str = "line does not match the layout"
    shape: str = LINES

    @property
    def needs_look_around(self) -> bool:
        return self.pattern.needs_look_around

    def cut(self, chunks: Iterator[bytes]) -> Iterator[Cut]:
        lines = cut_text(chunks)
        if not self.pattern.repeats_groups:
            return lines
        return (refuse_longer(cut, MAX_REPEATED_BYTES) for cut in lines)

    def field_names(self, sample: bytes) -> tuple[str, ...]:
        return table_names(self.pattern.names, self.field_map)

    def fields(self, raw: Column, names: Sequence[str], nested: StructType) -> Column:
        return text_fields(
            raw, [search_pass(self.pattern)], self.pattern.names, names, self.field_map, nested=nested
        )

    def refusals(self, raw: pa.Array) -> pa.Array:
        separators = separator_refusals(raw)
        return _refuse_repetitions(raw, separators) if self.pattern.repeats_groups else separators


def _refuse_repetitions(raw: pa.Array, reasons: pa.Array) -> pa.Array:
    """Lines that another layout refused whole, so unlike those of `refuse_longer` they are not cut off."""
    is_long = pc.greater(pc.binary_length(raw), MAX_REPEATED_BYTES)
    return pc.if_else(is_long, "line is too long for a layout that repeats groups", reasons)


def make(config: FormatConfig) -> Regex:
    try:
        pattern = normalise(config.arguments["layout"])
    except PatternError as error:
        raise argument_error(config, "layout", str(error)) from error
    if not pattern.names:
        raise argument_error(
            config,
            "layout",
            "the layout names no field",
            "name groups as (?P<field>…): they become the fields",
        )
    return Regex(pattern, field_map(config))
