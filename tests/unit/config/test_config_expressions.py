from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from config_values import error_of, value_of
from hypothesis import given
from hypothesis import strategies as st

NAMES: dict[str, Any] = {
    "x": 5,
    "s": "text",
    "yes": True,
    "items": [{"a": 1, "b": [10, 11]}, {"a": 2, "b": [20]}],
    "m": {"one": 1, "two": 2, "a-b": 3},
    "nothing": None,
}

VALUES = [
    ("1", 1),
    ("1.5", 1.5),
    ("1e3", 1000),
    ("-3", -3),
    ("true", True),
    ("null", None),
    ('""', ""),
    ('"a b "', "a b "),
    (r'"a\tb\n\"q\" \\ é\u00e9\U0001F600"', 'a\tb\n"q" \\ éé😀'),
    (r'"\d+\s"', r"\d+\s"),
    ('"%{YEAR:year}/%{DATA}"', "%{YEAR:year}/%{DATA}"),
    ('"$${x} %%{if} $5 100% {}"', "${x} %{if} $5 100% {}"),
    ('"${x}"', 5),
    ('"a ${x} b"', "a 5 b"),
    ('"${x}${s}"', "5text"),
    ('" ${ x } "', " 5 "),
    ('"a  ${~ x ~}  b"', "a5b"),
    ('"${"in ${"deep ${x}"}"}"', "in deep 5"),
    ('"${yes} ${1.50}"', "true 1.5"),
    ('`a\\d ${x} %{y} "q"`', 'a\\d ${x} %{y} "q"'),
    ("`two\nlines`", "two\nlines"),
    ("``", ""),
    ("<<EOT\n  a ${x}\n\n b \\n\nEOT\n", "  a 5\n\n b \\n\n"),
    ("<<-EOT\n    a ${x} b\n      c\n\n    EOT\n", "a 5 b\n  c\n\n"),
    ("<<-EOT\n    ${x}\n      c\n    EOT\n", "5\n  c\n"),
    ("<<EOT\nEOT\n", ""),
    ("[1, 2,\n 3, # c\n]", [1, 2, 3]),
    ("[]", []),
    ('{ a = 1, "b c" = 2, (s) = 3, "d${x}": 4 }', {"a": 1, "b c": 2, "text": 3, "d5": 4}),
    ("{\n a = 1\n b = 2\n}", {"a": 1, "b": 2}),
    ("{}", {}),
    ("m.one", 1),
    ('m["two"]', 2),
    ("m.a-b", 3),
    ("items[1].a", 2),
    ("items.1.a", 2),
    ("items[*].a", [1, 2]),
    ("items[*].b[0]", [10, 20]),
    ("items.*.a", [1, 2]),
    ("items.*.a[0]", 1),
    ("nothing[*].a", []),
    ("x[*]", [5]),
    ("[1, 2][x - 4]", 2),
    ("yes ? 1 : missing", 1),
    ("x > 3 ? m.one : m.two", 1),
    ("[for v in items : v.a * 2 if v.a > 1]", [4]),
    ("[for i, v in items : i + v.a]", [1, 3]),
    ("[for k, v in m : k]", ["one", "two", "a-b"]),
    ("{for k, v in m : upper(k) => v}", {"ONE": 1, "TWO": 2, "A-B": 3}),
    ("{for v in [1, 2, 3] : v % 2 => v...}", {"1": [1, 3], "0": [2]}),
    ("[for a in [1, 2] : [for b in [10] : a + b]]", [[11], [12]]),
    ("1 + 2 * 3", 7),
    ("(1 + 2) * 3", 9),
    ("10 - 3 - 2", 5),
    ("7 / 2", 3.5),
    ("6 / 3", 2),
    ("-7 % 3", -1),
    ("-x + 1", -4),
    ("!yes || x == 5", True),
    ("1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3 && 1 != 2", True),
    ("yes || missing", True),
    ("!yes && missing", False),
    ('1 == "1"', False),
    ("1 == true", False),
    ("[1, {a = 2}] == [1, {a = 2}]", True),
    ("nothing == null", True),
    ('try(m.three, items[9], "none")', "none"),
    ("can(m.one)", True),
    ("can(m.three)", False),
    ("max([1, 4, 2]...)", 4),
]

ERRORS = [
    ("missing", "1 no missing"),
    ("[missing, 1, wrong.x]", "2 no missing; 14 no wrong"),
    ('"a ${missing} b"', "6 no missing"),
    ("m.tow", '3 the map has no key "tow" (did you mean "two"?)'),
    ("items[2]", "7 the list has no item at this index; it holds 2"),
    ("items.a", "7 a list has no attributes (for one of every item, write [*].a)"),
    ("s.a", "3 a string has nothing inside"),
    ('1 + "a"', "1 `+` takes numbers, not a string"),
    ("1 / 0", "1 division by zero"),
    ("1 % 0", "1 division by zero"),
    ("-s", "1 `-` takes a number, not a string"),
    ("!x", "1 `!` takes true or false, not a number"),
    ("x && yes", "1 `&&` takes true or false, not a number"),
    ("x ? 1 : 2", "1 a condition is true or false, not a number"),
    ('"a ${m}"', "6 a map cannot be part of a string (use jsonencode() or join())"),
    ('"a ${nothing}"', "6 null cannot be part of a string (use jsonencode() or join())"),
    ("[for v in x : v]", "11 `for` goes over a list or a map, not a number"),
    (
        "{for v in [1, 1] : v => v}",
        '20 the key "1" comes up twice (add `...` behind the value to collect them)',
    ),
    ("nofunc(1)", '1 there is no function "nofunc"'),
    ("lwer(s)", '1 there is no function "lwer" (did you mean "lower"?)'),
    ("lower()", "1 lower(): takes 1 argument, not 0"),
    ("substr(s, 1)", "1 substr(): takes 3 arguments, not 2"),
    ("env()", "1 env(): takes 1 to 2 arguments, not 0"),
    ("lower([1])", "7 lower(): argument 1 must be a string, not a list"),
    ('max(1, "a")', "8 max(): argument 2 must be a number, not a string"),
    ("join(s, [1, m])", "9 join(): argument 2 must be a list of strings, not a list with other things"),
    ("max(x...)", "5 `...` spreads a list, not a number"),
    ("try(m.no)", '7 the map has no key "no"'),
    ("1e300 * 1e300", "1 the result is too large"),
]


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_value(text: str, expected: Any) -> None:
    result = value_of(text, NAMES)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(("text", "expected"), ERRORS)
def test_error(text: str, expected: str) -> None:
    assert error_of(text, NAMES) == expected


NUMBERS = st.integers(-(10**6), 10**6)


def arithmetic() -> st.SearchStrategy[tuple[str, Fraction]]:
    def combined(
        parts: tuple[tuple[str, Fraction], str, tuple[str, Fraction]],
    ) -> tuple[str, Fraction]:
        (left_text, left), symbol, (right_text, right) = parts
        value = {"+": left + right, "-": left - right, "*": left * right}[symbol]
        return f"({left_text} {symbol} {right_text})", value

    leaves = NUMBERS.map(lambda number: (str(number), Fraction(number)))
    return st.recursive(
        leaves, lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(combined), max_leaves=8
    )


@given(arithmetic())
def test_arithmetic_is_exact_on_whole_numbers(case: tuple[str, Fraction]) -> None:
    text, expected = case
    assert value_of(text) == expected


@given(st.lists(st.tuples(st.sampled_from(["+", "-", "*"]), st.integers(0, 99)), min_size=1, max_size=6))
def test_operators_bind_as_in_python(steps: list[tuple[str, int]]) -> None:
    text = "1" + "".join(f" {symbol} {number}" for symbol, number in steps)
    assert value_of(text) == eval(text)


@given(NUMBERS, NUMBERS.filter(bool))
def test_quotient_and_remainder_fit_together(dividend: int, divisor: int) -> None:
    rest = value_of(f"{dividend} % {divisor}")
    assert (dividend - rest) % divisor == 0
    assert abs(rest) < abs(divisor)


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\0"))


@given(TEXT.filter(lambda text: "$${" not in text and "%%{" not in text))
def test_quoted_text_comes_back(text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    escaped = escaped.replace("${", "$${").replace("%{", "%%{")
    assert value_of(f'"{escaped}"') == text


@given(TEXT.filter(lambda text: "`" not in text))
def test_raw_text_comes_back(text: str) -> None:
    assert value_of(f"`{text}`") == text


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc_", min_size=1), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(JSON)
def test_json_comes_back(value: Any) -> None:
    encoded = value_of("jsonencode(v)", {"v": value})
    assert json.loads(encoded) == value
    assert value_of("jsondecode(t)", {"t": encoded}) == value
