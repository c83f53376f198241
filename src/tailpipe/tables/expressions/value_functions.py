"""Functions on any value, on numbers, on lists and on JSON."""

from __future__ import annotations

import re

from tailpipe.tables.expressions.call import Call, Rule
from tailpipe.tables.expressions.coercion import coerce, comparable
from tailpipe.tables.expressions.operand import INTEGERS, REALS, Operand, within
from tailpipe.tables.expressions.parse import ExpressionError
from tailpipe.tables.sql import text_literal
from tailpipe.tables.types import ListOf, Scalar, spark_type


def _chosen(spark_name: str) -> Rule:
    """Functions that return one of their arguments."""

    def rule(call: Call) -> str:
        choices = ", ".join(coerce(operand, call.type) for operand in call.arguments)
        return f"{spark_name}({choices})" if len(call) > 1 else choices

    return rule


def _nullif(call: Call) -> str:
    call.needs(2)
    left, right = comparable(call.arguments[0], call.arguments[1])
    return f"CASE WHEN {left} = {right} THEN NULL ELSE {coerce(call.arguments[0], call.type)} END"


def _abs(call: Call) -> str:
    operand = _number(call)
    if operand.is_integer:
        number = call.integer(0)
        positive = f"CASE WHEN {number} < 0 THEN try_subtract(CAST(0 AS bigint), {number}) ELSE {number} END"
        return within(positive, call.type)
    return f"abs({operand.sql})"


def _number(call: Call) -> Operand:
    operand = call.arguments[0]
    if operand.name not in INTEGERS and operand.name not in REALS and operand.name != "DECIMAL":
        raise operand.refuse("a number")
    return operand


def _to_whole(spark_name: str) -> Rule:
    """floor and ceil: a real too large for a bigint is whole already."""

    def rule(call: Call) -> str:
        call.needs(1)
        operand = _number(call)
        if operand.is_integer:
            return call.number(0)
        if operand.name == "DECIMAL":
            return f"CAST({spark_name}({operand.sql}) AS {spark_type(call.type or 'DOUBLE')})"
        sql = call.number(0)
        return f"CASE WHEN abs({sql}) < 9e15D THEN CAST({spark_name}({sql}) AS double) ELSE {sql} END"

    return rule


def _round(call: Call) -> str:
    call.needs(1, 2)
    operand = _number(call)
    digits = call.constant_integer(1, "number of digits") if len(call) == 2 else 0
    if operand.is_integer and digits >= 0:
        return coerce(operand, call.type)
    if operand.is_integer or not 0 <= digits <= 15:
        raise ExpressionError("round takes 0 to 15 digits")
    if operand.name == "DECIMAL":
        return f"try_cast(round({operand.sql}, {digits}) AS {spark_type(call.type or 'DOUBLE')})"
    sql = call.number(0)
    return f"CASE WHEN abs({sql}) < 9e15D THEN round({sql}, {digits}) ELSE {sql} END"


def _list_contains(call: Call) -> str:
    call.needs(2)
    items, item = call.arguments
    if not isinstance(items.type, ListOf):
        raise items.refuse("a list")
    wanted = coerce(item, items.type.element)
    found = f"coalesce(array_contains({items.sql}, {wanted}), false)"
    return f"CASE WHEN {items.sql} IS NULL OR {wanted} IS NULL THEN NULL ELSE {found} END"


def _list_value(call: Call) -> str:
    if not isinstance(call.type, ListOf) or not call.arguments:
        raise ExpressionError("an empty list is not supported")
    return f"array({', '.join(coerce(operand, call.type.element) for operand in call.arguments)})"


def _list_distinct(call: Call) -> str:
    return f"array_sort(array_compact(array_distinct({call.list_(0)})))"


def _list_concat(call: Call) -> str:
    """A null list counts as empty."""
    call.needs(2)
    pieces = (
        f"coalesce({coerce(operand, call.type)}, CAST(array() AS {spark_type(call.type or 'VARCHAR[]')}))"
        for operand in call.arguments
    )
    return f"concat({', '.join(pieces)})"


def _array_to_string(call: Call) -> str:
    call.needs(2)
    operand = call.arguments[0]
    if operand.type != ListOf(Scalar("VARCHAR")):
        raise operand.refuse("a list of text")
    return f"array_join({operand.sql}, {call.text(1)})"


def _json_string(call: Call) -> str:
    call.needs(2)
    return json_text(call.text(0), call.arguments[1])


def json_text(document: str, path: Operand) -> str:
    """What `->>` gives: the text of a scalar inside a document."""
    return f"get_json_object({document}, {text_literal('$' + json_path(path))})"


KEY = re.compile(r'\.(?:"([^"]*)"|([A-Za-z_0-9-]+))|\[([0-9]+)\]')


def json_path(path: Operand) -> str:
    """DuckDB's key, position or `$.a[0]."b c"` as steps in brackets, which both engines read alike."""
    if not path.is_constant or path.value is None:
        raise path.refuse("a constant JSON path")
    text = path.value
    if path.is_integer:
        return _position(text)
    if not text.startswith("$"):
        return _key(text)
    steps, index = [], 1
    while index < len(text):
        step = KEY.match(text, index)
        if step is None:
            raise ExpressionError(
                f'the JSON path "{text}" is not supported', 'supported: $.name."odd name"[0]'
            )
        quoted, name, position = step.groups()
        steps.append(
            _position(position) if position is not None else _key(quoted if quoted is not None else name)
        )
        index = step.end()
    return "".join(steps)


def _position(text: str) -> str:
    if int(text) < 0:
        raise ExpressionError("a negative position in JSON is not supported")
    return f"[{int(text)}]"


def _key(name: str) -> str:
    if not name or re.search(r"['\"\[\]*/\\?]", name):
        raise ExpressionError(f'"{name}" as a key in JSON is not supported')
    return f"['{name}']"


FUNCTIONS: dict[str, Rule] = {
    "abs": _abs,
    "array_contains": _list_contains,
    "array_to_string": _array_to_string,
    "ceil": _to_whole("ceil"),
    "ceiling": _to_whole("ceil"),
    "coalesce": _chosen("coalesce"),
    "floor": _to_whole("floor"),
    "greatest": _chosen("greatest"),
    "ifnull": _chosen("coalesce"),
    "json_extract_string": _json_string,
    "least": _chosen("least"),
    "list_concat": _list_concat,
    "list_contains": _list_contains,
    "list_distinct": _list_distinct,
    "list_has": _list_contains,
    "list_value": _list_value,
    "nullif": _nullif,
    "round": _round,
}
