from __future__ import annotations

import os
import pickle
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.config.values import SourceConfig
from tailpipe.errors import ConfigError, Position
from tailpipe.sources.artifact import Artifact, Skipped, Unlisted
from tailpipe.sources.file import FileSource, make
from tailpipe.times import Window

MARCH = Window(datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 4, 1, tzinfo=UTC))


def source(*paths: object, **arguments: object) -> FileSource:
    return make(SourceConfig("file", "logs", {"paths": [str(path) for path in paths], **arguments}))


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")


def taken(files: FileSource, folder: Path) -> list[str]:
    found = [item for item in files.list(MARCH) if isinstance(item, Artifact)]
    return [os.path.relpath(item.location, folder) for item in found]


def skipped(files: FileSource, folder: Path) -> dict[str, str]:
    found = [item for item in files.list(MARCH) if isinstance(item, Skipped)]
    return {os.path.relpath(item.location, folder): item.reason for item in found}


def test_folders_are_taken_whole_and_in_order(tmp_path: Path) -> None:
    write(tmp_path, "b/2.log", "b/10.log", "a.log", ".hidden/x.log", "c/d/e.log")
    assert taken(source(tmp_path), tmp_path) == [".hidden/x.log", "a.log", "b/10.log", "b/2.log", "c/d/e.log"]


def test_an_artifact_says_size_version_and_place(tmp_path: Path) -> None:
    write(tmp_path, "a.log")
    status = (tmp_path / "a.log").stat()
    os.utime(tmp_path / "a.log", ns=(0, 1_709_251_199_999_999_999))
    (artifact,) = source(tmp_path / "a.log").list(MARCH)
    assert artifact == Artifact(
        str(tmp_path / "a.log"),
        2,
        f"1709251199999999999-2-{status.st_ino}",
        modified=datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.log", ["a.log"]),
        ("**/*.log", ["a.log", "b/c.log", "b/d/e.log"]),
        ("b/*", ["b/c.log", "b/d/e.log"]),
        ("b/**", ["b/c.log", "b/d/e.log"]),
        ("[ab].log", ["a.log"]),
        ("?/?.log", ["b/c.log"]),
    ],
)
def test_globs(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    write(tmp_path, "a.log", "b/c.log", "b/d/e.log", "x.txt")
    assert taken(source(tmp_path / pattern), tmp_path) == expected


def test_a_file_whose_name_looks_like_a_glob_is_a_file(tmp_path: Path) -> None:
    write(tmp_path, "a[1].log", "a1.log")
    assert taken(source(tmp_path / "a[1].log"), tmp_path) == ["a[1].log"]


def test_paths_may_be_relative_or_below_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.log")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert source("a.log").paths == source("~/a.log").paths == (str(tmp_path / "a.log"),)


def test_a_file_that_several_paths_reach_comes_once(tmp_path: Path) -> None:
    write(tmp_path, "a/x.log")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    files = source(tmp_path / "a", tmp_path, tmp_path / "a/x.log", tmp_path / "**/*.log")
    assert taken(files, tmp_path) == ["a/x.log"]


def test_equal_files_at_two_places_are_two(tmp_path: Path) -> None:
    write(tmp_path, "a.log", "b.log")
    assert taken(source(tmp_path), tmp_path) == ["a.log", "b.log"]


def test_layouts_choose_date_and_explain(tmp_path: Path) -> None:
    write(
        tmp_path, "web/2024/03/07/a.log", "web/2024/04/01/b.log", "web/2024/03/x.txt", "web/2024/02/30/c.log"
    )
    (tmp_path / "web/2024/03/08").mkdir()
    (tmp_path / "web/2024/03/08/empty.log").touch()
    os.mkfifo(tmp_path / "pipe.log")
    layout = "%{WORD:app}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.log"
    files = source(tmp_path, file_layout=layout)
    (found,) = [item for item in files.list(MARCH) if isinstance(item, Artifact) and item.span]
    assert found.span == Window(datetime(2024, 3, 7, tzinfo=UTC), datetime(2024, 3, 8, tzinfo=UTC))
    assert found.captures == {"app": "web", "year": "2024", "month": "03", "day": "07"}
    assert taken(files, tmp_path) == ["web/2024/02/30/c.log", "web/2024/03/07/a.log"]
    assert skipped(files, tmp_path) == {
        "pipe.log": "not a regular file",
        "web/2024/03/08/empty.log": "empty",
        "web/2024/03/x.txt": "layout",
        "web/2024/04/01": "folder outside window",
    }
    flat = source(
        tmp_path / "web/2024/*/*/*.log", file_layout="%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA:name}.log$"
    )
    assert skipped(flat, tmp_path) == {"web/2024/03/08/empty.log": "empty"}


def test_files_outside_the_window_are_named_where_only_their_name_tells(tmp_path: Path) -> None:
    write(tmp_path, "a-2024-03-01.log", "a-2024-02-29.log")
    files = source(tmp_path, file_layout="%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.log")
    assert taken(files, tmp_path) == ["a-2024-03-01.log"]
    assert skipped(files, tmp_path) == {"a-2024-02-29.log": "outside window"}


def test_the_tables_layout_holds_where_the_source_names_none(tmp_path: Path) -> None:
    write(tmp_path, "a.log", "b.json")
    config = SourceConfig("file", "logs", {"paths": [str(tmp_path)]})
    assert taken(make(config, ".json$"), tmp_path) == ["b.json"]
    own = SourceConfig("file", "logs", {"paths": [str(tmp_path)], "file_layout": ".log"})
    assert taken(make(own, ".json$"), tmp_path) == ["a.log"]


@pytest.mark.parametrize("name", ["gone", "gone/deeper/x.log"])
def test_a_missing_path_is_told_and_costs_only_itself(tmp_path: Path, name: str) -> None:
    write(tmp_path, "a.log")
    assert next(source(tmp_path / name, tmp_path / "a.log").list(MARCH)) == Unlisted(
        str(tmp_path / name),
        "there is no such file or folder",
        f"{tmp_path} exists; check the rest of the path, and that this machine sees it",
    )
    assert taken(source(tmp_path / name, tmp_path / "a.log"), tmp_path) == ["a.log"]


def test_a_glob_without_matches_is_told(tmp_path: Path) -> None:
    (found,) = source(tmp_path / "*.log").list(MARCH)
    assert isinstance(found, Unlisted)
    assert (found.location, found.error) == (f"{tmp_path}/*.log", "nothing matches")


@pytest.mark.parametrize("path", ["", " ", "\t\n", "a\0b"])
def test_a_path_without_a_name_is_an_error_of_the_configuration(path: str) -> None:
    with pytest.raises(ConfigError, match="is not a path\nhint: name a file, a folder or a glob"):
        source("/var/log", path)


def test_a_source_without_paths_is_an_error_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match="paths: the list is empty"):
        source()


def test_relative_paths_and_the_home_start_where_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    found = source(".", "logs", "~", "~/logs").paths
    assert found == tuple(str(tmp_path / name) for name in (".", "logs", "home", "home/logs"))


def test_a_bad_layout_points_into_the_configuration(tmp_path: Path) -> None:
    arguments = {"paths": [str(tmp_path)], "file_layout": "%{YAER:year}"}
    where = Position("a.tpc", 4, 19)
    with pytest.raises(ConfigError) as caught:
        make(SourceConfig("file", "logs", arguments, argument_positions={"file_layout": where}))
    assert str(caught.value) == (
        "a.tpc:4:19: file_layout: grok pattern YAER is not known\nhint: did you mean YEAR?"
    )


def test_a_source_travels_to_executors(tmp_path: Path) -> None:
    files = source(tmp_path, file_layout="%{YEAR:year}/%{DATA}")
    assert pickle.loads(pickle.dumps(files)) == files


def test_a_name_that_is_no_text_is_left_out_and_told(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/odd\xff.log", "w") as file:
        file.write("x\n")
    (tmp_path / "good.log").write_text("x\n")
    files = source(tmp_path)
    assert taken(files, tmp_path) == ["good.log"]
    assert skipped(files, tmp_path) == {"odd\ufffd.log": "name is not UTF-8"}
