"""Nothing is undocumented, and nothing is documented that is not there."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys

import pytest
from documents import ROOT

from tailpipe import errors
from tailpipe.cli.main import command_names, make_parser

CLI = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
SHARED = ("--help", "--config-path", "--workspace", "--debug")


def _commands() -> dict[str, argparse.ArgumentParser]:
    actions = make_parser(command_names())._actions
    (subparsers,) = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    return dict(subparsers.choices)


def _section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", CLI, re.M | re.S)
    assert found, f"docs/reference/cli.md has no section {title}"
    return found[1]


def _long_options(parser: argparse.ArgumentParser) -> set[str]:
    return {name for action in parser._actions for name in action.option_strings if name.startswith("--")}


def test_every_common_option_is_documented() -> None:
    section = _section("Options of every command")
    for action in make_parser(command_names())._actions:
        for name in action.option_strings:
            assert f"`{name}" in section, name


@pytest.mark.parametrize("command", command_names())
def test_every_option_of_a_command_is_documented_and_no_other(command: str) -> None:
    section = _section(f"tailpipe {command}")
    real = _long_options(_commands()[command]) - set(SHARED)
    written = set(re.findall(r"--[a-z][a-z-]*", section))
    assert real - written == set(), "undocumented"
    assert written - real - set(SHARED) == set(), "documented, but not accepted"


@pytest.mark.parametrize("command", command_names())
def test_every_choice_is_documented(command: str) -> None:
    section = _section(f"tailpipe {command}") + _section("tailpipe table")
    for action in _commands()[command]._actions:
        for choice in action.choices or ():
            assert re.search(rf"\b{re.escape(choice)}\b", section), f"{action.dest}: {choice}"


@pytest.mark.parametrize("command", command_names())
def test_every_command_is_in_the_list_of_commands(command: str) -> None:
    assert f"[{command}](#tailpipe-{command})" in CLI


def test_exit_codes_are_documented() -> None:
    page = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")
    codes = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.M)} == codes


def test_tables_page_is_what_the_tables_declare() -> None:
    program = "import generate; print(generate.tables_page(), end='')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "docs", capture_output=True, text=True, check=True
    )
    committed = (ROOT / "docs/reference/tables.md").read_text(encoding="utf-8")
    assert committed == done.stdout, "run: python docs/generate.py"
