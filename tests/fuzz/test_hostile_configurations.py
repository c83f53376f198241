"""Whatever a configuration says, `tailpipe config check` answers with problems or with none, soon."""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from hostile_configurations import configuration
from watched import watched

from tailpipe.cli.main import main

CASES = 10_000
# What a sentence for people never holds: traces, objects, names of Python's own errors, escapes for terminals.
_NOT_FOR_PEOPLE = re.compile(
    r"Traceback| object at 0x|unexpected [A-Z]\w*(Error|Exception)|<class |NoneType|[\x00-\x08\x0b-\x1f\x7f]"
)


def judged(case: int) -> str | None:
    """What is wrong with the answer to a generated configuration."""
    os.environ.pop("TAILPIPE_CONFIG_PATH", None)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "main.tpc").write_bytes(configuration(case))
        os.environ["TAILPIPE_INSTALL_DIR"] = str(Path(folder) / "install")
        output, errors = StringIO(), StringIO()
        try:
            with redirect_stdout(output), redirect_stderr(errors):
                code = main(["config", "check", "--config-path", folder])
        except BaseException as error:
            return f"{type(error).__name__}: {error}"
        return complaint(code, output.getvalue(), errors.getvalue())


def complaint(code: int, output: str, errors: str) -> str | None:
    found = _NOT_FOR_PEOPLE.search(errors + output)
    if found:
        return f"it says {found[0]!r}: {errors[-400:]}"
    if code == 0:
        return None if "no problems" in output else f"it says nothing: {output}{errors}"
    if code != 2:
        return f"exit code {code}: {errors[-400:]}"
    return None if errors.strip() else "exit code 2 without a word"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_thousand_configurations() -> None:
    complaints = [f"{complaint.case}: {complaint.text}" for complaint in watched(judged, CASES)]
    assert not complaints, f"{len(complaints)} of {CASES}\n" + "\n".join(complaints[:20])


def test_a_hundred_configurations() -> None:
    assert [text for case in range(100) if (text := judged(case))] == []
