"""Files that stay on the disk are named, and the exit code says so."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from lake_history import Table
from tailpipe.cli.main import main
from tailpipe.lake.address import Lake
from tailpipe.lake.files import FolderFiles
from tailpipe.lake.removal import live_files


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """With a data file, and a file of rejects, that cannot be removed."""
    monkeypatch.setenv("TAILPIPE_INSTALL_DIR", str(tmp_path))
    table = Table(Lake(str(tmp_path / "data" / "default")))
    table.collect(rejects=1)
    table.collect()
    table.compact()
    table.collect("p", 1)
    real, bad = FolderFiles.delete, _replaced(table)

    def refusing(self: FolderFiles, paths: Iterable[str]) -> None:
        for path in paths:
            if path == bad or path.startswith("_rejects"):
                raise PermissionError(path)
            real(self, [path])

    monkeypatch.setattr(FolderFiles, "delete", refusing)
    return table


def _replaced(table: Table) -> str:
    live = {file.path for file in live_files(table.delta)}
    return min(path for path in table.paths() if path.startswith("tp_partition=") and path not in live)


def test_of_a_vacuum(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    bad = _replaced(table)
    assert main(["vacuum", "--older-than", "0", "--force", "--output", "json"]) == 1
    told = capsys.readouterr()
    assert f"app_log: {bad} cannot be removed" in told.err
    (found,) = json.loads(told.out)["tables"]
    assert (found["left"], found["kinds"]["data"]["files"]) == ([bad], 1)


def test_of_a_purge(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    bad = _replaced(table)
    assert main(["rejects", "drop", "p", "--purge", "--force"]) == 1
    told = capsys.readouterr()
    assert "app_log.p: _rejects/p/" in told.err
    assert told.out.endswith("app_log.p: nothing purged\n")
    table.data_file("p", 0, ["not yet"])
    window = ("--from", "2024-06-01", "--to", "2024-06-01")
    assert main(["partition", "delete", "app_log.p", *window, "--purge", "--force"]) == 1
    told = capsys.readouterr()
    assert f"app_log.p: {bad} cannot be removed" in told.err
    assert "app_log.p: left on the disk: 1 file of the last day that no commit names" in told.err
    assert "app_log.p: 2 data files" in told.out
