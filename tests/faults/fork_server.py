"""A process that has loaded all that the command needs, and forks a child for every run of it.

Saves a second of imports per run. It starts no engine and no thread of its own, so that children are as good as new.
Speaks JSON lines: a request on standard input, an answer on standard output.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from clock import shift_clock
from steps import EXIT_OF_THE_DEAD, Steps, install, read_incident

# DuckDB is not among them: it starts a thread when it is loaded, which a fork would lose.
MODULES = (
    "grpc",
    "numpy",
    "pandas",
    "pyarrow.compute",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "deltalake",
    "pysail.spark",
    "pyspark.sql.connect.session",
    "tailpipe.cli.main",
    "tailpipe.cli.setup",
    "tailpipe.collect.execute",
    "tailpipe.collect.run",
)
LOOK_SECONDS = 0.002


def main() -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for module in MODULES:
        importlib.import_module(module)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_serve(json.loads(line))) + "\n")
        sys.stdout.flush()


def _serve(request: dict[str, Any]) -> dict[str, Any]:
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        _run(request)
    status = _wait(child, request)
    return {"code": os.waitstatus_to_exitcode(status), "seconds": time.monotonic() - started}


def _wait(child: int, request: dict[str, Any]) -> int:
    killed_after, sign = request["kill_after_seconds"], request["kill_sign"]
    deadline = time.monotonic() + (request["timeout_seconds"] if killed_after is None else killed_after)
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        if time.monotonic() > deadline or (sign and os.path.exists(sign)):
            os.kill(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1]
        time.sleep(LOOK_SECONDS)


def _run(request: dict[str, Any]) -> NoReturn:
    """In the child: the command as installed, with every step counted."""
    folder = Path(request["folder"])
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(folder)
    steps = Steps(read_incident(request["incident"]) if request["incident"] else None)
    _count_before_exit(steps, folder / "steps.json")
    code = 1
    try:
        code = _command(request, steps)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _count_before_exit(steps: Steps, path: Path) -> None:
    """The command may end itself where an engine is loaded, as it always is here."""
    leave = os._exit

    def counted(code: int) -> NoReturn:
        if code != EXIT_OF_THE_DEAD:
            steps.write_counts(path)
        leave(code)

    os._exit = counted


def _command(request: dict[str, Any], steps: Steps) -> int:
    from tailpipe.cli.main import run

    install(steps, request["logs"], is_query="query" in request["arguments"])
    if request["clock_shift_days"]:
        shift_clock(request["clock_shift_days"])
    try:
        run(request["arguments"])
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


if __name__ == "__main__":
    main()
