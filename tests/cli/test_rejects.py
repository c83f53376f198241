"""`tailpipe rejects` as installed: looked at, tried again after a fix, dropped."""

from __future__ import annotations

import json
from typing import Any

from installed import APP, APP_TABLE, Home, line

GOOD = "2024-06-01T10:00:00Z"
STARTING = "starting Sail"
# The column of another name: what is stored as INTEGER cannot become something else.
FIXED = APP.replace('column "size" { type = "int" }', 'column "size_text" { source = "size" }')

ANY_TIME = """coalesce(try_cast("at" as timestamp), timestamp '2024-06-05')"""


def listed(home: Home, *arguments: str) -> dict[str, Any]:
    done = home.run("rejects", "list", *arguments, "--output", "json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def retried(home: Home, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = home.run("rejects", "retry", *arguments, "--output", "json")
    assert done.returncode == code, done.stderr + done.stdout
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def some_rejects(home: Home) -> None:
    """Two rows, two rejects for one kind of reason, one for another."""
    home.configure(APP)
    sizes = (1, "huge", 2, "tiny")
    home.write("app.jsonl", "".join(line(GOOD, size=size) for size in sizes) + line("never"))
    home.collect()


def test_list_counts_by_reason_and_starts_no_engine(home: Home) -> None:
    some_rejects(home)
    done = home.run("rejects", "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert "app_log.one\n" in done.stdout
    assert "total: 3 rejects" in done.stdout
    answer = listed(home, "one")
    assert answer["rejects"] == 3
    assert [
        (group["partition"], group["source"], group["reason"], group["rejects"]) for group in answer["groups"]
    ] == [
        ("app_log.one", "file", "size … is not a valid INTEGER", 2),
        ("app_log.one", "file", 'tp_timestamp "never" is not a valid TIMESTAMP', 1),
    ]
    behind_options = home.run("rejects", "list", "--output", "json", "one")
    assert json.loads(behind_options.stdout) == answer
    assert listed(home, "--to", "2024-01-01")["rejects"] == 0
    assert listed(home, "--from", "T-1H")["rejects"] == 3


def test_show_gives_the_text_and_the_place(home: Home) -> None:
    some_rejects(home)
    answer = json.loads(home.run("rejects", "show", "--output", "json").stdout)
    assert answer["total"] == 3
    assert [(reject["position"], reject["raw"]) for reject in answer["rejects"]] == [
        (2, line(GOOD, size="huge").strip()),
        (4, line(GOOD, size="tiny").strip()),
        (5, line("never").strip()),
    ]
    one = answer["rejects"][1]
    text = home.run("rejects", "show", one["id"]).stdout
    assert one["id"] in text
    assert f"{home.logs / 'app.jsonl'}:4" in text
    assert 'size "tiny" is not a valid INTEGER' in text
    assert "huge" not in text
    assert "2 of 3 rejects" in home.run("rejects", "show", "app_log", "--limit", "2").stdout


def test_show_keeps_control_characters_and_long_texts_from_the_terminal(home: Home) -> None:
    home.configure(APP)
    home.write("app.jsonl", "\x1b[31m" + "x" * 5_000 + "\n")
    home.run("collect", "--from", "2024-01-01")
    text = home.run("rejects", "show").stdout
    assert "\\x1b[31m" in text
    assert "\x1b" not in text
    assert "x" * 2_500 not in text
    assert "(5.0 kB in all)" in text


def test_usage_is_told(home: Home) -> None:
    some_rejects(home)
    wrong = {
        ("show", "0123456789abcdefghij"): "no reject has the id 0123456789abcdefghij",
        ("list", "aap_log"): 'no partition matches "aap_log"',
        ("list", "--force"): "list takes no --force",
        ("show", "--limit", "0"): "--limit 0 shows nothing",
        ("drop",): "of which partitions",
        ("drop", "*"): "Drop 3 rejects of app_log.one for good?",
        ("drop", "*", "--purge"): "Drop 3 rejects of app_log.one for good and purge their files?",
        ("list", "--from", "2024-02-01", "--to", "2024-01-01"): "the window is empty",
    }
    for arguments, message in wrong.items():
        done = home.run("rejects", *arguments)
        assert done.returncode == 2, arguments
        assert message in done.stderr
        assert "hint: " in done.stderr
    assert listed(home)["rejects"] == 3


def test_without_a_lake_there_is_nothing(home: Home) -> None:
    home.configure(APP)
    for action in ("list", "show", "retry"):
        done = home.run("rejects", action)
        assert done.returncode == 0, done.stderr
        assert "There are no rejects" in done.stdout
        assert STARTING not in done.stderr


def test_drop_takes_them_out_and_the_artifact_still_adds_up(home: Home) -> None:
    some_rejects(home)
    done = home.run("rejects", "drop", "one", "--force", "--to", "2024-01-01")
    assert "There are no rejects to drop." in done.stdout
    done = home.run("rejects", "drop", "one", "--force")
    assert (done.returncode, done.stderr) == (0, "")
    assert "app_log.one: 3 rejects dropped" in done.stdout
    assert listed(home)["rejects"] == 0
    assert home.query("select count(*)::int as n from tailpipe.rejects") == [{"n": 0}]
    assert home.query("select count(*)::int as n from app_log") == [{"n": 2}]
    (artifact,) = home.query("select * from tailpipe.artifacts")
    assert artifact["rows"] == artifact["stored"] + artifact["filtered"] + artifact["outside"]
    assert home.collect()["rows"]["in"] == 0


def test_retry_after_a_fix_moves_rows_once(home: Home) -> None:
    some_rejects(home)
    ids = {row["id"] for row in home.query("select id from tailpipe.rejects where raw not like '%never%'")}
    home.configure(FIXED)
    first = home.run("rejects", "retry", "app_log.one")
    assert first.returncode == 0, first.stderr
    assert STARTING in first.stderr
    assert "rows in 3 = stored 2 + filtered 0 + rejected 1" in first.stdout
    assert "left: 1 reject" in first.stdout
    rows = home.query("select tp_id, size_text from app_log where size_text is not null")
    assert {row["size_text"] for row in rows} == {"huge", "tiny"}
    assert {row["tp_id"] for row in rows} == ids

    second = retried(home, code=1)
    assert second["rows"] == {
        "in": 1,
        "stored": 0,
        "filtered": 0,
        "rejected": 1,
        "outside_window": 0,
        "stored_before": 0,
    }
    assert home.query("select count(*)::int as n from app_log") == [{"n": 4}]
    assert home.collect()["rows"]["in"] == 0
    home.configure(FIXED.replace('{ source = "at" }', f"{{ transform = {json.dumps(ANY_TIME)} }}"))
    assert retried(home)["rows"]["stored"] == 1
    last = home.run("rejects", "retry")
    assert last.returncode == 0
    assert "There are no rejects to try again." in last.stdout
    assert STARTING not in last.stderr
    assert home.query("select count(*)::int as n from app_log") == [{"n": 5}]


def test_retry_only_tries_those_rejected_in_the_window(home: Home) -> None:
    some_rejects(home)
    home.configure(FIXED)
    outside = home.run("rejects", "retry", "--to", "2024-01-01")
    assert "There are no rejects to try again." in outside.stdout
    assert STARTING not in outside.stderr
    assert listed(home)["rejects"] == 3


def test_what_cannot_be_tried_stays_and_is_told(home: Home) -> None:
    other = 'partition "app_log" "two" { source "file" { paths = ["LOGS/two"] } }\n'
    named = 'source "file" "old" { paths = ["LOGS/one"] }\n'
    home.configure(
        APP.replace('source "file" { paths = ["LOGS"] }', "source = source.file.old") + other + named
    )
    home.write("one/app.jsonl", line(GOOD, size="huge"))
    home.write("two/app.jsonl", line(GOOD, size="huge"))
    home.run("collect", "--from", "2024-01-01")
    home.configure(FIXED)
    done = home.run("rejects", "retry")
    assert done.returncode == 1, done.stderr
    assert "not tried: 1 reject of a partition that is not configured" in done.stdout
    assert 'not tried: 1 reject of source "old", which app_log.one does not have now' in done.stdout
    assert listed(home)["rejects"] == 2


def test_rejects_of_earlier_runs_count_for_the_limit_of_a_day(home: Home) -> None:
    layout = "file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}`"
    home.configure(
        APP_TABLE
        + f'partition "app_log" "one" {{\nmax_rejects = 1\nsource "file" {{\npaths = ["LOGS"]\n{layout}\n}}\n}}\n'
    )
    day = home.write("2024-06-01.jsonl", line(GOOD) + "bad\n")
    home.collect()
    day.write_text(day.read_text() + line(GOOD) + "bad, too\n")
    done = home.run("collect", "--from", "2024-01-01")
    assert done.returncode == 1
    assert "2 of 4 records were rejected, which is more than max_rejects = 1" in done.stdout
    assert home.query("select count(*)::int as n from app_log") == [{"n": 1}]


def test_a_bad_line_is_measured_by_its_file_and_not_by_what_came_last(home: Home) -> None:
    home.configure(
        APP_TABLE
        + 'partition "app_log" "one" {\nmax_rejects = "10%"\nsource "file" { paths = ["LOGS"] }\n}\n'
    )
    log = home.write("app.jsonl", line(GOOD) * 20)
    home.collect()
    log.write_text(log.read_text() + "bad\n")
    home.run("collect", "--from", "2024-01-01")
    assert listed(home)["rejects"] == 1
