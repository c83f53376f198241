"""`list` and `show` of tables, partitions, sources, formats, plugins and connections, as installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import date, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tailpipe.cli.main import main

NOUNS = ("table", "partition", "source", "format", "plugin", "connection")

CONFIG = """
connection "aws" "prod" {
  access_key   = "key-that-nobody-sees"
  secret_key   = "secret-that-nobody-sees"
  endpoint_url = "http://127.0.0.1:9000"
}

format "grok" "app" {
  description = "Lines of the app."
  layout      = `%{TIMESTAMP_ISO8601:time} %{LOGLEVEL:level} %{GREEDYDATA:message}`
}

source "file" "shared" {
  paths = ["/var/log/app"]
}

table "app_log" {
  format      = format.grok.app
  description = "What the app says."

  column "time" {
    type = "timestamp"
  }

  column "place" {
    type        = "struct(city varchar, at struct(lat double, lon double)[])"
    description = "Where it was said."
  }
}

partition "app_log" "web" {
  source   = source.file.shared
  filter   = "level <> 'DEBUG'"
  lookback = "90d"
}

partition "nginx_access_log" "web" {
  source "file" {
    paths = ["/var/log/nginx"]
  }
}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation in which app_log.web has rows, and so has a table that nobody configures any more."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "config").mkdir()
    (folder / "config" / "main.tpc").write_text(CONFIG)
    for table in ("app_log", "old_log"):
        _store(folder / "data" / "default" / table)
    return folder


def _store(location: Path) -> None:
    days = (1, 1, 3)
    rows = pa.table(
        {
            "message": pa.array(["one", "two", "three"]),
            "tp_timestamp": pa.array([datetime(2024, 1, day, 12) for day in days], pa.timestamp("us")),  # noqa: DTZ001
            "tp_partition": pa.array(["web"] * 3),
            "tp_index": pa.array(["default"] * 3),
            "tp_date": pa.array([date(2024, 1, day) for day in days]),
        }
    )
    write_deltalake(str(location), rows, partition_by=["tp_partition", "tp_index", "tp_date"])


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def tailpipe(home: Path, *arguments: str) -> Done:
    """In this process: two dozen starts of the interpreter would take a minute."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("TAILPIPE_INSTALL_DIR", str(home))
        patch.chdir(home)
        code = main(arguments)
    return Done(code, out.getvalue(), err.getvalue())


def answer(home: Path, *arguments: str) -> Any:
    done = tailpipe(home, *arguments, "--output", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.mark.parametrize("noun", NOUNS)
def test_lists_are_aligned_and_agree_with_json(home: Path, noun: str) -> None:
    lines = tailpipe(home, noun, "list").out.splitlines()
    assert lines[0].startswith("name ")
    assert [line.split()[0] for line in lines[1:]] == [entry["name"] for entry in answer(home, noun, "list")]


def test_table_list_tells_origin_and_contents(home: Path) -> None:
    tables = {table["name"]: table for table in answer(home, "table", "list")}
    assert list(tables) == ["app_log", "aws_cloudtrail_log", "nginx_access_log", "old_log"]
    assert tables["app_log"]["rows"] == 3
    assert tables["app_log"]["origin"].endswith("main.tpc:17:1")
    assert tables["app_log"]["description"] == "What the app says."
    assert tables["aws_cloudtrail_log"]["origin"] == "plugin aws"
    assert tables["aws_cloudtrail_log"]["rows"] is None
    assert tables["old_log"]["origin"] == "collected earlier"


def test_table_show_spells_out_structs_and_adds_stored_columns(home: Path) -> None:
    shown = answer(home, "table", "show", "app_log")
    columns = {column["name"]: column for column in shown["columns"]}
    assert shown["partitions"] == ["web"]
    assert columns["place"]["type"] == "STRUCT"
    assert columns["place"]["description"] == "Where it was said."
    assert columns["place.at"]["type"] == "STRUCT[]"
    assert columns["place.at.lat"]["type"] == "DOUBLE"
    assert columns["message"]["type"] == "VARCHAR"
    assert columns["tp_timestamp"]["required"] is True


def test_table_show_names_the_fields_that_members_come_from(home: Path) -> None:
    columns = answer(home, "table", "show", "aws_cloudtrail_log")["columns"]
    sources = {column["name"]: column["source"] for column in columns}
    assert sources["user_identity.session_context.attributes.creation_date"] == (
        "userIdentity.sessionContext.attributes.creationDate"
    )


def test_partition_list_shows_what_is_collected(home: Path) -> None:
    partitions = {partition["name"]: partition for partition in answer(home, "partition", "list")}
    assert list(partitions) == ["app_log.web", "nginx_access_log.web", "old_log.web"]
    collected = partitions["app_log.web"]
    assert (collected["rows"], collected["days"], collected["files"]) == (3, 2, 2)
    assert (collected["first_day"], collected["last_day"]) == ("2024-01-01", "2024-01-03")
    assert partitions["nginx_access_log.web"]["rows"] is None
    assert partitions["old_log.web"]["sources"] == ["(not configured)"]


def test_partition_show_tells_what_was_asked(home: Path) -> None:
    shown = answer(home, "partition", "show", "app_log.web")
    assert shown["filter"] == "level <> 'DEBUG'"
    assert shown["lookback"] == "90d"
    (source,) = shown["sources"]
    assert (source["type"], source["arguments"]) == ("file", {"paths": ["/var/log/app"]})


def test_a_short_name_must_mean_one_thing(home: Path) -> None:
    assert tailpipe(home, "connection", "show", "prod").out.startswith("name       aws.prod\n")
    ambiguous = tailpipe(home, "partition", "show", "web")
    assert ambiguous.code == 2
    assert ambiguous.err == (
        '"web" may mean several: app_log.web, nginx_access_log.web, old_log.web.\n'
        "hint: tailpipe partition show app_log.web\n"
    )


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_never_printed(home: Path, form: str) -> None:
    done = tailpipe(home, "connection", "show", "aws.prod", "--output", form)
    assert "(secret)" in done.out
    assert "http://127.0.0.1:9000" in done.out
    assert "nobody-sees" not in done.out + done.err


def test_source_and_format_types_show_their_arguments(home: Path) -> None:
    arguments = {
        argument["name"]: argument for argument in answer(home, "source", "show", "file")["arguments"]
    }
    assert arguments["paths"]["required"] is True
    assert answer(home, "format", "show", "grok.app")["arguments"]["layout"].startswith("%{TIMESTAMP_ISO8601")
    origins = {entry["name"]: entry["origin"] for entry in answer(home, "format", "list")}
    assert origins["jsonl.default"] == "preset"


def test_plugin_show_names_what_it_brings(home: Path) -> None:
    shown = answer(home, "plugin", "show", "core")
    assert shown["sources"] == ["file"]
    assert shown["package"].startswith("tailpipe-spark ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("table", "show"), "which table is to be shown?\nhint: tailpipe table list names them\n"),
        (("table", "list", "x"), 'list takes no name, got "x".\nhint: tailpipe table show x\n'),
        (
            ("plugin", "show", "cor"),
            'there is no plugin "cor". There are: aws, core, nginx.\nhint: did you mean "core"?\n',
        ),
    ],
)
def test_wrong_usage_says_what_to_do(home: Path, arguments: tuple[str, ...], message: str) -> None:
    done = tailpipe(home, *arguments)
    assert (done.code, done.out, done.err) == (2, "", message)


@pytest.mark.parametrize("noun", [noun for noun in NOUNS if noun != "partition"])
def test_what_is_installed_can_be_listed_without_configuration(tmp_path: Path, noun: str) -> None:
    done = tailpipe(tmp_path, noun, "list")
    assert (done.code, done.err) == (0, "")


def test_partitions_need_a_configuration(tmp_path: Path) -> None:
    done = tailpipe(tmp_path, "partition", "list")
    assert done.code == 2
    assert done.err.startswith("there is no configuration. Looked for: ")


def test_options_before_the_command_may_look_like_commands(home: Path) -> None:
    done = tailpipe(home, "--config-path", "config", "--workspace", "default", "plugin", "list")
    assert done.code == 0, done.err


def test_the_installed_command_starts_no_spark(home: Path) -> None:
    environment = {**os.environ, "TAILPIPE_INSTALL_DIR": str(home), "PYTHONVERBOSE": "1"}
    command = [str(Path(sys.executable).with_name("tailpipe")), "partition", "list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert "app_log.web" in done.stdout
    assert "import 'tailpipe.lake.sizes'" in done.stderr
    assert "import 'pyspark'" not in done.stderr
    assert "import 'pysail'" not in done.stderr
