"""How records of a format become rows of a partition's table; its expressions are checked here."""

from __future__ import annotations

from collections.abc import Mapping

from tailpipe.config.values import PartitionConfig
from tailpipe.formats.format import Format
from tailpipe.tables.expressions.partition_expressions import Expressions
from tailpipe.tables.fields import source_path
from tailpipe.tables.mapping import NOTHING_STORED, with_fields
from tailpipe.tables.standardise import Recipe
from tailpipe.tables.table import Table


def declared_fields(format: Format) -> tuple[str, ...] | None:
    """The fields a format's definition names; None where only the data tells."""
    return format.field_names(b"") or None


def make_recipe(
    partition: PartitionConfig,
    table: Table,
    format: Format,
    fields: tuple[str, ...] | None,
    *,
    captures: tuple[str, ...] | None = None,
    seen: tuple[str, ...] | None = None,
    stored: Mapping[str, str] = NOTHING_STORED,
    is_sampled: bool = False,
) -> Recipe:
    """Raises ConfigError with what is wrong with the expressions.

    `fields` are all that records can have, None where any may occur; `seen` are those that a look at them showed, and
    `is_sampled` says that such a look decides which fields there are. `captures` are names that paths give; None: any.
    """
    index = partition.tp_index
    known = fields if seen is None else seen
    indexed = (index,) if index and known is not None and is_sampled else ()
    is_open = fields is None or captures is None
    own = with_fields(table, (*(known or ()), *indexed), stored, is_open)
    expressions = Expressions(partition, own, known or (), is_open, captures or ())
    return Recipe(own, format, fields, expressions.computing(), index)


def fields_read(recipe: Recipe) -> set[str]:
    """In lower case: the fields from which a column can have a value."""
    columns = (*recipe.table.columns, *recipe.table.helpers)
    read = {source_path(column)[0].lower() for column in columns if not column.transform}
    return read | {name.lower() for name in recipe.computing.fields}
