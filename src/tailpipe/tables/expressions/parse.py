"""DuckDB expression text into a tree whose function names are DuckDB's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sqlglot import exp, parse
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.duckdb import DuckDBParser


class ExpressionError(Exception):
    """Why a text is no expression we can translate; `hint` says what to write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class PlainDuckDB(DuckDB):
    """Keeps function calls, list positions and JSON paths as written: our rules decide what they mean."""

    INDEX_OFFSET = 0

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        return path

    class Parser(DuckDBParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser
            for name, parser in DuckDBParser.FUNCTION_PARSERS.items()
            if name in ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM", "POSITION")
        }


COMMON = frozenset({"this", "expression", "expressions"})
PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Between: frozenset({"low", "high"}),
    exp.Case: frozenset({"ifs", "default"}),
    exp.Cast: frozenset({"to"}),
    exp.Column: frozenset({"table", "db", "catalog"}),
    exp.DPipe: frozenset({"safe"}),
    exp.DataType: frozenset({"nested"}),
    exp.Identifier: frozenset({"quoted"}),
    exp.If: frozenset({"true", "false"}),
    exp.ILike: frozenset({"negate"}),
    exp.Interval: frozenset({"unit"}),
    exp.JSONExtract: frozenset({"only_json_types"}),
    exp.JSONExtractScalar: frozenset({"only_json_types", "scalar_only"}),
    exp.Like: frozenset({"negate"}),
    exp.Literal: frozenset({"is_string"}),
    exp.SimilarTo: frozenset({"negate"}),
    exp.StrPosition: frozenset({"substr"}),
    exp.Substring: frozenset({"start", "length"}),
    exp.Trim: frozenset({"position"}),
    exp.TryCast: frozenset({"to", "safe"}),
}
"""What each kind of node may carry besides the common parts."""

SUBQUERIES = (exp.Query, exp.Exists, exp.Subquery)


def parse_expression(text: str) -> exp.Expr:
    """The tree of one scalar expression; raises ExpressionError for anything else."""
    if not text.strip():
        raise ExpressionError("the expression is empty")
    try:
        trees = parse(text, dialect=PlainDuckDB)
    except ParseError as error:
        raise ExpressionError(_place(error, text)) from None
    except TokenError:
        raise ExpressionError("a quote or comment that begins here does not end") from None
    if len(trees) != 1 or trees[0] is None:
        raise ExpressionError("this is more than one statement", "write one expression, without a semicolon")
    tree = _with_full_match(trees[0])
    _check_kind(tree)
    _check_forms(tree)
    return tree


def duckdb_text(node: exp.Expr) -> str:
    return node.sql(dialect=PlainDuckDB)


def _with_full_match(tree: exp.Expr) -> exp.Expr:
    """`~` matches the whole text in DuckDB; elsewhere, and in this parser's eyes, a part is enough."""
    for node in list(tree.find_all(exp.RegexpLike)):
        call = exp.Anonymous(this="regexp_full_match", expressions=[node.this, node.expression])
        if node is tree:
            return call
        node.replace(call)
    return tree


def _check_forms(tree: exp.Expr) -> None:
    """A part of a node that no rule looks at would be lost in silence."""
    for node in tree.walk():
        known = PARTS.get(type(node), frozenset())
        if any(value and key not in COMMON and key not in known for key, value in node.args.items()):
            kind = type(node).__name__.upper()
            raise ExpressionError(f"this form of {kind} is not supported: {duckdb_text(node)}")


def _place(error: ParseError, text: str) -> str:
    first = error.errors[0] if error.errors else {}
    line, column = first.get("line"), first.get("col")
    if not line or not column:
        return "this is not an SQL expression"
    near = first.get("highlight") or ""
    offset = sum(len(part) + 1 for part in text.split("\n")[: line - 1]) + column
    return f'SQL syntax error near "{near}", character {offset} of the expression'


def _check_kind(tree: exp.Expr) -> None:
    if not isinstance(tree, exp.Condition | exp.Query | exp.Alias | exp.Interval | exp.Star):
        raise ExpressionError("this is a statement, not an expression")
    if isinstance(tree, exp.Alias):
        raise ExpressionError("an expression has no alias", "leave out AS and the name behind it")
    if any(isinstance(node, SUBQUERIES) for node in tree.walk()):
        raise ExpressionError("a query inside an expression is not supported", "use columns of this row only")
    if any(isinstance(node, exp.Window) for node in tree.walk()):
        raise ExpressionError("window functions are not supported: rows are read one by one")
    if any(isinstance(node, exp.Star) for node in tree.walk()):
        raise ExpressionError("* is not supported", "name the columns")
    if any(isinstance(node, exp.Placeholder | exp.Parameter) for node in tree.walk()):
        raise ExpressionError("parameters are not supported", "write the value itself")
    if any(isinstance(node, exp.Slice) for node in tree.walk()):
        raise ExpressionError("slices are not supported", "use one position: list[1], or substr for text")
