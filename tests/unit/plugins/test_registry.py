"""Plugins are found through real entry points: of our own, of others, broken ones, and ones that claim the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from installed import Home
from tailpipe.plugins.contract import Plugin
from tailpipe.plugins.registry import gather, load_registry
from tailpipe.tables.table import Column, Table

DOORS = """
from tailpipe.plugins.contract import Plugin
from tailpipe.tables.table import Column, Table

TABLE = Table(
    "{table}",
    (Column("at", "timestamp"), Column("door")),
    standard={{"tp_timestamp": "at"}},
    default_format=("jsonl", "default"),
)

def plugin():
    return Plugin("{name}", tables=(TABLE,))
"""


def install(folder: Path, name: str, code: str, entry: str) -> None:
    """A distribution as pip would leave it: a module, and metadata that names its entry point."""
    (folder / f"{name}.py").write_text(code)
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[tailpipe.plugins]\n{name} = {entry}\n")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path, library: Path) -> Home:
    paths = [str(library), *filter(None, [os.environ.get("PYTHONPATH")])]
    home = Home(tmp_path, {"TAILPIPE_ENGINE": "sail", "PYTHONPATH": os.pathsep.join(paths)})
    home.configure("")
    return home


def test_our_own_plugins_register_like_any_other() -> None:
    registry = load_registry()
    assert {"aws", "core", "nginx"} <= {plugin.name for plugin in registry.plugins}
    assert {"aws_cloudtrail_log", "nginx_access_log"} <= set(registry.tables)
    assert {"jsonl", "json", "csv", "delimited", "regex", "grok", "nginx_access_log"} <= set(registry.formats)
    assert "file" in registry.sources
    assert "aws" in registry.connections
    assert registry.warnings == ()


def test_a_plugin_of_someone_else_is_a_table_like_any_other(home: Home, library: Path) -> None:
    install(library, "doors", DOORS.format(table="door_log", name="doors"), "doors:plugin")
    home.configure('partition "door_log" "x" { source "file" { paths = ["LOGS"] } }')
    done = home.run("config", "check")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("code", "entry", "sentence"),
    [
        ("raise RuntimeError('no licence')", "broken:plugin", "RuntimeError: no licence"),
        ("import not_installed_anywhere", "broken:plugin", "No module named 'not_installed_anywhere'"),
        ("plugin = 17", "broken:plugin", "broken:plugin is a int, not a Plugin"),
        ("", "broken:nothing", "has no attribute 'nothing'"),
    ],
)
def test_a_broken_plugin_is_a_named_warning(
    home: Home, library: Path, code: str, entry: str, sentence: str
) -> None:
    install(library, "broken", code, entry)
    done = home.run("config", "check")
    assert done.returncode == 0
    assert f'warning: plugin "broken" ({entry}) cannot be loaded: ' in done.stderr
    assert sentence in done.stderr
    assert "hint: its tables, sources and formats are missing" in done.stderr
    assert "no problems" in done.stdout


def test_a_name_claimed_twice_names_both(home: Home, library: Path) -> None:
    for name in ("doors", "gates"):
        install(library, name, DOORS.format(table="door_log", name=name), f"{name}:plugin")
    done = home.run("config", "check")
    assert done.returncode == 0
    assert 'warning: table "door_log" is claimed by 2 plugins: doors, gates' in done.stderr
    done = home.run("table", "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert [row.split()[:3] for row in done.stdout.splitlines() if "door_log" in row] == [
        ["door_log", "plugin", "doors"],
        ["door_log", "plugin", "gates"],
    ]


def test_a_partition_says_whose_table_it_means(home: Home, library: Path) -> None:
    for name in ("doors", "gates"):
        install(library, name, DOORS.format(table="door_log", name=name), f"{name}:plugin")
    home.write("a.jsonl", "")
    source = 'source "file" { paths = ["LOGS"] }'
    path = home.configure(
        f'partition "door_log" "a" {{\n  plugin = "gates"\n  {source}\n}}\n'
        f'partition "door_log" "b" {{\n  {source}\n}}\n'
        f'partition "door_log" "c" {{\n  plugin = "gate"\n  {source}\n}}\n'
    )
    done = home.run("config", "check")
    assert done.returncode == 2
    assert done.stderr.splitlines()[:4] == [
        f'{path}:5:1: table "door_log" is claimed by two plugins: "doors" and "gates"',
        'hint: say which: plugin = "doors" or plugin = "gates"',
        f'{path}:9:12: plugin "gate" has no table "door_log"',
        'hint: did you mean "gates"?',
    ]
    done = home.run("collect", "--dry-run")
    assert done.returncode == 1
    assert "door_log.a  window" in done.stdout
    assert "left out because of problems in the configuration: door_log.b, door_log.c" in done.stderr


def test_all_claims_are_told_at_once() -> None:
    at = (Column("at", "timestamp"),)
    tables = tuple(Table(name, at, standard={"tp_timestamp": "at"}) for name in ("a", "b"))
    registry = gather([Plugin("one", tables=tables), Plugin("two", tables=tables)])
    assert [problem.message for problem in registry.claims] == [
        f'table "{name}" is claimed by 2 plugins: one, two' for name in ("a", "b")
    ]
    assert registry.table("a") is None
    assert registry.table("a", "two") is tables[0]


def test_of_two_plugins_with_one_name_the_second_is_left_out() -> None:
    first, second = Plugin("one"), Plugin("one", tables=(Table("a", (Column("at", "timestamp"),)),))
    registry = gather([first, second])
    assert registry.plugins == (first,)
    assert 'two packages have a plugin called "one"' in str(registry.warnings[0])


BAD = """
from tailpipe.plugins.contract import Plugin
from tailpipe.tables.table import Column, Table

AT = Column("at", "timestamp")
STANDARD = {"tp_timestamp": "at"}
TABLES = (
    Table("good", (AT,), standard=STANDARD, default_format=("jsonl", "default")),
    Table("types", (AT, Column("n", "intt"), Column("s", "struct(a nope)")), standard=STANDARD),
    Table("preset", (AT,), standard=STANDARD, default_format=("jsonl", "fancy")),
    Table("timeless", (AT,)),
    Table("named", (AT, Column("At"), Column("tp_index"), Column("tp_mine")), standard={"at": "at", **STANDARD}),
    Table("GOOD", (AT,), standard=STANDARD),
    Table("a/b", (AT,), standard=STANDARD),
    Table("broken", (AT, 17), standard=STANDARD),
    "no table",
)

def plugin():
    return Plugin("bad", tables=TABLES, sources=("no source",))
"""
SENTENCES = (
    'table "types" cannot be used: column "n": type "intt": "intt" is not a known type',
    'table "types" cannot be used: column "s": type "struct(a nope)": "nope" is not a known type',
    'table "preset" cannot be used: its default format jsonl.fancy does not exist',
    'table "timeless" cannot be used: nothing fills tp_timestamp',
    'table "named" cannot be used: column "at" is there twice',
    'table "named" cannot be used: column "tp_index": it is filled by collection itself',
    'table "named" cannot be used: column "tp_mine": it is not a common column',
    'table "named" cannot be used: `standard` fills "at", which is not a common column',
    'table "GOOD" cannot be used: it differs from table "good" in letter case only',
    'table "a/b" cannot be used: its name is not one of letters',
    'table "broken" cannot be used: its definition cannot be read: AttributeError',
    "one of its tables is a str, not a Table",
    "one of its sources is a str, not a SourceType",
)


def test_a_bad_table_of_a_plugin_costs_itself_and_is_told_with_its_plugin_and_column(
    home: Home, library: Path
) -> None:
    install(library, "bad", BAD, "bad:plugin")
    partition = 'partition "{}" "x" {{ source "file" {{ paths = ["LOGS"] }} }}\n'
    home.configure(partition.format("good"))
    check = home.run("config", "check")
    assert check.returncode == 0, check.stderr
    for sentence in SENTENCES:
        assert f'warning: plugin "bad": {sentence}' in check.stderr
    home.configure(partition.format("good") + partition.format("types") + partition.format("preset"))
    used = home.run("config", "check")
    assert used.returncode == 2
    told = [text for text in used.stderr.splitlines() if not text.startswith(("warning", "hint"))]
    assert [text.split(" cannot")[0] for text in told] == [
        'plugin "bad": table "preset"',
        'plugin "bad": table "types"',
        'plugin "bad": table "types"',
    ]
    home.write("a.jsonl", '{"at": "2024-06-01T00:00:00Z"}\n')
    done = home.run("collect", "--from", "2024-01-01", "--dry-run")
    assert done.returncode == 1
    assert "good.x  window" in done.stdout
    assert "types.x" in done.stderr
    assert home.run("query", "select 1").returncode == 0
