"""`list` and `show` of one kind of thing, as columns for people or JSON for scripts."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tailpipe.errors import EXIT_DONE, UsageError
from tailpipe.suggest import did_you_mean

if TYPE_CHECKING:
    from tailpipe.cli.setup import Setup

Facts = Mapping[str, Any]

_SIZE = "_bytes"


@dataclass(frozen=True)
class Entry:
    """One thing. `summary` is its line in the list; `details` are found out only when it is shown.

    In details, a list of mappings is a table of its own. A number whose name ends in `_bytes` is a size.
    """

    name: str
    summary: Facts
    details: Callable[[], Facts]


def add_arguments(
    parser: argparse.ArgumentParser, noun: str, more_actions: Mapping[str, str] | None = None
) -> None:
    """`more_actions` are those that only this kind of thing has, with what they do."""
    meanings = {"list": "all of them", "show": f"one {noun} in full", **(more_actions or {})}
    actions = "; ".join(f"{action}: {meaning}" for action, meaning in meanings.items())
    parser.add_argument("action", choices=tuple(meanings), help=actions)
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"the {noun} that is meant")
    forms = "how it is printed; pretty and plain are other words for text"
    parser.add_argument("--output", choices=("text", "json", "pretty", "plain"), default="text", help=forms)


def listing_command(
    noun: str, find: Callable[[Setup], Sequence[Entry]]
) -> tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]:
    """`configure` and `run` of a command that lists and shows one kind of thing and does nothing else."""
    return partial(add_arguments, noun=noun), partial(run_listing, noun=noun, find=find)


def run_listing(
    arguments: argparse.Namespace,
    noun: str,
    find: Callable[[Setup], Sequence[Entry]],
    needs_config: bool = False,
) -> int:
    from tailpipe.cli.setup import load_setup
    from tailpipe.cli.terminal import say

    _check_usage(arguments, noun)
    uses_workspace = noun in ("table", "partition")
    setup = load_setup(arguments, needs_config=needs_config, uses_workspace=uses_workspace)
    entries = find(setup)
    is_json = arguments.output == "json"
    if arguments.action == "list":
        facts = [{"name": entry.name, **entry.summary} for entry in entries]
        say(_json(facts) if is_json else _columns(facts) if facts else f"There is no {noun} yet.")
    else:
        if all(arguments.name not in _names(entry.name) for entry in entries):
            _refuse_broken(arguments.name, noun, setup)
        entry = chosen(arguments.name, noun, entries)
        shown = {"name": entry.name, **entry.details()}
        say(_json(shown) if is_json else _sheet(shown))
    return EXIT_DONE


def _check_usage(arguments: argparse.Namespace, noun: str) -> None:
    if arguments.action == "show" and arguments.name is None:
        raise UsageError(f"which {noun} is to be shown?", f"tailpipe {noun} list names them")
    if arguments.action == "list" and arguments.name is not None:
        raise UsageError(
            f'list takes no name, got "{arguments.name}".', f"tailpipe {noun} show {arguments.name}"
        )


def chosen(name: str, noun: str, entries: Sequence[Entry]) -> Entry:
    """By its full name, or by the part behind the last dot where only one entry has it."""
    full = [entry for entry in entries if entry.name == name]
    short = [entry for entry in entries if name in _names(entry.name)]
    if full or len(short) == 1:
        return (full or short)[0]
    if short:
        names = ", ".join(entry.name for entry in short)
        raise UsageError(f'"{name}" may mean several: {names}.', f"tailpipe {noun} show {short[0].name}")
    raise _unknown(name, noun, [entry.name for entry in entries])


def chosen_name(name: str, noun: str, names: Sequence[str]) -> str:
    if name not in names:
        raise _unknown(name, noun, names)
    return name


def _unknown(name: str, noun: str, names: Sequence[str]) -> UsageError:
    known = ", ".join(names) or "none yet"
    hint = did_you_mean(name, names) or f"tailpipe {noun.split()[-1]} list names them"
    return UsageError(f'there is no {noun} "{name}". There are: {known}.', hint)


def _names(full: str) -> tuple[str, str]:
    return full, full.rpartition(".")[2]


def _refuse_broken(name: str, noun: str, setup: Setup) -> None:
    """A block that cannot be used is not unknown."""
    from tailpipe.cli.setup import problems_of
    from tailpipe.errors import ConfigError

    for kind, labels in setup.config.broken:
        if kind == noun and name in _names(".".join(labels)):
            raise ConfigError(problems_of(kind, labels, setup.config))


def _json(facts: object) -> str:
    return json.dumps(facts, indent=2, ensure_ascii=False, default=str)


def _sheet(facts: Facts) -> str:
    tables = {name: value for name, value in facts.items() if _is_table(value)}
    plain = {
        name: value for name, value in facts.items() if name not in tables and value not in (None, "", [])
    }
    width = max(len(_heading(name)) for name in plain)
    lines = [f"{_heading(name):<{width}}  {_cell(name, value)}" for name, value in plain.items()]
    for name, rows in tables.items():
        lines += ["", f"{_heading(name)}:", *(f"  {line}" for line in _columns(rows).splitlines())]
    return "\n".join(lines)


def _is_table(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _columns(rows: Sequence[Facts]) -> str:
    """Aligned, without borders; columns that are empty in every row are left out."""
    from tailpipe.query.widths import display_width, pad

    names = [name for name in rows[0] if any(_cell(name, row[name]) for row in rows)]
    lines = [
        [_heading(name) for name in names],
        *([_cell(name, row[name]) for name in names] for row in rows),
    ]
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    numbers = [all(_is_number(row[name]) for row in rows) for name in names]
    shapes = list(zip(widths, numbers, strict=True))
    return "\n".join(
        "  ".join(
            pad(cell, width, is_right_aligned=is_number)
            for cell, (width, is_number) in zip(line, shapes, strict=True)
        ).rstrip()
        for line in lines
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | None) and not isinstance(value, bool)


def _heading(name: str) -> str:
    return name.removesuffix(_SIZE).replace("_", " ")


def _cell(name: str, value: Any) -> str:
    from tailpipe.cli.terminal import size
    from tailpipe.query.widths import escape_controls

    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else ""
        case int():
            return size(value) if name.endswith(_SIZE) else f"{value:,}"
        case str():
            return escape_controls(value)
        case list() | tuple() if all(isinstance(item, str) for item in value):
            return escape_controls(", ".join(value))
        case Mapping():
            pairs = (
                f"{key} = {json.dumps(item, ensure_ascii=False, default=str)}" for key, item in value.items()
            )
            return escape_controls(", ".join(pairs))
        case _:
            return escape_controls(json.dumps(value, ensure_ascii=False, default=str))
