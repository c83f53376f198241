"""The installed command in a home of its own, as a user runs it: in a subprocess."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakes import FolderLake, StoredLake

COMMAND = str(Path(sys.executable).with_name("tailpipe"))
APP_TABLE = """
table "app_log" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "at" }
  column "level" {}
  column "size" { type = "int" }
}
"""
APP = APP_TABLE + 'partition "app_log" "one" { source "file" { paths = ["LOGS"] } }\n'


@dataclass(frozen=True)
class Home:
    """`elsewhere` is where its lake is, if it is not in the home itself."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=lambda: {"TAILPIPE_ENGINE": "sail"})
    elsewhere: StoredLake | None = None

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def data(self) -> Path:
        assert self.elsewhere is None
        return self.folder / "install" / "data" / "default"

    @property
    def lake(self) -> StoredLake:
        return self.elsewhere or FolderLake(self.data)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.logs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def configure(self, text: str) -> Path:
        path = self.folder / "install" / "config" / "main.tpc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._with_place(text.replace("LOGS", str(self.logs))))
        return path

    def _with_place(self, text: str) -> str:
        if self.elsewhere is None:
            return text
        block = 'workspace "default" {'
        text = text if block in text else f"{text}{block} }}\n"
        return text.replace(block, f'{block}\n  data_dir = "{self.elsewhere.uri}"\n')

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        standard = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(
            [COMMAND, *arguments], env=self.variables(), cwd=self.folder, **(standard | options)
        )

    def run(self, *arguments: str, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments)
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert "Traceback" not in errors, errors
        return subprocess.CompletedProcess(arguments, process.returncode, output, errors)

    def collect(self, *arguments: str) -> dict[str, Any]:
        """A collection that must succeed; its summary."""
        done = self.run("collect", "--from", "2024-01-01", "--output", "json", *arguments)
        assert done.returncode == 0, done.stderr + done.stdout
        summary: dict[str, Any] = json.loads(done.stdout)
        return summary

    def query(self, sql: str) -> list[dict[str, Any]]:
        done = self.run("query", sql, "--output", "json")
        assert done.returncode == 0, done.stderr
        rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
        return rows

    def variables(self) -> dict[str, str]:
        # An engine in this process may have set what an engine in the command would take for its own.
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TAILPIPE_", "AWS_")) and name != "RUST_LOG"
        }
        own = {"HOME": str(self.folder), "TAILPIPE_INSTALL_DIR": str(self.folder / "install")}
        return {**kept, **own, **self.lake.environment, **self.environment}


def line(at: str, level: str = "info", size: object = 1) -> str:
    return json.dumps({"at": at, "level": level, "size": size}) + "\n"
