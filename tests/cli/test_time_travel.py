"""The past as a user asks for it: history, --as-of and restore of the installed command."""

from __future__ import annotations

import json
from typing import Any

from installed import APP, Home, line


def commits(home: Home, *arguments: str) -> list[dict[str, Any]]:
    done = home.run("history", "--output", "json", *arguments)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["commits"]
    return found


def counted(home: Home, *arguments: str) -> int:
    done = home.run("query", "select count(*) as n from app_log", "--output", "json", *arguments)
    assert done.returncode == 0, done.stderr
    count: int = json.loads(done.stdout)["rows"][0]["n"]
    return count


def test_the_past_is_listed_and_asked_for(home: Home) -> None:
    home.configure(APP)
    home.write("a.log", line("2024-06-01T10:00:00Z") + line("2024-06-02T10:00:00Z", "warn"))
    home.collect()
    first = commits(home)[0]
    home.write("b.log", line("2024-06-03T10:00:00Z"))
    home.collect()
    home.run("partition", "delete", "app_log.one", "--from", "2024-06-01", "--to", "2024-06-01", "--force")

    found = commits(home, "app_log.one")
    assert found[-1]["kind"] == "create table"
    assert (found[0]["kind"], found[0]["partition"], found[0]["rows_removed"]) == ("delete", "one", 1)
    assert [each["version"] for each in found] == list(range(len(found) - 1, -1, -1))
    listed = home.run("history", "app_log", "--limit", "1").stdout.splitlines()
    assert listed[0].split()[:4] == ["version", "time", "what", "partition"]
    assert len(listed) == 2
    assert "partition delete" in listed[1]

    assert counted(home) == 2
    assert counted(home, "--as-of", found[1]["at"]) == 3
    assert counted(home, "--as-of", first["at"]) == 2
    assert counted(home, "--as-of", str(first["version"]), "--from", "2024-06-02") == 1
    assert counted(home, "--as-of", first["at"], "--partition", "two") == 0
    for window in (("--from", "2024-06-03"), ("--to", "2024-06-02")):
        read = home.run("query", "explain analyze select count(*) from app_log", "--output", "line", *window)
        assert "Scanning Files: 1/2" in read.stdout


def test_what_cannot_be_asked_is_told(home: Home) -> None:
    home.configure(APP)
    home.write("a.log", line("2024-06-01T10:00:00Z"))
    home.collect()
    for as_of, code, told in (
        ("2199-01-01", 2, "--as-of 2199-01-01 is in the future."),
        ("99", 2, "app_log has no version 99: its newest is"),
        ("yesterday", 2, '"yesterday" is not a point in time.'),
        ("-1", 2, "A version is a whole number, such as 12."),
        ("2020-01-01", 0, "warning: app_log did not exist at 2020-01-01 00:00:00 UTC, so it is empty"),
    ):
        done = home.run("query", "select * from app_log", "--as-of", as_of)
        assert (done.returncode, told in done.stderr) == (code, True), done.stderr
    unknown = home.run("history", "ap_log")
    assert unknown.returncode == 2
    assert 'did you mean "app_log"?' in unknown.stderr
    never = 'warning: no commit of app_log is of a partition "on".\n'
    assert home.run("history", "app_log.on").stderr == never
    assert home.run("history", "app_log.on*").stderr == ""
    assert commits(home, "a*g.on*") == commits(home, "app_log.on*")


def rows(home: Home) -> list[dict[str, Any]]:
    return home.query("select tp_timestamp, level, size, tp_id from app_log order by all")


def restored(home: Home, *arguments: str) -> dict[str, Any]:
    done = home.run("restore", "app_log", "--output", "json", *arguments)
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def test_what_is_no_longer_there_is_collected_again_and_nothing_twice(home: Home) -> None:
    """A file that grew, a new file and a reject: all are as of then, and then as of now."""
    home.configure(APP)
    growing = home.write("a.log", line("2024-06-01T10:00:00Z") + line("2024-06-02T10:00:00Z"))
    home.collect()
    first, then = commits(home)[0]["version"], rows(home)
    home.write("a.log", growing.read_text() + line("2024-06-02T11:00:00Z", "warn"))
    home.write("b.log", line("2024-06-03T10:00:00Z") + line("2024-06-03T11:00:00Z", size="large"))
    home.collect()
    last, now = commits(home)[0]["version"], rows(home)
    rejects = "select id from tailpipe.rejects order by all"
    rejected = home.query(rejects)
    assert (len(then), len(now), len(rejected)) == (2, 4, 1)

    planned = restored(home, "--as-of", str(first), "--dry-run")
    assert (planned["rows_now"], planned["rows_then"], planned["after"]) == (4, 2, None)
    assert (rows(home), commits(home)[0]["version"]) == (now, last)
    unasked = home.run("restore", "app_log", "--as-of", str(first))
    assert unasked.returncode == 2
    assert "--force goes ahead without asking" in unasked.stderr

    assert restored(home, "--as-of", str(first), "--force")["after"] == last + 1
    assert rows(home) == then
    assert home.query(rejects) == []
    assert home.query("select kind from tailpipe.runs where kind = 'restore'") == [{"kind": "restore"}]
    home.collect()
    assert rows(home) == now
    assert home.query(rejects) == rejected
    assert home.collect()["partitions"][0]["rows"]["stored"] == 0
    assert rows(home) == now

    undone = home.run("restore", "app_log", "--as-of", str(first), "--force")
    assert f"tailpipe restore app_log --as-of {commits(home)[0]['version'] - 1} undoes this" in undone.stderr
    assert rows(home) == then
    restored(home, "--as-of", str(last), "--force")
    assert rows(home) == now
    assert home.collect()["partitions"][0]["rows"]["stored"] == 0


def test_what_cannot_be_restored_is_told(home: Home) -> None:
    home.configure(APP)
    home.write("a.log", line("2024-06-01T10:00:00Z"))
    home.collect()
    for as_of, code, told in (
        ("2020-01-01", 2, "app_log did not exist at 2020-01-01 00:00:00 UTC."),
        ("99", 2, "app_log has no version 99"),
        ("2199-01-01", 2, "is in the future"),
    ):
        done = home.run("restore", "app_log", "--as-of", as_of, "--force")
        assert (done.returncode, told in done.stderr) == (code, True), done.stderr
    newest = str(commits(home)[0]["version"])
    same = home.run("restore", "app_log", "--as-of", newest, "--force")
    assert "app_log: nothing to restore" in same.stdout
