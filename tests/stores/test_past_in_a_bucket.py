"""The past of tables in a bucket: the same as in a folder."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from histories import TABLE, History, truth
from installed import APP, Home, line
from object_store import ObjectStore
from tailpipe.aws_credentials import AwsAccess
from tailpipe.errors import LakeError
from tailpipe.lake.address import Lake
from tailpipe.lake.log_entries import kept_of
from tailpipe.lake.restoring import restore
from tailpipe.lake.storage import Storage
from tailpipe.lake.timeline import commits, version_at


@pytest.fixture
def history(object_store: ObjectStore) -> History:
    access = AwsAccess(
        object_store.key,
        object_store.secret,
        region=object_store.region,
        endpoint_url=object_store.endpoint,
        is_path_style=True,
    )
    return History(Lake(object_store.new_uri(), Storage(fixed=access)))


def test_versions_are_read_and_restored(history: History) -> None:
    choice = random.Random(1)
    history.collect("one", rejected=1)
    while len(history.past) < 6:
        history.move(choice)
    for commit in commits(history.address, kept_of(history.address)):
        assert version_at(history.address, commit.at) == commit.version
    for version, then in history.past.items():
        assert truth(history.address.at(version)) == then
    first = min(history.past)
    restore(history.address, first)
    found = truth(history.address, with_columns=False)
    assert len(found.rows) == len(history.past[first].rows)
    assert {name: found.states[name] for name in history.past[first].states} == history.past[first].states


def test_files_that_are_gone_are_told(history: History) -> None:
    history.collect("one")
    history.collect("one", day=1)
    restore(history.address, 1)
    files = history.address.files
    files.delete([each.path for each in files.walk("tp_partition=one") if "2024-06-02" in each.path])
    with pytest.raises(
        LakeError, match=r"cannot be restored to version 2: 1 of its files is no longer there"
    ):
        restore(history.address, 2)


def test_the_command_looks_back_and_goes_back(object_store: ObjectStore, tmp_path: Path) -> None:
    uri = object_store.new_uri()
    home = Home(tmp_path, {"TAILPIPE_ENGINE": "sail", **object_store.environment})
    home.configure(f'workspace "default" {{ data_dir = "{uri}" }}\n{APP}')
    home.write("a.log", line("2024-06-01T10:00:00Z"))
    home.collect()
    home.write("b.log", line("2024-06-02T10:00:00Z") + line("2024-06-02T11:00:00Z", size="large"))
    home.collect()
    count = f"select count(*) from {TABLE}"
    for arguments, rows in (((), "2"), (("--as-of", "2"), "1")):
        assert (
            home.run("query", count, "--output", "csv", "--header=false", *arguments).stdout.strip() == rows
        )
    assert home.run("restore", TABLE, "--as-of", "2", "--force").returncode == 0
    assert home.query("select * from tailpipe.rejects") == []
    assert home.collect()["partitions"][0]["rows"]["stored"] == 1
    client = object_store.client(uri)
    for path in object_store.paths(uri):
        if "tp_date=2024-06-02" in path or "_rejects" in path:
            client.delete(path)
    for sql in (f"select * from {TABLE}", "select * from tailpipe.rejects"):
        gone = home.run("query", sql, "--as-of", "4")
        assert gone.returncode != 0
        assert "is not there any more: it was vacuumed or purged" in gone.stderr
