"""Death inside the Delta library, where no Python can be wrapped: the kernel kills the command at a system call.

A log entry is written under another name, linked to its own, and the other name is removed; a checkpoint is renamed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from forks import EXIT_OF_THE_KILLED, TIMEOUT_SECONDS, Forks
from ledger import Ledger
from scenarios import Scenario, first_collection, long_history
from stages import check_recovery, copy_home, make_stage

from installed import COMMAND, Home

CHECKPOINT = f"{99:020d}.checkpoint.parquet"


@dataclass(frozen=True)
class Call:
    """The first system call of this name that touches the file in the log; it is not carried out."""

    name: str
    file: str

    @property
    def step(self) -> str:
        kind = "entry of the log" if ".json" in self.file else self.file.lstrip("0123456789.").rstrip("#1")
        return f"{self.name} of {kind}"


ENTRIES = [
    call
    for number in range(5)
    for call in (Call("linkat", f"{number:020d}.json"), Call("unlink", f"{number:020d}.json#1"))
]
CHECKPOINTS = [
    Call("openat", f"{CHECKPOINT}#1"),
    Call("rename", f"{CHECKPOINT}#1"),
    Call("openat", "_last_checkpoint#1"),
    Call("rename", "_last_checkpoint#1"),
]


@pytest.fixture(scope="module")
def strace() -> str:
    path = shutil.which("strace")
    if path is None:
        pytest.skip("strace is not installed")
    if subprocess.run([path, "-f", "-o", os.devnull, "true"], capture_output=True, check=False).returncode:
        pytest.skip("processes may not be traced here")
    return path


def run_killed(strace: str, home: Home, command: tuple[str, ...], call: Call) -> int:
    file = home.data / "app_log" / "_delta_log" / call.file
    options = ["-f", "-qq", "-o", os.devnull, "-P", str(file)]
    fault = ["-e", f"trace={call.name}", "-e", f"inject={call.name}:signal=SIGKILL:when=1+"]
    traced = [strace, *options, *fault, COMMAND, *command]
    ended = subprocess.run(
        traced, env=home.variables(), capture_output=True, timeout=TIMEOUT_SECONDS, check=False
    )
    return ended.returncode


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("scenario", "calls"),
    [
        (Scenario("first collection", first_collection), ENTRIES),
        (Scenario("long history", long_history), CHECKPOINTS),
    ],
    ids=["entries", "checkpoints"],
)
def test_dying_inside_a_commit(
    forks: Forks, ledger: Ledger, tmp_path: Path, strace: str, scenario: Scenario, calls: list[Call]
) -> None:
    stage = make_stage(forks, tmp_path / "stage", scenario)

    def die(numbered: tuple[int, Call]) -> None:
        number, call = numbered
        with ledger.entry(scenario.name, call.step):
            home = copy_home(stage.home, tmp_path / str(number))
            assert run_killed(strace, home, stage.command, call) == EXIT_OF_THE_KILLED, call
            check_recovery(forks, stage, home)

    forks.for_all(die, enumerate(calls))
