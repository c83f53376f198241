"""Plugins are found through real entry points: of our own, of others, broken ones, and ones that claim the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from installed import Home
from tailpipe.errors import ConfigError
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
    home = Home(tmp_path, {"TAILPIPE_ENGINE": "sail", "PYTHONPATH": str(library)})
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
    assert done.returncode == 2
    assert 'table "door_log" is claimed by two plugins: "doors" and "gates"' in done.stderr
    assert "hint: remove one of them" in done.stderr


def test_all_claims_are_told_at_once() -> None:
    tables = tuple(Table(name, (Column("at", "timestamp"),)) for name in ("a", "b"))
    with pytest.raises(ConfigError) as error:
        gather([Plugin("one", tables=tables), Plugin("two", tables=tables)])
    assert [problem.message for problem in error.value.problems] == [
        f'table "{name}" is claimed by two plugins: "one" and "two"' for name in ("a", "b")
    ]
