"""`tailpipe vacuum` and `--purge` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from installed import APP, Home, line


def texts(home: Home) -> str:
    """All that data and reject files on the disk hold."""
    found = [
        path for path in home.data.rglob("*.parquet") if {"_delta_log", "_manifests"}.isdisjoint(path.parts)
    ]
    return "\n".join(path.read_bytes().decode("latin-1") for path in found)


def data_files(home: Home) -> set[Path]:
    return set(home.data.rglob("tp_date=*/*.parquet"))


@pytest.fixture
def collected(home: Home) -> Home:
    home.configure(APP)
    home.write("a.log", line("2024-06-01T10:00:00Z", "first") + line("2024-06-01T11:00:00Z", size="bad"))
    home.write("b.log", line("2024-06-02T10:00:00Z", "second"))
    home.collect()
    home.collect("--overwrite")
    return home


def vacuum(home: Home, *arguments: str) -> dict[str, Any]:
    done = home.run("vacuum", "--output", "json", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_nobody_needs_goes_and_everything_works(collected: Home) -> None:
    before = data_files(collected)
    assert vacuum(collected, "--dry-run")["files"] == 0
    told = vacuum(collected, "--dry-run", "--older-than", "0")
    assert told["dry_run"]
    assert data_files(collected) == before
    asked = collected.run("vacuum", "--older-than", "0")
    assert asked.returncode == 2
    assert (
        "Vacuum app_log? They cannot be queried as of before now afterwards. There is no terminal"
        in asked.stderr
    )
    done = collected.run("vacuum", "app*", "--older-than", "0", "--force")
    assert done.returncode == 0
    assert "warning: --older-than 0d: queries" in done.stderr
    kinds = told["tables"][0]["kinds"]
    assert f"app_log: freed {kinds['data']['files']} data file" in done.stdout
    assert len(data_files(collected)) == len(before) - kinds["data"]["files"] == 2
    assert collected.run("vacuum", "--older-than", "0", "--force").stdout == "app_log: nothing to free\n"

    assert collected.query("select count(*) as n from app_log") == [{"n": 2}]
    assert collected.query("select kind, count(*) as n from tailpipe.runs group by 1 order by 1") == [
        {"kind": "collect", "n": 1},
        {"kind": "overwrite", "n": 1},
    ]
    assert "1 reject" in collected.run("rejects", "list").stdout
    for command in (
        ("partition", "show", "app_log.one"),
        ("coverage", "app_log"),
        ("history",),
        ("table", "list"),
    ):
        assert collected.run(*command).returncode == 0
    collected.write("c.log", line("2024-06-03T10:00:00Z", "third"))
    assert collected.collect()["rows"]["stored"] == 1


def test_deleted_rows_and_rejects_are_gone_from_the_disk(collected: Home) -> None:
    assert "first" in texts(collected)
    delete = ("partition", "delete", "app_log.one", "--from", "2024-06-01", "--to", "2024-06-01")
    done = collected.run(*delete, "--purge", "--force")
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert told[0].startswith("app_log.one: 1 row")
    assert "data files" in told[1]
    assert told[1].endswith(" purged")
    assert "first" not in texts(collected)
    assert collected.query("select level from app_log") == [{"level": "second"}]

    collected.collect()
    assert "bad" in texts(collected)
    drop = ("rejects", "drop", "app_log.one", "--purge", "--force", "--output", "json")
    dropped = json.loads(collected.run(*drop).stdout)
    assert dropped["rejects"] == 1
    assert dropped["purged"]["app_log.one"]["kinds"]["rejects"]["files"] == 1
    assert "bad" not in texts(collected)
    refused = collected.run("rejects", "list", "--purge")
    assert refused.returncode == 2
    assert "list takes no --purge." in refused.stderr


def test_what_cannot_be_vacuumed_costs_itself(collected: Home) -> None:
    broken = collected.data / "broken" / "_delta_log"
    broken.mkdir(parents=True)
    (broken / f"{0:020d}.json").write_text("{")
    done = collected.run("vacuum", "--older-than", "0", "--force")
    assert done.returncode == 1
    assert "broken: the Delta log cannot be read" in done.stderr
    assert "app_log: freed" in done.stdout
    unknown = collected.run("vacuum", "ap_log", "--force")
    assert unknown.returncode == 2
    assert 'there is no collected table "ap_log"' in unknown.stderr
    ancient = collected.run("vacuum", "--older-than", "99999Y", "--dry-run")
    assert ancient.returncode == 2
    assert ancient.stderr.startswith('"99999Y" is further back than the calendar goes.')
    bad = collected.run("vacuum", "--older-than", "soon")
    assert bad.returncode == 2
    assert '"soon" is not a length of time' in bad.stderr
