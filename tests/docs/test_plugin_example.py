"""The example plugin of the reference, installed as a package of its own, then listed and collected with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from documents import ROOT, blocks
from test_examples import check_outputs, run_blocks, write_files

PAGE = ROOT / "docs/reference/plugins.md"


def test_the_example_plugin_works(tmp_path: Path) -> None:
    found = list(blocks(PAGE))
    write_files(found, tmp_path)
    library = tmp_path / "library"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    offline = ["--no-deps", "--no-build-isolation", "--target", str(library), str(tmp_path / "doors")]
    subprocess.run([*install, *offline], check=True, capture_output=True)
    paths = [str(library), *filter(None, [os.environ.get("PYTHONPATH")])]
    printed = run_blocks(found, tmp_path, PYTHONPATH=os.pathsep.join(paths))
    check_outputs(PAGE, found, printed, tmp_path)
