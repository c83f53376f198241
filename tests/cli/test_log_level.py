"""`log_level` and TAILPIPE_LOG_LEVEL: diagnostics on standard error, beside answers that stay the same."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from installed import APP, Home, line

OWN_LINE = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z (\w+) +(.*)$", re.M)


def home_with(folder: Path, level: str | None, environment: dict[str, str] | None = None) -> Home:
    home = Home(folder, {"TAILPIPE_ENGINE": "sail", **(environment or {})})
    block = f'workspace "default" {{\n  log_level = "{level}"\n}}\n' if level else ""
    home.configure(block + APP)
    return home


@pytest.mark.parametrize(
    ("block", "variable", "levels"),
    [
        (None, None, set()),
        ("off", None, set()),
        ("error", None, set()),
        ("INFO", None, {"info"}),
        (None, "debug", {"info", "debug"}),
        ("warn", "Trace", {"info", "debug"}),
        ("info", "off", set()),
    ],
)
def test_which_levels_are_told(
    tmp_path: Path, block: str | None, variable: str | None, levels: set[str]
) -> None:
    home = home_with(tmp_path, block, {"TAILPIPE_LOG_LEVEL": variable} if variable else None)
    done = home.run("query", "select 1 as n", "--output", "json")
    assert (done.returncode, json.loads(done.stdout)["rows"]) == (0, [{"n": 1}])
    assert {level for level, _ in OWN_LINE.findall(done.stderr)} == levels
    assert OWN_LINE.sub("", done.stderr).strip() == ""


def test_a_level_that_is_not_known_costs_a_warning(tmp_path: Path) -> None:
    home = home_with(tmp_path, "inf", {"TAILPIPE_LOG_LEVEL": "loud"})
    done = home.run("query", "select 1", "--output", "csv")
    assert (done.returncode, done.stdout) == (0, "1\n1\n")
    assert 'warning: argument "log_level" of workspace "default" is not known: "inf"' in done.stderr
    assert 'hint: did you mean "info"?' in done.stderr
    assert done.stderr.count('warning: TAILPIPE_LOG_LEVEL "loud" is not known.') == 1


def test_an_error_shows_where_it_was_raised(tmp_path: Path) -> None:
    plain = home_with(tmp_path, None).run("query", "from nowhere")
    process = home_with(tmp_path, "debug").start("query", "from nowhere")
    _, told = process.communicate(timeout=60)
    assert plain.returncode == process.returncode == 1
    assert plain.stderr in told
    assert "debug Traceback" in told


@pytest.mark.parametrize(("engine", "sign"), [("sail", "INFO sail_"), ("spark", " INFO SparkContext: ")])
def test_a_run_and_its_engine_tell_what_they_do(tmp_path: Path, engine: str, sign: str) -> None:
    home = home_with(tmp_path, "info", {"TAILPIPE_ENGINE": engine})
    home.write("a.jsonl", line(datetime.now(UTC).isoformat()))
    with (tmp_path / "errors").open("w") as errors:
        process = home.start("collect", "--output", "json", "--progress=false", stderr=errors)
        output, _ = process.communicate(timeout=240)
    assert json.loads(output)["rows"]["stored"] == 1
    told = (tmp_path / "errors").read_text()
    own = [text for level, text in OWN_LINE.findall(told) if level == "info"]
    assert f"tables are in {home.data}" in own
    assert "app_log.one: 1 unit, 1 artifact, " in "\n".join(own)
    assert any("1 row stored from 1 artifact" in text for text in own)
    assert sign in told
