"""Format `regex`: lines by a regular expression with named groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tailpipe.arrow import pa, pc
from tailpipe.config.schema import Argument, BlockSchema
from tailpipe.config.values import FormatConfig
from tailpipe.formats.arguments import DESCRIPTION, FIELD_MAP, argument_error, field_map
from tailpipe.formats.format import LINES, Cut, Format
from tailpipe.formats.lines import cut_lines, reject_longer, reject_separators
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
class Regex(Format):
    """Also what grok layouts become: `pattern` is searched for in each line."""

    pattern: Pattern
    field_map: Mapping[str, str] = field(default_factory=dict)
    type: str = "regex"
    mismatch_reason: str = "line does not match the layout"
    framing: str = LINES

    @property
    def needs_look_around(self) -> bool:
        return self.pattern.needs_look_around

    def cut(self, chunks: Iterator[bytes]) -> Iterator[Cut]:
        lines = cut_lines(chunks)
        if self.pattern.repeats_groups:
            lines = (reject_longer(cut, MAX_REPEATED_BYTES) for cut in lines)
        return map(reject_separators, lines)

    def field_names(self, sample: bytes) -> tuple[str, ...]:
        return table_names(self.pattern.names, self.field_map)

    def fields(self, raw: Column, names: Sequence[str], nested: StructType) -> Column:
        return text_fields(
            raw, [search_pass(self.pattern)], self.pattern.names, names, self.field_map, nested=nested
        )

    def cut_again(self, raw: pa.Array, position: pa.Array) -> Cut:
        cut = super().cut_again(raw, position)
        return reject_separators(_reject_repetitions(cut) if self.pattern.repeats_groups else cut)


def _reject_repetitions(cut: Cut) -> Cut:
    """Lines that another layout rejected whole: unlike those of `reject_longer`, all their text is kept."""
    is_long = pc.greater(pc.binary_length(cut.raw), MAX_REPEATED_BYTES)
    reason = "line is too long for a layout that repeats groups"
    return replace(cut, reason=pc.if_else(is_long, reason, cut.reason))


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
