"""The README and the guides do what they say: their files are written, their commands run, their outputs compared.

A page is one shell session. ```sh blocks are run in order, unless a comment `<!-- not run: why -->` stands above;
```<language> file=<path> blocks are written first; ```text output is what the block of commands before it prints.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT, Block, blocks

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/guides").glob("*.md"))]
MARK = "\x1e"

# Times, sizes of files and paths differ from run to run and from machine to machine.
_VARYING = (
    (re.compile(r"\(\d+\.\d s(, [\d,]+ rows/s)?\)"), "(… s)"),
    (re.compile(r"[\d,.]+ (B|kB|MB) (read|stored)"), r"… \2"),
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    found = list(blocks(page))
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for block in found:
        if block.file:
            file = tmp_path / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
    run = [block for block in found if block.language == "sh" and block.is_run]
    assert run, f"{page.name} has no commands"
    printed = _run(run, tmp_path)
    for commands, output in _expectations(found):
        shown = printed[commands.line].replace(str(tmp_path), "…")
        assert _steady(shown) == _steady(output.text), f"{page.name}:{commands.line}"


def _run(run: list[Block], folder: Path) -> dict[int, str]:
    """What each block printed, by its line. Stops at the first command that fails."""
    script = "set -e\n" + f"printf '{MARK}'\n".join(block.text for block in run)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "TAILPIPE_ENGINE": "sail",
    }
    for name in ("TAILPIPE_INSTALL_DIR", "TAILPIPE_CONFIG_PATH", "TAILPIPE_WORKSPACE"):
        environment.pop(name, None)
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    outputs = done.stdout.split(MARK)
    assert done.returncode == 0, f"after line {run[len(outputs) - 1].line}:\n{outputs[-1]}\n{done.stderr}"
    return {block.line: output for block, output in zip(run, outputs, strict=True)}


def _expectations(found: list[Block]) -> list[tuple[Block, Block]]:
    pairs = []
    for before, block in zip(found, found[1:], strict=False):
        if block.is_output:
            assert before.language == "sh", f"line {block.line}: an output without commands before it"
            pairs.append((before, block))
    return pairs


def _steady(text: str) -> str:
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return text.strip()
