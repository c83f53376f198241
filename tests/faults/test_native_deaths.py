"""Death inside the Delta library, where no Python can be wrapped: the kernel kills the command at a system call.

A log entry is written under another name, linked to its own, and the other name is removed; a checkpoint is renamed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from forks import EXIT_OF_THE_KILLED, TIMEOUT_SECONDS, Forks
from ledger import Ledger
from scenarios import Scenario, first_collection, long_history
from stages import Stage, check_recovery, copy_home, make_stage

from installed import COMMAND, Home


@dataclass(frozen=True)
class Call:
    """The first system call of this name that touches the file in the log; it is not carried out."""

    name: str
    file: str

    @property
    def step(self) -> str:
        kind = "entry of the log" if ".json" in self.file else self.file.lstrip("0123456789.").rstrip("#1")
        return f"{self.name} of {kind}"


def calls_of_entries(stage: Stage) -> list[Call]:
    return [
        call
        for number in range(stage.clean.steps["commit (driver)"] + 1)
        for call in (Call("linkat", f"{number:020d}.json"), Call("unlink", f"{number:020d}.json#1"))
    ]


def calls_of_checkpoints(stage: Stage) -> list[Call]:
    """Of the first checkpoint that the command writes."""
    logs = [home.data / "app_log" / "_delta_log" for home in (stage.home, Home(stage.home.folder / "clean"))]
    before, after = ({path.name for path in log.glob("*.checkpoint.parquet")} for log in logs)
    return [
        Call(name, f"{file}#1")
        for file in (min(after - before), "_last_checkpoint")
        for name in ("openat", "rename")
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
    ("scenario", "find_calls"),
    [
        (Scenario("first collection", first_collection), calls_of_entries),
        (Scenario("long history", long_history), calls_of_checkpoints),
    ],
    ids=["entries", "checkpoints"],
)
def test_dying_inside_a_commit(
    forks: Forks,
    ledger: Ledger,
    tmp_path: Path,
    strace: str,
    scenario: Scenario,
    find_calls: Callable[[Stage], list[Call]],
) -> None:
    stage = make_stage(forks, tmp_path / "stage", scenario)

    def die(numbered: tuple[int, Call]) -> None:
        number, call = numbered
        with ledger.entry(scenario.name, call.step):
            home = copy_home(stage.home, tmp_path / str(number))
            assert run_killed(strace, home, stage.command, call) == EXIT_OF_THE_KILLED, call
            check_recovery(forks, stage, home)

    forks.for_all(die, enumerate(find_calls(stage)))
