"""Functions on text."""

from __future__ import annotations

from tailpipe.tables.expressions.call import Call, Rule
from tailpipe.tables.expressions.casts import text_of
from tailpipe.tables.expressions.operand import Operand
from tailpipe.tables.expressions.parse import ExpressionError
from tailpipe.tables.expressions.regex import escape, raw_literal

LONGEST = 1_000_000_000


def _plain(spark_name: str) -> Rule:
    """A function of one or more texts that means the same under another name."""

    def rule(call: Call) -> str:
        return f"{spark_name}({', '.join(call.text(index) for index in range(len(call)))})"

    return rule


def _trim(side: str) -> Rule:
    def rule(call: Call) -> str:
        call.needs(1, 2)
        characters = call.text(1) if len(call) == 2 else "' '"
        return f"trim({side} {characters} FROM {call.text(0)})"

    return rule


def _length(call: Call) -> str:
    call.needs(1)
    if call.arguments[0].is_list:
        return f"CAST(size({call.list_(0)}) AS bigint)"
    return f"CAST(length({call.text(0)}) AS bigint)"


def _byte_length(call: Call) -> str:
    return f"CAST(octet_length({call.text(0)}) AS bigint)"


def _clamped(sql: str) -> str:
    return f"CAST(greatest(least({sql}, {LONGEST}), -{LONGEST}) AS int)"


def _substring(call: Call) -> str:
    """Start 0 lies before the text, a negative start counts from its end, a negative length goes back."""
    call.needs(2, 3)
    text = call.text(0)
    start, length = call.arguments[1], call.arguments[2] if len(call) == 3 else None
    if _is_at_least(start, 1) and (length is None or _is_at_least(length, 0)):
        return f"substr({text}, {start.sql}{f', {length.sql}' if length else ''})"
    given = _clamped(call.integer(1))
    first = f"CASE WHEN {given} < 0 THEN length({text}) + {given} + 1 ELSE {given} END"
    span = _clamped(call.integer(2)) if length else str(LONGEST)
    low = f"greatest(least({first}, {first} + {span}), 1)"
    high = f"greatest({first}, {first} + {span})"
    return f"substr({text}, {low}, greatest({high} - {low}, 0))"


def _is_at_least(operand: Operand, minimum: int) -> bool:
    if not operand.is_constant or operand.value is None or operand.name != "INTEGER":
        return False
    return int(operand.value) >= minimum


def _left(call: Call) -> str:
    text, count = call.text(0), _clamped(call.integer(1))
    kept = f"CASE WHEN {count} < 0 THEN length({text}) + {count} ELSE {count} END"
    return f"substr({text}, 1, greatest({kept}, 0))"


def _right(call: Call) -> str:
    text, count = call.text(0), _clamped(call.integer(1))
    length = f"length({text})"
    kept = f"CASE WHEN {count} < 0 THEN greatest({length} + {count}, 0) ELSE least({count}, {length}) END"
    return f"substr({text}, length({text}) - {kept} + 1, {kept})"


def _concat(call: Call) -> str:
    """Null counts as empty text."""
    if call.type is not None and any(operand.is_list for operand in call.arguments):
        raise ExpressionError("concat of lists is not supported", "use list_concat")
    return f"concat({', '.join(_or_empty(operand) for operand in call.arguments)})"


def _or_empty(operand: Operand) -> str:
    return "''" if operand.type is None else f"coalesce({text_of(operand)}, '')"


def _concat_ws(call: Call) -> str:
    rest = (text_of(operand) for operand in call.arguments[1:] if operand.type is not None)
    return f"concat_ws({', '.join([call.text(0), *rest])})"


def _position(call: Call) -> str:
    call.needs(2)
    return f"CAST(instr({call.text(0)}, {call.text(1)}) AS bigint)"


def _contains(call: Call) -> str:
    call.needs(2)
    if call.arguments[0].is_list:
        raise ExpressionError("contains on a list is not supported", "use list_contains")
    return f"contains({call.text(0)}, {call.text(1)})"


def _pad(spark_name: str) -> Rule:
    def rule(call: Call) -> str:
        call.needs(3)
        if not call.constant_text(2, "padding"):
            raise ExpressionError(f"{call.name} needs a padding that is not empty")
        return f"{spark_name}({call.text(0)}, greatest({_clamped(call.integer(1))}, 0), {call.text(2)})"

    return rule


def _split(call: Call) -> str:
    call.needs(2)
    separator = call.constant_text(1, "separator")
    if not separator:
        raise ExpressionError(f"{call.name} needs a separator that is not empty")
    return f"split({call.text(0)}, {raw_literal(escape(separator))})"


def _split_part(call: Call) -> str:
    call.needs(3)
    if not call.constant_text(1, "separator"):
        raise ExpressionError("split_part needs a separator that is not empty")
    number = call.constant_integer(2, "position")
    if number == 0:
        return f"CASE WHEN {call.text(0)} IS NOT NULL THEN '' END"
    return f"split_part({call.text(0)}, {call.text(1)}, {number})"


def _repeat(call: Call) -> str:
    count = call.constant_integer(1, "count")
    if count > 1000:
        raise ExpressionError("repeat more than 1000 times is not supported")
    return f"repeat({call.text(0)}, {max(count, 0)})"


def _sha256(call: Call) -> str:
    return f"sha2({call.text(0)}, 256)"


def _translate(call: Call) -> str:
    call.needs(3)
    return f"translate({call.text(0)}, {call.text(1)}, {call.text(2)})"


FUNCTIONS: dict[str, Rule] = {
    "array_length": _length,
    "char_length": _length,
    "character_length": _length,
    "concat": _concat,
    "concat_ws": _concat_ws,
    "contains": _contains,
    "ends_with": _plain("endswith"),
    "instr": _position,
    "lcase": _plain("lower"),
    "left": _left,
    "len": _length,
    "length": _length,
    "lower": _plain("lower"),
    "lpad": _pad("lpad"),
    "ltrim": _trim("LEADING"),
    "md5": _plain("md5"),
    "prefix": _plain("startswith"),
    "repeat": _repeat,
    "replace": _plain("replace"),
    "reverse": _plain("reverse"),
    "right": _right,
    "rpad": _pad("rpad"),
    "rtrim": _trim("TRAILING"),
    "sha1": _plain("sha1"),
    "sha256": _sha256,
    "split": _split,
    "split_part": _split_part,
    "starts_with": _plain("startswith"),
    "str_split": _split,
    "string_split": _split,
    "string_to_array": _split,
    "strlen": _byte_length,
    "strpos": _position,
    "substr": _substring,
    "substring": _substring,
    "suffix": _plain("endswith"),
    "translate": _translate,
    "trim": _trim("BOTH"),
    "ucase": _plain("upper"),
    "upper": _plain("upper"),
}
