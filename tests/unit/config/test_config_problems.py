"""Every kind of mistake in a well-formed file: the whole message, with its place and hint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

ProblemsOf = Callable[..., list[str]]


def _cases() -> list[tuple[str, str]]:
    """`problems.txt` holds texts, each with what is told of it behind an arrow."""
    written = (Path(__file__).parent / "problems.txt").read_text(encoding="utf-8")
    pairs = [case.split("--->\n") for case in written.split("====\n")]
    return [(text, expected.rstrip("\n")) for text, expected in pairs]


CASES = _cases()


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_problem(problems_of: ProblemsOf, text: str, expected: str) -> None:
    assert "\n".join(problems_of(text)) == expected


def test_all_problems_come_in_one_run_in_the_order_of_their_places(problems_of: ProblemsOf) -> None:
    together = "".join(text for text, _ in CASES[:8])
    places = [tuple(map(int, told.split(" ")[0].split(":"))) for told in problems_of(together)]
    assert len(places) == 8
    assert places == sorted(places)


def test_columns_are_the_same_in_any_case(problems_of: ProblemsOf) -> None:
    (told,) = problems_of('table "t" {\n  column "a" {}\n  column "A" {}\n}\n')
    assert told.startswith('3:3 column "A" is defined twice; first at ')


def test_a_value_that_cannot_be_computed_is_not_missing(problems_of: ProblemsOf) -> None:
    assert problems_of('source "file" "x" {\n  paths = nope()\n}\n') == ['2:11 there is no function "nope"']


def test_a_broken_local_is_told_once(problems_of: ProblemsOf) -> None:
    text = 'locals {\n  bad = 1 / 0\n}\nsource "file" "x" {\n  paths = [local.bad, local.bad]\n}\n'
    assert problems_of(text) == ["2:9 division by zero"]


def test_blocks_hidden_by_a_syntax_error_are_not_missing(problems_of: ProblemsOf) -> None:
    text = 'format "csv" "x" ! {\n}\nsource "file" "x" {\n  paths = ["a"]\n  format = format.csv.x\n}\n'
    assert [told.split(" ")[0] for told in problems_of(text)] == ["1:1"]


SECRETS = [
    'connection "aws" "x" {\n  secret_key = ["hunter2"]\n}',
    'connection "aws" "x" {\n  mode = "hunter2"\n}',
    'connection "aws" "x" {\n  secret_key = tonumber("hunter2")\n}',
    'connection "aws" "x" {\n  secret_key = regex("x", env("KEY"))\n}',
    'connection "aws" "x" {\n  secret_key = {a = 1}[env("KEY").x]\n}',
    'variable "k" {\n type = number\n}',
]


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_are_not_shown(problems_of: ProblemsOf, text: str) -> None:
    told = problems_of(text + "\n", environment={"KEY": "hunter2", "TP_VAR_k": "hunter2"})
    assert told
    assert "hunter2" not in " ".join(told)


def test_a_value_of_the_wrong_type_from_the_environment(problems_of: ProblemsOf) -> None:
    told = problems_of('variable "v" {\n  type = list(number)\n}\n', environment={"TP_VAR_v": '["a"]'})
    assert told == ["1:1 TP_VAR_v must be a list(number), not a list"]
