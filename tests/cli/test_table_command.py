"""`tailpipe table delete` and `rewrite`, and what `config check` says of types that the lake does not hold."""

from __future__ import annotations

import json

from installed import APP, APP_TABLE, Home, line

FROM = ("--from", "2024-01-01")


def test_a_type_that_cannot_just_change_is_told_and_rewritten(home: Home) -> None:
    home.configure(APP.replace('"int"', '"varchar"'))
    home.write("a.jsonl", line("2024-06-01T00:00:00Z", size="7") + line("2024-06-01T00:00:01Z", size="many"))
    home.collect()
    assert home.run("config", "check").returncode == 0
    path = home.configure(APP)
    home.write("b.jsonl", line("2024-06-02T00:00:00Z", size=3))

    check = home.run("config", "check")
    assert check.returncode == 2
    told = f'{path}:6:26: table "app_log": column "size" is stored as VARCHAR and declared as INTEGER'
    assert told in check.stderr
    assert "hint: tailpipe table rewrite app_log converts what is stored" in check.stderr
    collect = home.run("collect", *FROM)
    assert collect.returncode == 4
    assert 'column "size" is stored as VARCHAR and declared as INTEGER' in collect.stderr
    assert home.query("select size from app_log order by tp_timestamp") == [{"size": "7"}, {"size": "many"}]

    refused = home.run("table", "rewrite", "app_log")
    assert refused.returncode == 4
    assert (
        'column "size": 1 value, such as "many", cannot become INTEGER. Nothing was changed.'
        in refused.stderr
    )
    asked = home.run("table", "rewrite", "app_log", "--nulls")
    assert asked.returncode == 2
    assert "There is no terminal to ask." in asked.stderr
    done = home.run("table", "rewrite", "app_log", "--nulls", "--force")
    assert done.returncode == 0
    assert "null is stored" in done.stdout
    assert "app_log: 2 rows rewritten in 1 file" in done.stdout
    assert "nothing to rewrite" in home.run("table", "rewrite", "app_log").stdout
    assert home.run("config", "check").returncode == 0
    assert home.collect()["rows"]["stored"] == 1
    sizes = [row["size"] for row in home.query("select size from app_log order by tp_timestamp")]
    assert sizes == [7, None, 3]


def test_a_wider_type_is_told_while_files_are_rewritten(home: Home) -> None:
    home.configure(APP)
    home.write("a.jsonl", line("2024-06-01T00:00:00Z", size=1))
    home.collect()
    home.configure(APP.replace('"int"', '"double"'))
    assert home.run("config", "check").returncode == 0
    home.write("b.jsonl", line("2024-06-02T00:00:00Z", size=2.5))
    done = home.run("collect", *FROM)
    assert done.returncode == 0
    assert "rewriting app_log: size becomes DOUBLE …" in done.stderr
    assert home.query("select sum(size) as s from app_log") == [{"s": 3.5}]


def test_a_table_is_deleted_and_collected_anew(home: Home) -> None:
    home.configure(APP + APP.replace("app_log", "web_log"))
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    home.collect()
    refused = home.run("table", "delete", "app_log")
    assert refused.returncode == 2
    assert "Delete table app_log (1 partition, 1 row, " in refused.stderr
    assert home.run("table", "delete", "app_lg", "--force").returncode == 2

    done = home.run("table", "delete", "app_log", "--force", "--output", "json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["size_bytes"] > 0
    assert facts == {"table": "app_log", "partitions": 1, "rows": 1, "size_bytes": facts["size_bytes"]}
    assert sorted(path.name for path in home.data.iterdir()) == ["web_log"]
    assert home.query("select count(*)::int as n from app_log") == [{"n": 0}]
    assert home.query("select count(*)::int as n from web_log") == [{"n": 1}]
    home.configure(APP.replace('"int"', '"boolean"'))
    assert home.collect()["rows"]["stored"] == 1
    assert home.query("select size from app_log") == [{"size": True}]


def test_a_table_that_is_damaged_or_no_longer_configured_can_be_deleted(home: Home) -> None:
    home.configure(APP)
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    home.collect()
    (home.data / "app_log" / "_delta_log" / f"{1:020d}.json").write_text("{ this is no log")
    home.configure(APP_TABLE)
    listed = home.run("table", "list")
    assert listed.returncode == 0
    assert "warning: " in listed.stderr
    assert home.run("partition", "list").returncode == 0
    assert home.run("query", "select count(*) from information_schema.tables").returncode == 0
    assert home.run("config", "check").returncode == 0
    assert home.run("table", "delete", "app_log", "--force").returncode == 0
    assert list(home.data.iterdir()) == []


def test_a_damaged_table_is_named_and_hides_nothing_of_the_others(home: Home) -> None:
    home.configure(APP + APP.replace("app_log", "other_log"))
    home.write("a.jsonl", line("2024-06-01T00:00:00Z") + "no json\n")
    home.collect()
    (home.data / "app_log" / "_delta_log" / f"{1:020d}.json").write_text("{ this is no log")
    for known in ("runs", "artifacts", "rejects"):
        sql = f"select distinct table_name from tailpipe.{known}"
        answer = home.run("query", sql, "--output", "json")
        assert answer.returncode == 0, answer.stderr
        assert [row["table_name"] for row in json.loads(answer.stdout)["rows"]] == ["other_log"]
        assert 'warning: what is known of table "app_log" is left out: ' in answer.stderr


def test_what_a_killed_deletion_left_is_removed_by_the_next_collection(home: Home) -> None:
    home.configure(APP)
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    home.collect()
    (home.data / "app_log").rename(home.data / ".deleted-0123")
    assert json.loads(home.run("table", "list", "--output", "json").stdout)
    assert home.query("select count(*)::int as n from app_log") == [{"n": 0}]
    assert home.collect()["rows"]["stored"] == 1
    assert [path.name for path in home.data.iterdir()] == ["app_log"]
