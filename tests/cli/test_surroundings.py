"""Closed, full and odd streams, limits and names: a sentence and an exit code, never a trace."""

from __future__ import annotations

import json
import subprocess

import pytest

from installed import COMMAND, Home


def shell(home: Home, script: str) -> subprocess.CompletedProcess[bytes]:
    command = script.replace("tailpipe", COMMAND)
    done = subprocess.run(
        ["bash", "-c", command],
        env=home.variables(),
        cwd=home.folder,
        capture_output=True,
        timeout=120,
        check=False,
    )
    for word in (b"Traceback", b"unexpected", b"Exception ignored"):
        assert word not in done.stderr + done.stdout, done.stderr
    assert b"\x1b" not in done.stderr + done.stdout
    return done


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [
        ("tailpipe query 'select 1' >&-", 1, "standard output: Bad file descriptor"),
        ("tailpipe query 'select 1' > /dev/full", 1, "standard output: No space left on device"),
        ("tailpipe table list > /dev/full", 1, "standard output: No space left on device"),
        ("tailpipe --help > /dev/full", 1, "standard output: No space left on device"),
        ("tailpipe query 'select 1' 2>&-", 0, ""),
        ("tailpipe query nonsense 2> /dev/full", 1, ""),
        ("tailpipe nonsense 2> /dev/full", 2, ""),
        ("tailpipe query <&-", 2, "the SQL is empty."),
        ("tailpipe query 'from range(1000000)' --output csv | head -n 1", 0, ""),
        ("tailpipe query $'select \\'\\xff\\''", 2, "character 9 is the byte 0xff"),
        ("printf '\\xff' | tailpipe query", 2, "the SQL is not text in UTF-8"),
        ("tailpipe collect $'\\e[31mred'", 2, ""),
        ("tailpipe query 'select 1' --output $'\\e[31m'", 2, '--output "\\x1b[31m" is not known'),
        ("tailpipe $'\\e[31m'", 2, "\\x1b[31m"),
        ("ulimit -n 20; tailpipe query 'select 1'", 1, "may open 20 files, and needs 64"),
        (
            "mkdir gone; cd gone; rmdir ../gone; TAILPIPE_INSTALL_DIR=x tailpipe query 'select 1'",
            1,
            "working directory",
        ),
        ("env -u HOME -u TAILPIPE_INSTALL_DIR tailpipe plugin list", 0, ""),
        ("TMPDIR=/nonexistent tailpipe query 'select 1'", 0, ""),
    ],
)
def test_a_sentence_and_an_exit_code(home: Home, script: str, code: int, told: str) -> None:
    done = shell(home, f"set -o pipefail; {script}" if "head" not in script else script)
    assert done.returncode == code, done.stderr
    assert told in done.stderr.decode()


def test_a_file_never_takes_the_place_of_a_closed_stream(home: Home) -> None:
    """Else what is printed would go into the first file that is opened."""
    assert shell(home, "tailpipe query 'select 1' <&- >&- 2>&-").returncode == 1
    assert list((home.folder / "install").rglob("*.json")) == []


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("table", "+-------+\n| gr\\u00f6\\u00dfe |\n+-------+\n|     1 |\n+-------+\n"),
        ("csv", "gr\\u00f6\\u00dfe\n1\n"),
    ],
)
def test_a_terminal_that_knows_ascii_only(home: Home, output: str, expected: str) -> None:
    done = shell(home, f"PYTHONIOENCODING=ascii tailpipe query 'select 1 as größe' --output {output}")
    assert done.returncode == 0
    assert done.stdout.decode("ascii") == expected


def test_json_for_such_a_terminal_is_still_json(home: Home) -> None:
    done = shell(home, "PYTHONIOENCODING=ascii tailpipe query \"select '日本 😀 │' as x\" --output json")
    assert json.loads(done.stdout.decode("ascii"))["rows"] == [{"x": "日本 😀 │"}]
