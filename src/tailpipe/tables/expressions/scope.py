"""One rule for what an expression sees: columns, the record's fields, what the path says of its file.

Columns have their types, all else is text. A column hides a field of its name, and a field hides a capture of the
layout where the record has it. Names are found in any letter case; of fields that differ in nothing else, an
expression sees the one that it spells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tailpipe.suggest import did_you_mean
from tailpipe.tables.expressions.syntax import CLOCK_NAMES, ExpressionError


@dataclass(frozen=True)
class Input:
    """What a name stands for: a column of the rows; else a field, a capture, or a field and a capture in its stead."""

    name: str
    type: str = "VARCHAR"
    is_column: bool = False
    is_field: bool = False
    capture: str | None = None


@dataclass(frozen=True)
class Scope:
    """`columns` with their DuckDB types. With `is_open`, records may have any other field, too."""

    columns: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    captures: tuple[str, ...] = ()
    is_open: bool = False

    def find(self, written: str) -> Input | None:
        column, found = _spelled(written, self.columns), _spelled(written, self.fields)
        if column is not None and (column == written or found != written):
            return Input(column, self.columns[column], is_column=True)
        capture = _spelled(written, self.captures)
        if found is None and self.is_open and self._may_be_field(written):
            found = written
        if found is not None:
            return Input(found, is_field=True, capture=capture)
        return Input(capture, capture=capture) if capture is not None else None

    def inputs(self, names: Iterable[str]) -> tuple[Input, ...]:
        """Raises ExpressionError for a name that stands for nothing. The clock's names stand for themselves."""
        found: dict[str, Input] = {}
        for name in names:
            entry = self.find(name)
            if entry is not None:
                self._add(found, entry)
            elif name.lower() not in CLOCK_NAMES:
                raise self.unknown(name)
        return tuple(found.values())

    def _add(self, found: dict[str, Input], entry: Input) -> None:
        other = found.setdefault(entry.name.lower(), entry)
        if other.name != entry.name:
            raise ExpressionError(
                f'"{other.name}" and "{entry.name}" differ in letter case only, which SQL does not see',
                "use one of them in an expression",
            )

    def _may_be_field(self, written: str) -> bool:
        return not written.lower().startswith("tp_") and written.lower() not in CLOCK_NAMES

    def unknown(self, written: str) -> ExpressionError:
        """What is said of a name that stands for nothing."""
        guess = did_you_mean(written, (*self.columns, *self.fields, *self.captures))
        hint = " ".join(filter(None, (guess, self._listing())))
        return ExpressionError(f'there is no field or column "{written}"', hint)

    def _listing(self) -> str:
        """All there is; what two lists have is told once."""
        told: set[str] = set()
        parts = []
        for label, names in (
            ("columns", self.columns),
            ("fields", self.fields),
            ("from the path", self.captures),
        ):
            new = [name for name in names if name.lower() not in told]
            told |= {name.lower() for name in new}
            if new:
                parts.append(f"{label}: {', '.join(sorted(new))}")
        return "; ".join(parts) or "there are none"


def needs_inet(inputs: Iterable[Input], *texts: str) -> bool:
    """Whether an expression or its inputs name the type that an extension of DuckDB brings."""
    return any("inet" in text.lower() for text in (*texts, *(entry.type for entry in inputs)))


def _spelled(written: str, names: Iterable[str]) -> str | None:
    """The name as written if it is among them, else the first that differs in letter case only."""
    names = tuple(names)
    if written in names:
        return written
    return next((name for name in names if name.lower() == written.lower()), None)
