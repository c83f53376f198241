"""Whatever lies in a folder of logs costs itself, is told, and leaves the rest to be listed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from odd_folders import as_nobody, make_deep, make_odd

from tailpipe.config.values import SourceConfig
from tailpipe.errors import ArtifactError
from tailpipe.records import Mark
from tailpipe.sources.artifact import Artifact, Skipped, Unlisted
from tailpipe.sources.file import make
from tailpipe.times import Window

ALWAYS = Window(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))


@pytest.fixture
def folder() -> Iterator[Path]:
    """Open to everybody, which the folders of pytest are not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "a.log").write_text("a\n")
    (folder / "z").mkdir()
    (folder / "z" / "z.log").write_text("z\n")
    yield folder
    # Python's own removal is not made for folders as deep as these.
    subprocess.run(["rm", "-rf", folder], check=True)


def listed(*paths: object) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Names that were taken, left out, and could not be looked at."""
    found = list(make(SourceConfig("file", "logs", {"paths": [str(path) for path in paths]})).list(ALWAYS))
    return (
        [os.path.basename(item.location) for item in found if isinstance(item, Artifact)],
        {os.path.basename(item.location): item.reason for item in found if isinstance(item, Skipped)},
        {os.path.basename(item.location): item.error for item in found if isinstance(item, Unlisted)},
    )


@pytest.mark.parametrize("pattern", ["", "*", "**", "**/*", "[!.]*"])
def test_things_that_are_no_logs_are_left_out_with_their_reason(folder: Path, pattern: str) -> None:
    reasons = make_odd(folder)
    taken, skipped, unlisted = listed(folder / pattern)
    assert (taken, skipped, unlisted) == (["a.log", "z.log"], reasons, {})


@pytest.mark.parametrize("pattern", ["", "*", "**", "**/*.log"])
def test_links_of_folders_in_a_circle_end(folder: Path, pattern: str) -> None:
    (folder / "z" / "up").symlink_to("..")
    (folder / "z" / "here").symlink_to(".")
    assert listed(folder / pattern)[0] == ["a.log", "z.log"]


def test_a_folder_may_be_called_like_a_packed_file(folder: Path) -> None:
    (folder / "x.gz").mkdir()
    (folder / "x.gz" / "x.log").write_text("x\n")
    assert listed(folder)[0] == ["a.log", "x.log", "z.log"]


@pytest.mark.parametrize("pattern", ["", "**", "**/*.log"])
def test_a_path_that_is_too_long_is_left_out(folder: Path, pattern: str) -> None:
    make_deep(folder, 30)
    taken, skipped, unlisted = listed(folder / pattern)
    assert (taken, unlisted) == (["a.log", "z.log"], {})
    assert set(skipped.values()) == {"path is too long"}


@pytest.mark.parametrize("pattern", ["", "**", "**/*.log"])
def test_folders_may_be_deeper_than_the_stack(folder: Path, pattern: str) -> None:
    make_deep(folder, 1_100, "d")
    (folder / "d" / "d" / "d.log").write_text("d\n")
    assert sorted(listed(folder / pattern)[0]) == ["a.log", "d.log", "z.log"]


@pytest.mark.parametrize("pattern", ["", "*", "**", "**/*.log"])
def test_a_folder_that_cannot_be_read_is_told_and_the_others_are_listed(folder: Path, pattern: str) -> None:
    (folder / "secret").mkdir(mode=0o700)
    (folder / "secret" / "s.log").write_text("s\n")
    os.chmod(folder / "secret", 0)
    with as_nobody():
        assert listed(folder / pattern) == (["a.log", "z.log"], {}, {"secret": "Permission denied"})


def test_a_link_into_a_closed_folder_is_told(folder: Path) -> None:
    (folder / "z" / "log").symlink_to(folder / "secret" / "s.log")
    (folder / "secret").mkdir(mode=0)
    with as_nobody():
        assert listed(folder / "z") == (["z.log"], {}, {"log": "Permission denied"})


@pytest.mark.parametrize("name", ["secret", "secret/s.log", "secret/*.log"])
def test_a_closed_path_is_not_called_missing(folder: Path, name: str) -> None:
    (folder / "secret").mkdir(mode=0o700)
    (folder / "secret" / "s.log").write_text("s\n")
    os.chmod(folder / "secret", 0)
    with as_nobody():
        taken, _, unlisted = listed(folder / name, folder / "a.log")
    assert (taken, list(unlisted.values())) == (["a.log"], ["Permission denied"])


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("itself", "Too many levels of symbolic links"),
        ("gone", "the link leads to nowhere.log, which does not exist"),
        ("a.log/b", "there is no such file or folder"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_path_of_the_configuration_is_never_left_out_quietly(folder: Path, name: str, error: str) -> None:
    make_odd(folder)
    assert list(listed(folder / name)[2].values()) == [error]


def test_names_may_hold_anything_that_is_text(folder: Path) -> None:
    names = [
        "new\nline.log",
        "red\x1b[31m.log",
        "tab\t.log",
        "%20.log",
        "-rf.log",
        "ü" * 100 + ".log",
        "'\".log",
    ]
    for name in names:
        (folder / name).write_text("x\n")
    assert set(listed(folder)[0]) == {"a.log", "z.log", *names}


def test_a_pipe_in_the_place_of_a_known_file_is_not_waited_for(folder: Path) -> None:
    source = make(SourceConfig("file", "logs", {"paths": [str(folder / "a.log")]}))
    (artifact,) = source.list(ALWAYS)
    assert isinstance(artifact, Artifact)
    (folder / "a.log").unlink()
    os.mkfifo(folder / "a.log")
    assert source.head(artifact.location) is None
    assert not source.holds(artifact.location, Mark(1, 1, "", ""))
    assert not source.goes_on_at_line_end(artifact.location, Mark(1, 1, "", ""))
    with pytest.raises(ArtifactError, match="after it was listed"), source.open(artifact):
        pass
