"""A Spark Connect server in another process, reached by `remote` in the workspace block."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from installed import APP, Home, line

SAIL = str(Path(sys.executable).with_name("sail"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server() -> Iterator[str]:
    port = free_port()
    command = [SAIL, "spark", "server", "--ip", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, env={**os.environ, "RUST_LOG": "off"})
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def workspace(url: str) -> str:
    return f'workspace "default" {{ remote = "{url}" }}\n'


def test_a_connect_server_runs_the_same_pipeline(tmp_path: Path, server: str) -> None:
    home = Home(tmp_path, environment={})
    home.configure(APP + workspace(server))
    home.write("app.jsonl", line("2024-06-01T00:00:00Z", "info") + "broken\n")
    summary = home.collect()
    assert summary["rows"]["stored"] == 1
    assert summary["rows"]["rejected"] == 1
    assert home.query("select level from app_log") == [{"level": "info"}]


def test_a_server_that_does_not_answer_is_named_at_once(tmp_path: Path) -> None:
    home = Home(tmp_path, environment={})
    url = f"sc://127.0.0.1:{free_port()}"
    home.configure(APP + workspace(f"{url}/;token=do-not-print"))
    home.write("app.jsonl", line("2024-06-01T00:00:00Z"))
    done = home.run("collect", "--from", "2024-01-01", timeout=60)
    assert done.returncode == 1
    assert f"no Spark Connect server answers at {url}:" in done.stderr
    assert "do-not-print" not in done.stderr + done.stdout
    assert "hint: check `remote`" in done.stderr
