"""Spark SQL for the operators and structure of an expression; functions have their own tables."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

from sqlglot import exp

from tailpipe.tables.expressions import (
    arithmetic,
    regex_functions,
    text_functions,
    time_functions,
    value_functions,
)
from tailpipe.tables.expressions.bind import Binder, is_constant
from tailpipe.tables.expressions.call import Call, Rule
from tailpipe.tables.expressions.casts import cast
from tailpipe.tables.expressions.coercion import coerce, comparable
from tailpipe.tables.expressions.columns import Row
from tailpipe.tables.expressions.operand import Operand, constant_sql
from tailpipe.tables.expressions.parse import ExpressionError, duckdb_text
from tailpipe.tables.expressions.regex import rewrite
from tailpipe.tables.sql import text_literal
from tailpipe.tables.types import DataType, ListOf, MapOf, Scalar

FUNCTIONS: Mapping[str, Rule] = {
    **text_functions.FUNCTIONS,
    **regex_functions.FUNCTIONS,
    **time_functions.FUNCTIONS,
    **value_functions.FUNCTIONS,
}

COMPARISONS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.NullSafeEQ: "<=>",
}
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
FARTHEST = 1_000_000_000


class Emitter:
    def __init__(self, row: Row, binder: Binder, types: Mapping[int, DataType | None]) -> None:
        self._row = row
        self._binder = binder
        self._types = types

    def operand(self, node: exp.Expr) -> Operand:
        if isinstance(node, exp.Column | exp.Dot):
            return Operand(node, *self._row.resolve(node))
        type_ = self._types.get(id(node))
        if is_constant(node) and (type_ is None or isinstance(type_, Scalar)) and type_ != Scalar("INTERVAL"):
            value = self._binder.value(node)
            return Operand(node, constant_sql(value, type_), type_, True, value)
        return Operand(node, f"({self._emit(node, type_)})", type_)

    def _emit(self, node: exp.Expr, type_: DataType | None) -> str:
        if isinstance(node, ARITHMETIC):
            return self._arithmetic(node, type_)
        if type(node) in COMPARISONS:
            return self._comparison(node)
        handler = HANDLERS.get(type(node))
        if handler is None:
            raise ExpressionError(f"{_kind(node)} is not supported: {_short(node)}")
        return handler(self, node, type_)

    def _call(self, name: str, *arguments: exp.Expr, type_: DataType | None = None) -> str:
        return FUNCTIONS[name](Call(name, [self.operand(argument) for argument in arguments], type_))

    def _anonymous(self, node: exp.Expr, type_: DataType | None) -> str:
        rule = _rule(node)
        return rule(Call(node.name.lower(), [self.operand(part) for part in node.expressions], type_))

    def _paren(self, node: exp.Expr, _: DataType | None) -> str:
        return self.operand(node.this).sql

    def _boolean(self, node: exp.Expr) -> str:
        operand = self.operand(node)
        if operand.type is None:
            return "CAST(NULL AS boolean)"
        if operand.name != "BOOLEAN":
            raise operand.refuse("a boolean", "compare it with something")
        return operand.sql

    def _and(self, node: exp.Expr, _: DataType | None) -> str:
        return f"{self._boolean(node.this)} AND {self._boolean(node.expression)}"

    def _or(self, node: exp.Expr, _: DataType | None) -> str:
        return f"{self._boolean(node.this)} OR {self._boolean(node.expression)}"

    def _not(self, node: exp.Expr, _: DataType | None) -> str:
        return f"NOT {self._boolean(node.this)}"

    def _comparison(self, node: exp.Expr) -> str:
        left, right = comparable(self.operand(node.this), self.operand(node.expression))
        return f"{left} {COMPARISONS[type(node)]} {right}"

    def _distinct(self, node: exp.Expr, _: DataType | None) -> str:
        left, right = comparable(self.operand(node.this), self.operand(node.expression))
        return f"NOT ({left} <=> {right})"

    def _is(self, node: exp.Expr, _: DataType | None) -> str:
        if isinstance(node.expression, exp.Null):
            return f"{self.operand(node.this).sql} IS NULL"
        if isinstance(node.expression, exp.Boolean):
            return f"{self._boolean(node.this)} <=> {'true' if node.expression.this else 'false'}"
        raise ExpressionError(f"{_short(node)} is not supported")

    def _in(self, node: exp.Expr, _: DataType | None) -> str:
        if not node.expressions:
            raise ExpressionError("IN takes values in parentheses", "use list_contains for a list")
        value = self.operand(node.this)
        pairs = [comparable(value, self.operand(item)) for item in node.expressions]
        if len({left for left, _ in pairs}) == 1:
            return f"{pairs[0][0]} IN ({', '.join(right for _, right in pairs)})"
        return " OR ".join(f"{left} = {right}" for left, right in pairs)

    def _between(self, node: exp.Expr, _: DataType | None) -> str:
        value = self.operand(node.this)
        low = comparable(value, self.operand(node.args["low"]))
        high = comparable(value, self.operand(node.args["high"]))
        return f"{low[0]} >= {low[1]} AND {high[0]} <= {high[1]}"

    def _case(self, node: exp.Expr, type_: DataType | None) -> str:
        branches = []
        for branch in node.args["ifs"]:
            condition = self._branch_condition(node.this, branch.this)
            branches.append(f"WHEN {condition} THEN {coerce(self.operand(branch.args['true']), type_)}")
        default = node.args.get("default")
        end = f" ELSE {coerce(self.operand(default), type_)}" if default is not None else ""
        return f"CASE {' '.join(branches)}{end} END"

    def _branch_condition(self, subject: exp.Expr | None, test: exp.Expr) -> str:
        if subject is None:
            return self._boolean(test)
        left, right = comparable(self.operand(subject), self.operand(test))
        return f"{left} = {right}"

    def _if(self, node: exp.Expr, type_: DataType | None) -> str:
        chosen = coerce(self.operand(node.args["true"]), type_)
        other = node.args.get("false")
        end = f" ELSE {coerce(self.operand(other), type_)}" if other is not None else ""
        return f"CASE WHEN {self._boolean(node.this)} THEN {chosen}{end} END"

    def _cast(self, node: exp.Expr, type_: DataType | None) -> str:
        if type_ is None:
            raise ExpressionError(f"the type of {_short(node)} is not supported")
        return cast(self.operand(node.this), type_)

    def _negative(self, node: exp.Expr, type_: DataType | None) -> str:
        return arithmetic.negated(self.operand(node.this), type_)

    def _arithmetic(self, node: exp.Expr, type_: DataType | None) -> str:
        left, right = node.this, node.expression
        for side, other in ((left, right), (right, left)):
            if self._types.get(id(side)) == Scalar("INTERVAL") or isinstance(side, exp.Interval):
                return self._shifted(node, other, side, is_first=side is left)
        return arithmetic.computed(type(node), self.operand(left), self.operand(right), type_)

    def _shifted(self, node: exp.Expr, moment: exp.Expr, span: exp.Expr, is_first: bool) -> str:
        if not isinstance(node, exp.Add | exp.Sub) or (is_first and isinstance(node, exp.Sub)):
            raise ExpressionError(f"arithmetic with intervals is not supported: {_short(node)}")
        if not is_constant(span):
            raise ExpressionError("an interval must be constant", "INTERVAL 1 DAY, INTERVAL '2 hours'")
        months, days, micros = self._binder.interval(span)
        return arithmetic.shifted(self.operand(moment), isinstance(node, exp.Sub), months, days, micros)

    def _pipe(self, node: exp.Expr, type_: DataType | None) -> str:
        left, right = self.operand(node.this), self.operand(node.expression)
        if isinstance(type_, ListOf):
            return f"concat({coerce(left, type_)}, {coerce(right, type_)})"
        pieces = Call("||", [left, right], type_)
        return f"concat({pieces.text(0)}, {pieces.text(1)})"

    def _like(self, node: exp.Expr, _: DataType | None) -> str:
        return self._pattern_match(node, "")

    def _negation(self, node: exp.Expr) -> str:
        return "NOT " if node.args.get("negate") else ""

    def _escape(self, node: exp.Expr, _: DataType | None) -> str:
        escape = self.operand(node.expression)
        if not escape.is_constant or escape.value is None or len(escape.value) != 1:
            raise ExpressionError("ESCAPE takes one constant character")
        return self._pattern_match(node.this, escape.value)

    def _pattern_match(self, node: exp.Expr, escape: str) -> str:
        word = "ILIKE" if isinstance(node, exp.ILike) else "LIKE"
        if isinstance(node.expression, exp.Any | exp.All):
            raise ExpressionError(f"{word} ANY is not supported", "join several with OR")
        call = Call(word, [self.operand(node.this), self.operand(node.expression)], None)
        pattern = call.arguments[1]
        if pattern.is_constant and pattern.value is not None:
            word = self._negation(node) + word
            return f"{call.text(0)} {word} {text_literal(like_pattern(pattern.value, escape))}"
        if escape:
            raise ExpressionError("ESCAPE with a pattern that is not constant is not supported")
        return f"{call.text(0)} {self._negation(node)}{word} replace({call.text(1)}, '\\\\', '\\\\\\\\')"

    def _full_match(self, node: exp.Expr, _: DataType | None) -> str:
        call = Call("SIMILAR TO", [self.operand(node.this), self.operand(node.expression)], None)
        matched = regex_functions.full_match(call.text(0), rewrite(call.constant_text(1, "pattern")))
        return f"{self._negation(node)}({matched})"

    def _json_text(self, node: exp.Expr, _: DataType | None) -> str:
        document, steps = node.this, [self._json_step(node)]
        while isinstance(document, exp.Paren | exp.JSONExtract):
            if isinstance(document, exp.JSONExtract):
                steps.insert(0, self._json_step(document))
            document = document.this
        call = Call("->>", [self.operand(document)], None)
        return f"get_json_object({call.text(0)}, {text_literal('$' + ''.join(steps))})"

    def _json_step(self, node: exp.Expr) -> str:
        return value_functions.json_path(self.operand(node.expression))

    def _json_value(self, node: exp.Expr, _: DataType | None) -> str:
        raise ExpressionError(
            "-> leaves JSON, whose text engines write differently", "use ->> for the text of a value"
        )

    def _element(self, node: exp.Expr, _: DataType | None) -> str:
        container = self.operand(node.this)
        index = self.operand(node.expressions[0])
        if isinstance(container.type, ListOf):
            number = Call("[]", [index], None).integer(0)
            bounded = f"greatest(least({number}, {FARTHEST}), -{FARTHEST})"
            return f"try_element_at({container.sql}, CAST(nullif({bounded}, 0) AS int))"
        if isinstance(container.type, MapOf):
            return f"try_element_at({container.sql}, {coerce(index, container.type.key)})"
        raise container.refuse("a list or map", "use substr for text, a dot for a struct's member")

    def _list(self, node: exp.Expr, type_: DataType | None) -> str:
        return FUNCTIONS["list_value"](Call("[…]", [self.operand(part) for part in node.expressions], type_))

    def _extract(self, node: exp.Expr, type_: DataType | None) -> str:
        part = Operand(node.this, "", Scalar("VARCHAR"), True, node.this.name)
        return FUNCTIONS["date_part"](Call("extract", [part, self.operand(node.expression)], type_))

    def _substring(self, node: exp.Expr, type_: DataType | None) -> str:
        parts = [node.this, node.args["start"], *filter(None, [node.args.get("length")])]
        return self._call("substring", *parts, type_=type_)

    def _trim(self, node: exp.Expr, type_: DataType | None) -> str:
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.args.get("position") or "", "trim")
        return self._call(name, *filter(None, [node.this, node.args.get("expression")]), type_=type_)

    def _position(self, node: exp.Expr, type_: DataType | None) -> str:
        return self._call("strpos", node.this, node.args["substr"], type_=type_)

    def _now(self, node: exp.Expr, _: DataType | None) -> str:
        return "current_timestamp()"

    def _today(self, node: exp.Expr, _: DataType | None) -> str:
        return "current_date()"


def like_pattern(pattern: str, escape: str) -> str:
    r"""DuckDB has no escape unless one is named; both engines always have `\`."""
    written, index = "", 0
    while index < len(pattern):
        char = pattern[index]
        if escape and char == escape:
            index += 1
            if index >= len(pattern):
                raise ExpressionError("a LIKE pattern ends with its escape character")
            char = pattern[index]
            written += "\\" + char if char in "%_\\" else char
        else:
            written += "\\\\" if char == "\\" else char
        index += 1
    return written


def check_functions(tree: exp.Expr) -> None:
    """Constants are computed by DuckDB, but they too use only what is supported."""
    for node in tree.find_all(exp.Anonymous):
        _rule(node)


def _rule(node: exp.Expr) -> Rule:
    name = node.name.lower()
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    near = difflib.get_close_matches(name, FUNCTIONS, n=1)
    hint = f'did you mean "{near[0]}"?' if near else "docs/reference/expressions.md lists the functions"
    raise ExpressionError(f'function "{name}" is not supported in expressions', hint)


def _short(node: exp.Expr) -> str:
    text = duckdb_text(node)
    return text if len(text) <= 60 else text[:57] + "…"


def _kind(node: exp.Expr) -> str:
    return type(node).__name__.upper()


Handler = Callable[[Emitter, exp.Expr, DataType | None], str]

HANDLERS: Mapping[type[exp.Expr], Handler] = {
    exp.Anonymous: Emitter._anonymous,
    exp.Paren: Emitter._paren,
    exp.And: Emitter._and,
    exp.Or: Emitter._or,
    exp.Not: Emitter._not,
    exp.NullSafeNEQ: Emitter._distinct,
    exp.Is: Emitter._is,
    exp.In: Emitter._in,
    exp.Between: Emitter._between,
    exp.Case: Emitter._case,
    exp.If: Emitter._if,
    exp.Cast: Emitter._cast,
    exp.TryCast: Emitter._cast,
    exp.Neg: Emitter._negative,
    exp.DPipe: Emitter._pipe,
    exp.Like: Emitter._like,
    exp.ILike: Emitter._like,
    exp.Escape: Emitter._escape,
    exp.SimilarTo: Emitter._full_match,
    exp.JSONExtractScalar: Emitter._json_text,
    exp.JSONExtract: Emitter._json_value,
    exp.Bracket: Emitter._element,
    exp.Array: Emitter._list,
    exp.Extract: Emitter._extract,
    exp.Substring: Emitter._substring,
    exp.Trim: Emitter._trim,
    exp.StrPosition: Emitter._position,
    exp.CurrentTimestamp: Emitter._now,
    exp.CurrentDate: Emitter._today,
}
