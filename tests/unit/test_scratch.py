"""Temporary folders: nobody else can look inside, and none stays behind for long."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailpipe.errors import TailpipeError
from tailpipe.scratch import scratch_folder, sweep

LEAVE_BEHIND = """
import os, sys
from tailpipe.scratch import scratch_folder
with scratch_folder("test") as folder:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "rows").write_bytes(b"1" * 1000)
    (folder / "link").symlink_to(sys.argv[1])
    print(folder, flush=True)
    if len(sys.argv) > 2:
        sys.stdin.read()
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def start(target: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", LEAVE_BEHIND, str(target), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_folder_is_of_the_user_alone_and_goes_with_the_block(temporary: Path) -> None:
    before = os.umask(0)
    try:
        with scratch_folder("test") as folder:
            assert folder.parent == temporary
            assert folder.stat().st_mode & 0o777 == 0o700
            (folder / "rows").write_text("1")
    finally:
        os.umask(before)
    assert list(temporary.iterdir()) == []


def test_names_cannot_be_foreseen() -> None:
    with scratch_folder("test") as one, scratch_folder("test") as other:
        assert one != other
        assert str(os.getpid()) not in one.name


def test_what_a_killed_process_left_is_swept_and_links_in_it_are_not_followed(
    temporary: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "rows").write_text("1")
    process = start(precious)
    process.communicate()
    assert len(list(temporary.iterdir())) == 1
    sweep(temporary)
    assert list(temporary.iterdir()) == []
    assert (precious / "rows").read_text() == "1"


def test_folders_of_living_processes_stay(temporary: Path, tmp_path: Path) -> None:
    process = start(tmp_path, "wait")
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    with scratch_folder("test") as own:
        sweep(temporary)
        assert own.exists()
    assert (folder / "deep" / "er" / "rows").exists()
    process.communicate()
    sweep(temporary)
    assert not folder.exists()


def test_what_is_not_ours_stays(temporary: Path, tmp_path: Path) -> None:
    (temporary / "tailpipe-notes").mkdir()
    (temporary / "tailpipe-notes" / "mine").write_text("1")
    (temporary / "tailpipe-file").write_text("1")
    process = start(tmp_path)
    left = Path(process.communicate()[0].strip())
    moved = tmp_path / "elsewhere"
    left.rename(moved)
    (temporary / "tailpipe-link").symlink_to(moved)
    sweep(temporary)
    assert {path.name for path in temporary.iterdir()} == {"tailpipe-notes", "tailpipe-file", "tailpipe-link"}
    assert (temporary / "tailpipe-notes" / "mine").exists()
    assert (moved / "deep").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_folders_of_other_users_stay(temporary: Path, tmp_path: Path) -> None:
    left = Path(start(tmp_path).communicate()[0].strip())
    os.chown(left, 65534, 65534)
    sweep(temporary)
    assert left.exists()


def test_no_room_for_one_is_told_in_a_sentence(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(temporary / "missing"))
    with pytest.raises(TailpipeError, match="no temporary folder can be made"), scratch_folder("test"):
        pass
