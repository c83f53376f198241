"""The process that `tailpipe collect` is: what a terminal shows, who listens, and what is left when it ends."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from installed import APP, Home, line
from stranger import listening_ports

LOOPBACK = ("127.0.0.1", "::1", "::ffff:127.0.0.1")
PATIENCE_SECONDS = 120


@pytest.fixture
def long_run(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a collection that takes seconds on the engine that is named."""
    started: list[subprocess.Popen[str]] = []
    content = line("2024-06-01T00:00:00Z") * 60_000

    def start(engine: str, **options: Any) -> subprocess.Popen[str]:
        home = Home(tmp_path, {"TAILPIPE_ENGINE": engine, "TMPDIR": str(tmp_path / "tmp")})
        (tmp_path / "tmp").mkdir()
        home.configure(APP)
        for number in range(40):
            home.write(f"{number}.jsonl", content)
        started.append(home.start("collect", "--from", "2024-01-01", **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def commands(process: subprocess.Popen[str]) -> dict[psutil.Process, str]:
    """Every process below this one with its command line."""
    found = {}
    try:
        for child in psutil.Process(process.pid).children(recursive=True):
            found[child] = " ".join(child.cmdline())
    except psutil.Error:
        pass
    return found


def wait_until(process: subprocess.Popen[str], is_reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def counts_are_written(folder: Path) -> bool:
    """Tasks of a running job leave their counts below the temporary folder."""
    return any(folder.glob("tailpipe-counts-*/*.json"))


def test_a_terminal_shows_what_it_is_waiting_for(home: Home) -> None:
    home.configure(APP)
    for number in range(4):
        home.write(f"{number}.jsonl", line("2024-06-01T00:00:00Z") * 20_000)
    parent, child = pty.openpty()
    process = home.start("collect", "--from", "2024-01-01", stderr=child, stdin=child)
    os.close(child)
    shown = read_all(parent)
    output, _ = process.communicate(timeout=PATIENCE_SECONDS)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert process.returncode == 0, text
    assert "starting Sail" in text
    assert "app_log.one" in text
    assert "Traceback" not in text
    assert "stored 80,000" in output
    assert "\x1b" not in output


@pytest.mark.parametrize("pause_seconds", [0.0, 0.4])
def test_ctrl_c_twice_leaves_the_terminal_as_it_was(
    long_run: Callable[..., subprocess.Popen[str]], pause_seconds: float
) -> None:
    """Typed into the terminal, so that the whole process group gets it."""
    parent, child = pty.openpty()
    process = long_run("sail", preexec_fn=lambda: os.login_tty(child))
    os.close(child)
    before = read_until(parent, "━")
    os.write(parent, b"\x03")
    time.sleep(pause_seconds)
    os.write(parent, b"\x03")
    shown = before + read_all(parent)
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, shown
    assert "\x1b[?25l" not in shown
    assert "━" not in shown.rpartition("\x1b[2K")[2]
    assert "Traceback" not in shown


def read_until(terminal: int, text: str) -> str:
    shown = b""
    while text.encode() not in shown:
        shown += os.read(terminal, 4096)
    return shown.decode(errors="replace")


def read_all(terminal: int) -> str:
    parts = []
    while select.select([terminal], [], [], PATIENCE_SECONDS)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(terminal)
    return b"".join(parts).decode(errors="replace")


def test_spark_listens_on_loopback_only_and_leaves_no_process(tmp_path: Path) -> None:
    home = Home(tmp_path, {"TMPDIR": str(tmp_path / "tmp")})
    (tmp_path / "tmp").mkdir()
    home.configure(APP)
    home.write("app.jsonl", line("2024-06-01T00:00:00Z") * 1000 + "bad\n")
    process = home.start("collect", "--from", "2024-01-01")
    children: dict[psutil.Process, str] = {}
    listening: set[str] = set()
    while process.poll() is None:
        now = commands(process)
        children |= now
        for one in (psutil.Process(process.pid), *now):
            listening |= listening_addresses(one)
        time.sleep(0.2)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "starting Spark" in errors
    assert "rows in 1,001 = stored 1,000 + filtered 0 + rejected 1" in output
    assert any("SparkSubmit" in command for command in children.values())
    assert listening
    assert listening <= set(LOOPBACK)
    assert psutil.wait_procs(list(children), timeout=30)[1] == []
    assert list((tmp_path / "tmp").glob("tailpipe-*")) == []
    assert home.query("select count(*)::int as n from app_log") == [{"n": 1000}]


def listening_addresses(process: psutil.Process) -> set[str]:
    try:
        sockets = process.net_connections(kind="inet")
    except psutil.Error:
        return set()
    return {socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN}


def test_sail_does_not_listen_while_it_collects(
    long_run: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = long_run("sail")
    wait_until(process, lambda: counts_are_written(tmp_path / "tmp"))
    assert listening_ports(process.pid) == set()


@pytest.mark.parametrize(
    ("engine", "number", "moment"),
    [
        ("sail", signal.SIGINT, "job"),
        ("sail", signal.SIGTERM, "job"),
        ("spark", signal.SIGTERM, "start"),
        ("spark", signal.SIGINT, "job"),
    ],
)
def test_a_signal_ends_the_run_and_all_it_started(
    long_run: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
    engine: str,
    number: signal.Signals,
    moment: str,
) -> None:
    process = long_run(engine)
    temporary = tmp_path / "tmp"
    reached = {
        "start": lambda: any("SparkSubmit" in command for command in commands(process).values()),
        "job": lambda: counts_are_written(temporary),
    }
    wait_until(process, reached[moment])
    children = list(commands(process))
    process.send_signal(number)
    output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, errors
    kept = {
        "start": r"Nothing was committed yet: run the same command again\.",
        "job": r"1 unit with [\d,]+0,000 rows committed .* kept\. The next run takes up the rest\.",
    }
    assert re.search(f"Interrupted. {kept[moment]}\n$", errors), errors
    assert "Traceback" not in errors
    assert output == ""
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert list(temporary.glob("tailpipe-*")) == []
