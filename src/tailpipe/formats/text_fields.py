"""Lines to fields in one regex pass, in Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tailpipe.formats.lines import SEPARATOR
from tailpipe.formats.pattern import END, Pattern, top_level

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class LinePass:
    """An expression that matches whole lines, and the capture groups whose text makes up each slot.

    Of a slot's groups at most one may take part in a match. A pass after another must match no text that
    holds the separator, so that lines which matched are left alone.
    """

    expression: str
    slots: tuple[tuple[int, ...], ...]

    @property
    def replacement(self) -> str:
        return "".join(SEPARATOR + "".join(f"${group}" for group in slot) for slot in self.slots)


def search_pass(pattern: Pattern) -> LinePass:
    """The pass of a pattern that may match anywhere in the line; a slot for each of its groups."""
    text = pattern.text
    slots = tuple((group,) for group in range(1, len(pattern.names) + 1))
    if top_level(text, "|"):
        return LinePass(f"(?s)^.*?(?:{text}).*$", slots)
    start = "" if text.startswith("^") else ".*?"
    end = "" if text.endswith(END) and not text.endswith("\\" + END) else ".*$"
    return LinePass(f"(?s)^{start}{text.removeprefix('^')}{end}", slots)


def table_names(slot_names: Sequence[str], field_map: Mapping[str, str]) -> tuple[str, ...]:
    """Captured fields, each once, under the names that tables use."""
    renamed = {source: name for name, source in field_map.items()}
    return tuple(dict.fromkeys(renamed.get(name, name) for name in slot_names))


def text_fields(
    raw: Column,
    passes: Sequence[LinePass],
    slot_names: Sequence[str],
    names: Sequence[str],
    field_map: Mapping[str, str],
    null_token: str = "",
    unquoted: Callable[[Column], Column] | None = None,
    nested: StructType | None = None,
) -> Column:
    """A struct of `names`, null where no pass matches the line. What `nested` says is no text is read as JSON.

    Fields that are empty or hold the null token are null; of a field captured twice the last that is not.
    `unquoted` makes a slot's text a value.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    replaced = raw
    for line_pass in passes:
        replaced = F.regexp_replace(replaced, line_pass.expression, line_pass.replacement)
    parts = F.split(replaced, SEPARATOR)
    slots: dict[str, list[int]] = {}
    for number, slot_name in enumerate(slot_names, 1):
        slots.setdefault(slot_name, []).insert(0, number)

    def value(number: int) -> Column:
        part = F.get(parts, F.lit(number))
        part = unquoted(part) if unquoted else part
        is_missing = part.isin("", null_token) if null_token else part == ""
        return F.when(~is_missing, part)

    types = {field.name: field.dataType for field in nested.fields} if nested else {}

    def member(name: str) -> Column:
        values = [value(number) for number in slots.get(field_map.get(name, name), [])]
        text = F.coalesce(*values) if values else F.lit(None).cast("string")
        type_ = types.get(name, StringType())
        is_text = isinstance(type_, StringType)
        return (text if is_text else F.from_json(text, cast("StructType", type_))).alias(name)

    # Spark evaluates an expression once only if it stands twice where it is evaluated for every row; what it
    # sees inside the branch of a condition it computes again for each field. So the test reads `parts` twice.
    marker = F.concat(F.size(parts).cast("string"), F.get(parts, F.lit(0)))
    is_match = marker == str(len(slot_names) + 1)
    return F.when(is_match, F.struct(*[member(name) for name in names]))
