"""Formats `delimited` and `csv`: values between delimiters, quoted where they hold one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tailpipe.config.schema import BOOL, NUMBER, STRINGS, Argument, BlockSchema
from tailpipe.config.values import FormatConfig
from tailpipe.formats.arguments import DESCRIPTION, FIELD_MAP, argument_error, field_map
from tailpipe.formats.delimited_records import Dialect, cut_records, first_values, recognised
from tailpipe.formats.format import TEXT, Cut, Format
from tailpipe.formats.headers import Expected
from tailpipe.formats.pattern import escape
from tailpipe.formats.text_fields import LinePass, table_names, text_fields

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

# Stands for a delimiter of several characters, so that a character class can exclude it.
STAND_IN = "\x02"

SCHEMA = BlockSchema(
    (
        Argument(
            "delimiter", description='What stands between values; default ",". May be several characters.'
        ),
        Argument(
            "header",
            BOOL,
            description="Whether the first line names the fields; unless given, it is looked at.",
        ),
        Argument("fields", STRINGS, description="Names of the fields in order, instead of the header's."),
        Argument(
            "quote", description='Character around values that hold a delimiter; default `"`, empty: none.'
        ),
        Argument("null", description="Value that means null; empty values always do."),
        Argument("null_token", description="Older spelling of `null`."),
        Argument("null_column_char", description="Older spelling of `null`."),
        Argument("comment", description="Lines that start with this are left out."),
        Argument("skip", NUMBER, description="How many lines to leave out before the header; default 0."),
        FIELD_MAP,
        DESCRIPTION,
    ),
    "Lines of values with a delimiter between them.",
)


@dataclass(frozen=True)
class Delimited(Format):
    """`planned` are the fields of every record that `cut` gives, in order, by the names that files use."""

    dialect: Dialect = field(default_factory=Dialect)
    planned: tuple[str, ...] = ()
    is_positional: bool = False
    null_token: str = ""
    field_map: Mapping[str, str] = field(default_factory=dict)
    type: str = "delimited"
    framing: str = TEXT

    @property
    def mismatch_reason(self) -> str:
        return f"line does not have {len(self.planned)} values"

    @property
    def other_fields_hint(self) -> str:
        if self.dialect.has_header:
            return "if the first line is a record, write `header = false` and name the `fields` in the format"
        return "if the first line names the fields, write `header = true` in the format; else name them in `fields`"

    @property
    def needs_fields(self) -> bool:
        return True

    def with_fields(self, names: Sequence[str]) -> Delimited:
        return replace(self, planned=tuple(self.field_map.get(name, name) for name in names))

    def expecting(self, read: Iterable[str], mentioned: Iterable[str]) -> Delimited:
        expected = Expected(
            tuple(name.strip().lower() for name in self.planned) if self.is_positional else (),
            frozenset(self.field_map.get(name, name).lower() for name in read),
            frozenset(self.field_map.get(name, name).lower() for name in mentioned),
        )
        return replace(self, dialect=replace(self.dialect, expected=expected))

    def cut(self, chunks: Iterator[bytes]) -> Iterator[Cut]:
        """Records have the planned fields in order; a file whose header differs is written anew to be so."""
        wanted = () if self.is_positional else self.planned
        return cut_records(chunks, self.dialect, wanted)

    def field_names(self, sample: bytes) -> tuple[str, ...]:
        return table_names(self.planned or first_values(sample, self.dialect), self.field_map)

    def fields(self, raw: Column, names: Sequence[str], nested: StructType) -> Column:
        from pyspark.sql import functions as F

        delimiter, quote = self.dialect.delimiter, self.dialect.quote
        stand_in = STAND_IN if len(delimiter) > 1 else delimiter
        text = F.replace(raw, F.lit(delimiter), F.lit(stand_in)) if len(delimiter) > 1 else raw

        def value(part: Column) -> Column:
            if len(delimiter) > 1:
                part = F.replace(part, F.lit(stand_in), F.lit(delimiter))
            if not quote:
                return part
            inner = F.replace(F.substring(part, 2, 2**31 - 1), F.lit(quote * 2), F.lit(quote))
            return F.when(part.startswith(quote), inner).otherwise(part)

        passes = line_passes(stand_in, quote, len(self.planned))
        return text_fields(text, passes, self.planned, names, self.field_map, self.null_token, value, nested)

    def cut_again(self, raw: pa.Array, position: pa.Array) -> Cut:
        return recognised(super().cut_again(raw, position))


def line_passes(delimiter: str, quote: str, count: int) -> tuple[LinePass, ...]:
    """First lines without any quote, then those with. A quoted value keeps its opening quote as a sign."""
    between = escape(delimiter)
    if not quote:
        return (_line_pass([rf"([^{between}\x01]*)"] * count, between, 1),)
    sign = escape(quote)
    plain = rf"([^{between}{sign}\x01]*)"
    quoted = rf"({sign})([^{sign}\x01]*(?:{sign}{sign}[^{sign}\x01]*)*){sign}"
    loose = rf"([^{between}{sign}\x01][^{between}\x01]*|)"
    return (
        _line_pass([plain] * count, between, 1),
        _line_pass([rf"(?:{quoted}|{loose})"] * count, between, 3),
    )


def _line_pass(values: list[str], between: str, groups: int) -> LinePass:
    slots = tuple(tuple(range(first, first + groups)) for first in range(1, len(values) * groups + 1, groups))
    return LinePass(rf"(?s)^{between.join(values)}$", slots)


def make(config: FormatConfig) -> Delimited:
    return _made(config, {"delimiter": ",", "quote": '"'})


def make_csv(config: FormatConfig) -> Delimited:
    """`csv` has a header unless it says otherwise or names its fields."""
    header = None if config.arguments.get("fields") else True
    return _made(config, {"delimiter": ",", "quote": '"', "header": header})


def _made(config: FormatConfig, defaults: Mapping[str, Any]) -> Delimited:
    given = {name: value for name, value in config.arguments.items() if value is not None}
    arguments = {**defaults, **given}
    dialect = Dialect(
        delimiter=arguments["delimiter"],
        quote=arguments["quote"],
        has_header=arguments.get("header"),
        comment=arguments.get("comment") or "",
        skipped_lines=int(arguments.get("skip") or 0),
    )
    _check(config, dialect)
    planned = tuple(arguments.get("fields") or ())
    null_token = arguments.get("null") or arguments.get("null_token") or arguments.get("null_column_char")
    return Delimited(dialect, planned, bool(planned), null_token or "", field_map(config), config.type)


def _check(config: FormatConfig, dialect: Dialect) -> None:
    if not dialect.delimiter or set(dialect.delimiter) & {"\n", "\r", "\x01", STAND_IN}:
        raise argument_error(
            config,
            "delimiter",
            f"delimiter {dialect.delimiter!r} cannot stand between values",
            'default: ","',
        )
    if len(dialect.quote) > 1 or not dialect.quote.isascii():
        raise argument_error(config, "quote", f"quote {dialect.quote!r} is not a single character")
    if dialect.quote and dialect.quote in dialect.delimiter:
        raise argument_error(config, "quote", "quote and delimiter are the same character")
    if dialect.skipped_lines < 0:
        raise argument_error(config, "skip", "skip is less than 0")
