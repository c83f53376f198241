"""Commands need the part of the configuration that they use; what is wrong elsewhere is a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from installed import APP, Home, line

BAD = {
    "connection": 'connection "aws" "x" {\n  profil = "p"\n}\n',
    "format": 'format "nope" "x" {\n}\n',
    "table": 'table "other" {\n  column "a" {\n    type = "no such type"\n  }\n}\n',
    "transform": 'table "other" {\n  column "tp_timestamp" {\n    transform = "no_such_function(at)"\n  }\n}\n',
    "workspace": 'workspace "other" {\n  data_dir = "gs://bucket/lake"\n}\n',
    "partition": 'partition "app_log" "two" {\n  source "fil" {\n  }\n}\n',
    "unclosed": 'partition "app_log" "two" {\n',
    "no block": "what is this?\n",
}
COMMANDS = [
    ("query", "select 1"),
    ("plugin", "list"),
    ("table", "list"),
    ("partition", "list"),
    ("source", "list"),
    ("format", "list"),
    ("connection", "list"),
    ("coverage",),
    ("rejects", "list"),
    ("collect", "app_log.one", "--dry-run"),
]


def test_what_is_wrong_elsewhere_is_a_warning(home: Home) -> None:
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    path = home.configure("\n".join(BAD.values()) + APP)
    for command in COMMANDS:
        done = home.run(*command)
        assert done.returncode == 0, (command, done.stderr)
        assert f"{path}:2:3: warning: connection" in done.stderr, command
    assert home.collect("app_log.one")["rows"]["stored"] == 1
    done = home.run("config", "check")
    assert (done.returncode, done.stdout) == (2, "")
    assert "warning: " not in done.stderr


@pytest.mark.parametrize("name", BAD)
def test_check_finds_it(home: Home, name: str) -> None:
    path = home.configure(APP + BAD[name])
    done = home.run("config", "check")
    assert done.returncode == 2
    assert f"{path}:" in done.stderr


def test_a_broken_workspace_hides_no_other_problem(home: Home) -> None:
    path = home.configure('workspace "default" {\n  engine = "flink"\n}\n' + BAD["format"] + BAD["table"])
    done = home.run("config", "check")
    assert (done.returncode, done.stdout) == (2, "")
    found = [told for told in done.stderr.splitlines() if told.startswith(f"{path}:")]
    assert [int(told.removeprefix(f"{path}:").split(":")[0]) for told in found] == [2, 4, 8]


def test_a_lake_that_cannot_be_reached_hides_no_problem(home: Home) -> None:
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": "store:9000"}
    away = Home(home.folder, {**home.environment, **keys})
    place = 'workspace "default" {\n  data_dir = "s3://lake/x"\n}\n'
    away.configure(place + APP)
    done = away.run("config", "check")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("endpoint_url is not an address")
    path = away.configure(place + BAD["format"])
    done = away.run("config", "check")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{path}:" in done.stderr
    assert "warning: the types of what is stored are not checked: endpoint_url" in done.stderr


def test_what_the_engine_cannot_run_hides_no_other_problem(home: Home) -> None:
    text = """workspace "default" {
  engine = "sail"
}
format "regex" "ahead" {
  layout = `^(?P<at>\\S+)(?= )`
}
partition "app_log" "ahead" {
  source "file" {
    paths  = ["logs"]
    format = format.regex.ahead
  }
}
"""
    home.configure(text + BAD["format"] + APP)
    done = home.run("config", "check")
    assert done.returncode == 2
    assert "looks ahead or behind" in done.stderr
    assert 'format type "nope"' in done.stderr


def test_partitions_that_were_asked_for_and_left_out(home: Home) -> None:
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    path = home.configure(BAD["partition"] + APP)
    asked = ("collect", "--from", "2024-01-01", "--progress=false")
    done = home.run(*asked)
    assert done.returncode == 1
    assert f'{path}:2:10: source "fil" is not installed.' in done.stderr
    assert "left out because of problems in the configuration: app_log.two" in done.stderr
    assert "stored 1" in done.stdout
    assert home.run(*asked, "app_log.one").returncode == 0
    done = home.run(*asked, "app_log.two")
    assert (done.returncode, done.stdout) == (2, "")


def test_a_partition_that_may_be_hidden_is_missed(home: Home) -> None:
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    home.configure("/* a comment without an end\n")
    (home.folder / "install/config/other.tpc").write_text(APP.replace("LOGS", str(home.logs)))
    assert home.run("collect", "--from", "2024-01-01").returncode == 1
    assert home.run("collect", "app_log.one", "--from", "2024-01-01").returncode == 0


@pytest.mark.parametrize("command", [("collect",), ("rejects", "drop", "*", "--force")])
def test_nothing_is_written_while_the_workspace_is_not_known(home: Home, command: tuple[str, ...]) -> None:
    home.configure(APP)
    (home.folder / "install/config/other.tpc").write_text('/* workspace "default" {\n')
    done = home.run(*command)
    assert done.returncode == 2
    assert 'workspace "default" may be declared in what cannot be read' in done.stderr
    assert not home.data.exists()
    assert home.run("query", "select 1").returncode == 0


PLACES = {
    '"s3:///lake"': "names no bucket",
    '"s3://bucket/a//b"': "has an empty part",
    '"gs://bucket/lake"': "is a place that tables cannot live in",
    '"ABFSS://c@a/lake"': "is a place that tables cannot live in",
    '"file:///srv/lake"': "is a URL, not a path",
    '""': "is empty",
    '"~nobody-has-this-name/lake"': "names a home folder that does not exist",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_data_folder_that_cannot_be(home: Home, place: str) -> None:
    path = home.configure(APP + f'workspace "default" {{\n  data_dir = {place}\n}}\n')
    number = path.read_text().splitlines().index(f"  data_dir = {place}") + 1
    for command in (("collect",), ("query", "select 1"), ("config", "check")):
        done = home.run(*command)
        assert (done.returncode, done.stdout) == (2, ""), command
        sentence = f'{path}:{number}:14: argument "data_dir" of workspace "default" {PLACES[place]}'
        assert done.stderr.startswith(sentence), done.stderr
        assert "hint: " in done.stderr
    assert home.run("plugin", "list").returncode == 0
    assert {entry.name for entry in home.folder.iterdir()} <= {"install", "logs"}


def test_an_install_directory_that_cannot_be(tmp_path: Path) -> None:
    home = Home(tmp_path, {"TAILPIPE_INSTALL_DIR": "s3://bucket"})
    done = home.run("query", "select 1")
    assert done.returncode == 2
    assert done.stderr.startswith('TAILPIPE_INSTALL_DIR is not a folder of this machine: "s3://bucket"')
    assert list(tmp_path.iterdir()) == []


def test_a_relative_data_folder_and_a_home_folder(home: Home) -> None:
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    for place, folder in (("here/lake", "here/lake"), ("~/lake", "lake")):
        home.configure(APP + f'workspace "default" {{\n  data_dir = "{place}"\n}}\n')
        assert home.collect()["rows"]["stored"] == 1
        assert (home.folder / folder / "app_log" / "_delta_log").is_dir()


def test_a_data_folder_that_is_a_file(home: Home) -> None:
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    (home.folder / "taken").write_text("")
    home.configure(APP + 'workspace "default" {\n  data_dir = "taken"\n}\n')
    done = home.run("collect", "--from", "2024-01-01")
    assert done.returncode == 4
    assert "taken" in done.stderr
    assert "unexpected" not in done.stderr
    assert home.run("table", "list").returncode in (0, 4)


@pytest.mark.parametrize(("value", "code"), [("1024", 0), ("0", 0), ("much", 2), ("12", 2)])
def test_memory_by_the_environment(tmp_path: Path, value: str, code: int) -> None:
    home = Home(tmp_path, {"TAILPIPE_MEMORY_MAX_MB": value})
    done = home.run("query", "select 1")
    assert done.returncode == code, done.stderr
