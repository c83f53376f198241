"""The row an expression reads: its columns, and where each comes from in Spark SQL."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tailpipe.tables.expressions.parse import ExpressionError
from tailpipe.tables.sql import quoted
from tailpipe.tables.types import DataType, Struct


@dataclass
class Row:
    """Names are found in any case, as in DuckDB. `used` collects the columns that were resolved."""

    types: Mapping[str, DataType]
    bindings: Mapping[str, str]
    used: set[str] = field(default_factory=set)

    def resolve(self, node: exp.Expr) -> tuple[str, DataType]:
        """The Spark SQL and type of a column, or of a member at the end of a dotted path."""
        first, *members = _path(node)
        name = self._column(first)
        sql, type_ = self.bindings.get(name, quoted(name)), self.types[name]
        for member in members:
            sql, type_ = _member(sql, type_, first, member)
            first = f"{first}.{member}"
        return sql, type_

    def check(self, tree: exp.Expr) -> None:
        """Every column must exist before DuckDB is asked about types."""
        for node in tree.find_all(exp.Column, exp.Dot):
            if not isinstance(node.parent, exp.Dot):
                self.resolve(node)

    def _column(self, written: str) -> str:
        by_lower = {name.lower(): name for name in self.types}
        name = by_lower.get(written.lower())
        if name is None:
            near = difflib.get_close_matches(written.lower(), by_lower, n=1, cutoff=0.5)
            hint = f'did you mean "{by_lower[near[0]]}"?' if near else _listing(self.types)
            raise ExpressionError(f'there is no column "{written}"', hint)
        self.used.add(name)
        return name


def _path(node: exp.Expr) -> list[str]:
    if isinstance(node, exp.Identifier):
        return [str(node.this)]
    if isinstance(node, exp.Column):
        return [part.name for part in node.parts]
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        return [*_path(node.this), node.expression.name]
    raise ExpressionError(
        "a dot may only follow a column or a member of a struct", "write functions as name(column)"
    )


def _member(sql: str, type_: DataType, path: str, written: str) -> tuple[str, DataType]:
    if not isinstance(type_, Struct):
        raise ExpressionError(f'"{path}" is not a struct, so it has no member "{written}"')
    names = {member.name.lower(): member for member in type_.members}
    member = names.get(written.lower())
    if member is None:
        near = difflib.get_close_matches(written.lower(), names, n=1, cutoff=0.5)
        hint = f'did you mean "{names[near[0]].name}"?' if near else f"it has: {', '.join(names)}"
        raise ExpressionError(f'"{path}" has no member "{written}"', hint)
    return f"{sql}.{quoted(member.name)}", member.type


def _listing(types: Mapping[str, DataType]) -> str:
    names = sorted(types)
    shown = ", ".join(names[:12])
    return f"columns: {shown}{' …' if len(names) > 12 else ''}" if names else "no columns can be used here"
