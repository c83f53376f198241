from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.formats.pattern import PatternError, escape, normalise


@pytest.mark.parametrize(
    ("text", "expected", "names"),
    [
        (r"(?P<a>\d+)-(x|y)(?<b>.)", r"([0-9]+)-(?:x|y)(.)", ("a", "b")),
        (r"[(](?<a>[^()\]]*)[)]", r"[(]([^()\]]*)[)]", ("a",)),
        (r"\((?<a>x)\)$", r"\((x)\)\z", ("a",)),
        (r"[]a](?<a>[^]b])", r"[\]a]([^\]b])", ("a",)),
        (r"[[:alpha:][]", r"[A-Za-z\[]", ()),
        (r"[\w-]+[\w-z]", r"[A-Za-z0-9_\-]+[A-Za-z0-9_\-z]", ()),
        (r"a{,3}{b", r"a{0,3}\{b", ()),
        (r"(?i:x)(?:y)", r"(?i:x)(?:y)", ()),
        (r"\"\/\<", r'"/<', ()),
    ],
)
def test_only_named_groups_capture(text: str, expected: str, names: tuple[str, ...]) -> None:
    pattern = normalise(text)
    assert (pattern.text, pattern.names) == (expected, names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r"(?<a>x)\1", "backreferences are not supported (at character 8)"),
        (r"(?P<a>x)(?P=a)", "backreferences are not supported (at character 9)"),
        (r"\k<a>", "backreferences are not supported (at character 1)"),
        (r"(?>x)", "atomic groups are not supported (at character 1)"),
        (r"x*+", "possessive quantifiers are not supported (at character 2)"),
        (r"x{2,3}+", "possessive quantifiers are not supported (at character 2)"),
        (r"[abc", "a character class is not closed (at character 1)"),
        ("x\\", "the expression ends with a lone backslash (at character 2)"),
        (r"(?x) a", '"(?x)" is not a group that is supported (at character 1)'),
        (r"\p{L}", r"\p is not supported (at character 1)"),
    ],
)
def test_what_engines_cannot_share_is_refused(text: str, message: str) -> None:
    with pytest.raises(PatternError) as caught:
        normalise(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["(", "a)", "*a", "[b-a]", "(?<a>"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(PatternError):
        normalise(text)


@pytest.mark.parametrize("text", ["a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b"])
def test_look_around_is_told(text: str) -> None:
    assert normalise(text).needs_look_around
    assert not normalise(text.replace("?", r"\?").replace("=", r"\=")).needs_look_around


def _group(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"(?:{text})"),
        inner.map(lambda text: f"(?P<NAME>{text})"),
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join).map(lambda text: f"({text})"),
        st.tuples(inner, st.sampled_from(["?", "*?", "+", "{1,2}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    )


_atoms = st.sampled_from(
    [
        "a",
        "b",
        ".",
        r"\.",
        r"\d",
        r"\S",
        r"[ab]",
        r"[^a(]",
        r"[)\]]",
        r"[\w-]",
        r"[\S]",
        r"\(",
        "[]b]",
        "[[a]",
        " ",
    ]
)
_expressions = st.recursive(_atoms, _group, max_leaves=8)


def _numbered_names(text: str) -> str:
    count = 0
    while "(?P<NAME>" in text:
        text = text.replace("(?P<NAME>", f"(?P<g{count}>", 1)
        count += 1
    return text


@pytest.mark.filterwarnings("ignore:Possible nested set")
@given(_expressions, st.text("ab.() ]1-[\n", max_size=12))
def test_named_captures_stay_what_python_says(template: str, line: str) -> None:
    text = _numbered_names(template)
    before = re.compile(text, re.DOTALL | re.ASCII).search(line)
    pattern = normalise(text)
    after = pattern.for_python().search(line)
    assert (before is None) == (after is None)
    if before and after:
        assert before.span() == after.span()
        assert dict(zip(pattern.names, after.groups(), strict=True)) == before.groupdict()


@given(st.text(max_size=20))
def test_escaped_text_matches_itself(text: str) -> None:
    pattern = normalise(f"^{escape(text)}$")
    assert pattern.for_python().search(text)
    assert pattern.names == ()


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        (r"(?P<a>(?:\w|\s)*)", True),
        (r"(?P<a>x){2,}", True),
        (r"(?P<a>\w*)\)*", False),
        (r"(?P<a>.*)?", False),
    ],
)
def test_repeated_groups_are_known(text: str, repeats: bool) -> None:
    assert normalise(text).repeats_groups is repeats
