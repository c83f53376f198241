"""The README and the guides do what they say: their files are written, their commands run, outputs compared.

A page is one shell session. ```sh blocks run in order, unless a comment `<!-- not run: why -->` stands above;
```<language> file=<path> blocks are written first; ```text output is what the commands before it print.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from documents import ROOT, Block, blocks

from object_store import ObjectStore

GUIDES = sorted((ROOT / "docs/guides").glob("*.md"))
# What its pages say of buckets is tried with a real one.
WITH_A_STORE = ROOT / "docs/guides/object-stores.md"
PAGES = [ROOT / "README.md", *(page for page in GUIDES if page != WITH_A_STORE)]
MARK = "\x1e"

# Times differ from run to run; sizes, numbers of files and ids, which follow from paths, from machine to machine.
_VARYING = (
    (re.compile(r" +"), " "),
    (re.compile(r"\(\d+\.\d s(, [\d,]+ rows/s)?\)"), "(… s)"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}Z|\+00:00)"), "…"),
    (re.compile(r"of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"), "of …"),
    (re.compile(r"\d+ [\d,.]+ (B|kB|MB)(?= …$|$)", re.M), "… …"),
    (re.compile(r"[\d,.]+ (B|kB|MB)"), "…"),
    (re.compile(r"\d+ files?"), "… files"),
    (re.compile(r"\b[0-9a-v]{12}0000[0-9a-v]{4}\b"), "…"),
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    found = list(blocks(page))
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    write_files(found, tmp_path)
    check_outputs(page, found, run_blocks(found, tmp_path), tmp_path)


def test_the_page_on_object_stores_does_what_it_says(tmp_path: Path, object_store: ObjectStore) -> None:
    found = list(blocks(WITH_A_STORE))
    write_files(found, tmp_path)
    printed = run_blocks(found, tmp_path, **object_store.environment)
    check_outputs(WITH_A_STORE, found, printed, tmp_path)


def write_files(found: list[Block], folder: Path) -> None:
    for block in found:
        if block.file:
            file = folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")


def run_blocks(found: list[Block], folder: Path, **variables: str) -> dict[int, str]:
    """What each block of commands printed, by its line. Stops at the first command that fails."""
    run = [block for block in found if block.language == "sh" and block.is_run]
    assert run, "the page has no commands"
    script = "set -e\n" + f"printf '{MARK}'\n".join(block.text for block in run)
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env={**_environment(folder), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    outputs = done.stdout.split(MARK)
    assert done.returncode == 0, f"line {run[len(outputs) - 1].line}:\n{outputs[-1]}\n{done.stderr}"
    return {block.line: output for block, output in zip(run, outputs, strict=True)}


def check_outputs(page: Path, found: list[Block], printed: dict[int, str], folder: Path) -> None:
    for commands, output in pairwise(found):
        if output.is_output:
            shown = printed[commands.line].replace(str(folder), "…")
            assert _steady(shown) == _steady(output.text), f"{page.name}:{commands.line}"


def _environment(folder: Path) -> dict[str, str]:
    """That of a user who just installed Tailpipe, but for the engine that starts faster."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TAILPIPE_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "HOME": str(folder), "TAILPIPE_ENGINE": "sail"}


def _steady(text: str) -> str:
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return text.strip()
