"""What is computed of a row where rows are written: columns by expressions of users, which rows are kept, tp_index."""

from __future__ import annotations

from dataclasses import dataclass

from tailpipe.tables.expressions.calculation import Calculation, Output

KEPT, INDEX = "kept", "tp_index"


def sent_field(number: int) -> str:
    """A field's name on its way to where expressions are evaluated."""
    return f"tp_field_{number}"


@dataclass(frozen=True)
class Computing:
    """`columns` are computed first; a row without a value in one of `required` is rejected. Then `rows` sees them all.

    `fields` are those of the record that go along as text, because expressions use them. Picklable.
    """

    columns: tuple[Calculation, ...] = ()
    required: tuple[str, ...] = ()
    rows: tuple[Calculation, ...] = ()
    fields: tuple[str, ...] = ()
    needs_inet: bool = False

    @property
    def column_outputs(self) -> tuple[Output, ...]:
        return tuple(output for calculation in self.columns for output in calculation.outputs)


NOTHING = Computing()
