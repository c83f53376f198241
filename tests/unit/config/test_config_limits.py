"""No configuration fills the memory or runs for ever; what is over a limit is told with its place."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ProblemsOf = Callable[..., list[str]]

TOO_LARGE = "the value is larger than 16 MiB, the limit of a value"
TOO_MANY_STEPS = "the value takes more than 300,000 steps to compute"
DOUBLED = '  s0 = "0123456789"\n' + "".join(
    f'  s{n} = "${{local.s{n - 1}}}${{local.s{n - 1}}}"\n' for n in range(1, 31)
)
LAUGHS = '  l0 = ["ha"]\n' + "".join(
    f"  l{n} = [{', '.join([f'local.l{n - 1}'] * 10)}]\n" for n in range(1, 31)
)
CASES = {
    "a string doubled": (DOUBLED, f"23:9 {TOO_LARGE}"),
    "lists of lists": (LAUGHS, f"8:8 {TOO_LARGE}"),
    "join": ('  x = join(join(",", range(100000)), range(100000))\n', f"2:7 {TOO_LARGE}"),
    "indent": ('  x = indent(1000000000, "a\\nb")\n', f"2:7 {TOO_LARGE}"),
    "replace": ('  s = join("", range(9999))\n  x = replace(local.s, "", local.s)\n', f"3:7 {TOO_LARGE}"),
    "replace a pattern": (
        f'  s = join("", range(9999))\n  x = replace(local.s, "/(.*)/", "{"$1" * 999}")\n',
        f"3:7 {TOO_LARGE}",
    ),
    "format": ('  x = format("%999999999d", 1)\n', "2:14 format(): a width or precision is at most 1,000"),
    "formatlist": (
        '  s = join("", range(9999))\n  x = formatlist("%s%d", local.s, range(9999))\n',
        f"3:7 {TOO_LARGE}",
    ),
    "for": ("  x = [for a in range(9999) : [for b in range(9999) : b]]\n", TOO_MANY_STEPS),
    "for, little kept": (
        "  x = [for a in range(9999) : length([for b in range(9999) : b])]\n",
        TOO_MANY_STEPS,
    ),
    "contains": (
        "  r = range(99999)\n  x = [for a in local.r : contains(local.r, -1)]\n",
        "3:27 the value is made from more than 64 MiB of others",
    ),
    "pattern": (
        '  s = join("", [for n in range(9999) : "abababab"])\n  x = regexall("a.{900}c", local.s)\n',
        "3:16 regexall(): the text is too long for a pattern of this size",
    ),
    "brackets": (f"  x = {'[' * 10_000}{']' * 10_000}\n", "2:7 this value is nested too deeply to be read"),
    "terms": (f"  x = {'1 + ' * 10_000}1\n", "2:7 this value is nested too deeply to be read"),
    "circle": (
        "  a = local.b\n  b = local.a\n",
        "2:3 local.a depends on itself: local.a → local.b → local.a",
    ),
    "device": (
        '  x = file("/dev/zero")\n',
        "2:12 file(): cannot read the file /dev/zero: it is not a regular file",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_value_over_a_limit(problems_of: ProblemsOf, name: str) -> None:
    text, expected = CASES[name]
    (told,) = problems_of(f"locals {{\n{text}}}\n")
    assert told.startswith(expected) or (expected == TOO_MANY_STEPS and expected in told)


def test_all_values_together_are_limited(problems_of: ProblemsOf) -> None:
    copies = "".join(f'  t{n} = "${{local.s19}}{n}"\n' for n in range(60))
    told = problems_of(f"locals {{\n{DOUBLED.partition('  s20')[0]}{copies}}}\n")
    assert all("all values together are made from more than 192 MiB" in each for each in told)
    assert 1 < len(told) < 60


def test_a_pipe_is_not_waited_for(problems_of: ProblemsOf, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert problems_of('locals {\n  x = file("pipe")\n}\n') == [
        "2:12 file(): cannot read the file pipe: it is not a regular file "
        "(paths are relative to the configuration file)"
    ]


def test_a_large_file_is_not_read(problems_of: ProblemsOf, tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)
    assert problems_of('locals {\n  x = file("large")\n}\n') == [
        "2:12 file(): the file large is larger than 16 MiB"
    ]


def test_errors_that_the_parser_never_finds(problems_of: ProblemsOf) -> None:
    assert problems_of("a = " * 50_000) == ["1:1 the file has errors that take too long to find"]


def test_strings_that_are_never_closed(problems_of: ProblemsOf) -> None:
    told = problems_of("locals {\n" + '  x = "${\n' * 500 + "}\n")
    assert len(told) < 300


def test_memory_stays_flat(tmp_path: Path) -> None:
    """With room for the interpreter and a few values, but not for one of a gigabyte."""
    (tmp_path / "main.tpc").write_text(
        f"locals {{\n{DOUBLED}}}\nlocals {{\n{LAUGHS}  f = flatten(local.l30)\n}}\n"
    )
    code = f"""
import resource, sys
from datetime import UTC, datetime
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from config_catalog import FakeCatalog
from tailpipe.config import load
from tailpipe.config import resolve, read
resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))
config = load([Path({str(tmp_path)!r})], FakeCatalog(), environment={{}}, now=datetime(2024, 1, 1, tzinfo=UTC))
print(len(config.errors))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("2\n", 0), done.stderr
