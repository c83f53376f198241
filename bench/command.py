"""The installed `tailpipe collect`, as a user would run it, in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from bench.measure import CommandFailed, Measurement, measured


@dataclass(frozen=True)
class Site:
    """A configuration and a lake below one folder, or a lake elsewhere, which the environment says how to reach."""

    folder: Path
    data_uri: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        return self.folder / "config"

    @property
    def data_dir(self) -> Path:
        return self.folder / "install" / "data" / "default"

    @property
    def lake(self) -> str:
        return self.data_uri or str(self.data_dir)

    @property
    def variables(self) -> dict[str, str]:
        return {**os.environ, **self.environment, "TAILPIPE_INSTALL_DIR": str(self.folder / "install")}

    def configure(self, text: str) -> None:
        self.config.mkdir(exist_ok=True)
        place = f'workspace "default" {{\n  data_dir = "{self.data_uri}"\n}}\n\n' if self.data_uri else ""
        (self.config / "bench.tpc").write_text(place + text)

    def command(self, *words: str) -> list[str]:
        return [_installed(), *words, "--config-path", str(self.config)]

    def collect(self, engine: str, days: Sequence[date]) -> tuple[Measurement, dict[str, Any]]:
        """From the first to the last day, and what the command says of itself."""
        window = ["--from", min(days).isoformat(), "--to", max(days).isoformat()]
        options = ["--engine", engine, "--progress=false", "--output", "json"]
        command = self.command("collect", *window, *options)
        measurement = measured(command, self.variables, self.folder / "errors")
        return measurement, json.loads(measurement.output)


def partition(table: str, folder: Path, layout: str | None) -> str:
    """One partition that takes all files below a folder."""
    file_layout = f"file_layout = `{layout}`" if layout else ""
    return f"""partition "{table}" "bench" {{
  source "file" {{
    paths = ["{folder}"]
    {file_layout}
  }}
}}
"""


def _installed() -> str:
    beside = Path(sys.executable).with_name("tailpipe")
    command = str(beside) if beside.exists() else shutil.which("tailpipe")
    if command is None:
        raise CommandFailed("the command tailpipe is not installed")
    return command
