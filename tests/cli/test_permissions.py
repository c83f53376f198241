"""Who may read what a collection leaves: the user alone, unless the folder of tables was made for others too."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from installed import APP, COMMAND, Home, line


def collect(home: Home, umask: int = 0o022) -> None:
    home.configure(APP)
    home.write("app.jsonl", line("2024-06-01T00:00:00Z") + "broken\n")
    done = subprocess.run(
        [COMMAND, "collect", "--from", "2024-01-01"],
        env=home.variables(),
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def modes(folder: Path) -> tuple[set[str], set[str]]:
    """Permissions of the folders and of the files below a folder."""
    found: tuple[set[str], set[str]] = (set(), set())
    for path in folder.rglob("*"):
        found[path.is_file()].add(oct(stat.S_IMODE(path.stat().st_mode)))
    return found


def test_a_lake_is_of_the_user_alone(home: Home) -> None:
    collect(home)
    assert modes(home.data) == ({"0o700"}, {"0o600"})
    assert stat.S_IMODE(home.data.stat().st_mode) == 0o700
    assert stat.S_IMODE(home.data.parent.stat().st_mode) == 0o700


def test_a_lake_is_as_open_as_the_folder_that_was_made_for_it(home: Home) -> None:
    home.data.mkdir(parents=True)
    os.chmod(home.data, 0o2770)
    collect(home)
    assert modes(home.data) == ({"0o2770"}, {"0o660"})


def test_others_never_write_a_lake(home: Home) -> None:
    home.data.mkdir(parents=True)
    os.chmod(home.data, 0o777)
    collect(home, umask=0)
    assert modes(home.data) == ({"0o775"}, {"0o664"})


def test_what_a_killed_query_spilled_goes_with_the_next(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    home = Home(tmp_path, {"TMPDIR": str(temporary), "TAILPIPE_MEMORY_MAX_MB": "256"})
    process = home.start("query", "create temp table t as select hash(i) as h from range(1000000000) t(i)")
    while not any(path.stat().st_size > 1_000_000 for path in temporary.rglob("*") if path.is_file()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    (folder,) = temporary.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    process.kill()
    process.communicate()
    assert folder.exists()
    assert home.run("query", "select 1").returncode == 0
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_lake_that_spark_writes_is_of_the_user_alone(tmp_path: Path) -> None:
    home = Home(tmp_path, {})
    collect(home)
    assert modes(home.data) == ({"0o700"}, {"0o600"})
