"""`list` and `show` of one kind of thing, as columns for people or JSON for scripts."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tailpipe.cli.setup import Setup, load_setup, problems_of
from tailpipe.cli.terminal import note, say, say_json, size
from tailpipe.errors import EXIT_DONE, ConfigError, LakeError, UsageError
from tailpipe.query.widths import display_width, escape_controls, pad
from tailpipe.suggest import did_you_mean

Facts = Mapping[str, Any]
Found = TypeVar("Found")

_SIZE = "_bytes"


@dataclass(frozen=True)
class Entry:
    """One thing. `summary` is its line in the list; `details` are found out only when it is shown.

    In details, a list of mappings is a table of its own. A number whose name ends in `_bytes` is a size.
    """

    name: str
    summary: Facts
    details: Callable[[], Facts]


def run_listing(
    arguments: argparse.Namespace,
    noun: str,
    find: Callable[[Setup], Sequence[Entry]],
    needs_config: bool = False,
) -> int:
    _check_usage(arguments, noun)
    uses_workspace = noun in ("table", "partition")
    setup = load_setup(arguments, needs_config=needs_config, uses_workspace=uses_workspace)
    entries = find(setup)
    if arguments.action == "list":
        facts: Any = [{"name": entry.name, **entry.summary} for entry in entries]
        text = columns(facts) if facts else f"There is no {noun} yet."
    else:
        if all(arguments.name not in _names(entry.name) for entry in entries):
            _refuse_broken(arguments.name, noun, setup)
        entry = chosen(arguments.name, noun, entries)
        facts = {"name": entry.name, **entry.details()}
        text = _sheet(facts)
    say_json(facts) if arguments.output == "json" else say(text)
    return EXIT_DONE


def unless_damaged(read: Callable[[], dict[str, Found]]) -> dict[str, Found]:
    """What is found of a table by name; a warning and nothing where the table cannot be read."""
    try:
        return read()
    except LakeError as error:
        note(f"warning: {error}")
        return {}


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
    for kind, labels in setup.config.broken:
        if kind == noun and name in _names(".".join(labels)):
            raise ConfigError(problems_of(kind, labels, setup.config))


def _sheet(facts: Facts) -> str:
    tables = {name: value for name, value in facts.items() if _is_table(value)}
    plain = {
        name: value for name, value in facts.items() if name not in tables and value not in (None, "", [])
    }
    width = max(len(_heading(name)) for name in plain)
    lines = [f"{_heading(name):<{width}}  {_cell(name, value)}" for name, value in plain.items()]
    for name, rows in tables.items():
        lines += ["", f"{_heading(name)}:", *(f"  {line}" for line in columns(rows).splitlines())]
    return "\n".join(lines)


def _is_table(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(row, Mapping) for row in value)


def columns(rows: Sequence[Facts]) -> str:
    """Aligned, without borders; columns that are empty in every row are left out."""
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
