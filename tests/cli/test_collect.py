"""`tailpipe collect` as installed: the stories of a user, told by what it prints and how it ends."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from installed import APP, APP_TABLE, Home, line

DAYS = ("2024-06-01", "2024-06-02", "2024-06-03")
STARTING = "starting Sail"


def dated_logs(home: Home) -> None:
    for number, day in enumerate(DAYS, 1):
        home.write(f"{day}.jsonl", line(f"{day}T10:00:00Z", f"l{number}") * number)
    home.configure(
        APP_TABLE
        + """
        partition "app_log" "one" {
          source "file" {
            paths       = ["LOGS"]
            file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.jsonl`
          }
        }
        """
    )


def test_first_run_then_a_second_that_adds_nothing_and_starts_no_engine(home: Home) -> None:
    dated_logs(home)

    first = home.run("collect", "--from", "2024-06-01")
    assert first.returncode == 0
    assert STARTING in first.stderr
    assert "app_log.one 2024-06-03: 3 rows stored from 1 artifact" in first.stderr
    assert "rows in 6 = stored 6 + filtered 0 + rejected 0" in first.stdout
    assert "3 artifacts" in first.stdout
    assert "3 days" in first.stdout
    rows = "select level, count(*)::int as n from app_log group by 1 order by 1"
    answer = [{"level": f"l{n}", "n": n} for n in (1, 2, 3)]
    assert home.query(rows) == answer

    second = home.run("collect", "--from", "2024-06-01")
    assert second.returncode == 0
    assert STARTING not in second.stderr
    assert "app_log.one: nothing new" in second.stderr
    assert "3 listed, 3 known" in second.stdout
    assert "rows in 0 = stored 0 + filtered 0 + rejected 0" in second.stdout
    assert home.query(rows) == answer


def written(path: Path, seconds_ago: float) -> None:
    moment = time.time() - seconds_ago
    os.utime(path, (moment, moment))


def test_a_fresh_file_gives_its_last_record_though_its_line_has_no_end(home: Home) -> None:
    home.configure(APP)
    home.write("app.jsonl", line(f"{DAYS[0]}T00:00:00Z") + line(f"{DAYS[0]}T01:00:00Z", "last").rstrip("\n"))
    first = home.run("collect", "--from", DAYS[0])
    assert "rows in 2 = stored 2 + filtered 0 + rejected 0" in first.stdout
    assert "half written" not in first.stdout
    levels = "select level from app_log order by tp_timestamp"
    assert home.query(levels) == [{"level": "info"}, {"level": "last"}]
    home.write("app.jsonl", (home.logs / "app.jsonl").read_text() + "\n")
    assert "rows in 0 " in home.run("collect", "--from", DAYS[0]).stdout
    assert home.query(levels) == [{"level": "info"}, {"level": "last"}]


def test_half_a_line_is_told_by_every_run_until_it_is_taken_and_replaced_when_it_goes_on(home: Home) -> None:
    home.configure(APP)
    half, rest = line(f"{DAYS[0]}T01:00:00Z", "half")[:30], line(f"{DAYS[0]}T01:00:00Z", "half")[30:]
    path = home.write("app.jsonl", line(f"{DAYS[0]}T00:00:00Z") + half)
    # For both runs within ten seconds of it, however slow they start.
    written(path, -9)
    told = f"{path}: the last line has no end yet and may be half written; a later run takes it"
    first = home.run("collect", "--from", DAYS[0])
    assert "rows in 1 = stored 1 + filtered 0 + rejected 0" in first.stdout
    assert told in first.stdout
    second = home.run("collect", "--from", DAYS[0])
    assert "rows in 0 " in second.stdout
    assert told in second.stdout
    written(path, 60)
    taken = home.run("collect", "--from", DAYS[0])
    assert "rows in 1 = stored 0 + filtered 0 + rejected 1" in taken.stdout
    assert told not in taken.stdout
    path.write_text(path.read_text() + rest)
    replaced = home.run("collect", "--from", DAYS[0])
    assert "rows in 1 = stored 1 + filtered 0 + rejected 0" in replaced.stdout
    assert "1 last line went on since the last run; what was collected of it is replaced" in replaced.stdout
    assert home.query("select count(*)::int as n from tailpipe.rejects") == [{"n": 0}]
    assert home.query("select level from app_log order by tp_timestamp") == [
        {"level": "info"},
        {"level": "half"},
    ]
    counts = home.query("select rows, stored, rejected from tailpipe.artifacts")
    assert counts == [{"rows": 2, "stored": 2, "rejected": 0}]


def test_a_bad_row_is_quarantined_and_can_be_asked_for(home: Home) -> None:
    home.configure(APP)
    path = home.write("app.jsonl", line("2024-06-01T00:00:00Z") + line("2024-06-01T00:00:00Z", size="huge"))
    done = home.run("collect", "--from", "2024-06-01")
    assert done.returncode == 0
    assert "rows in 2 = stored 1 + filtered 0 + rejected 1" in done.stdout
    assert "see: tailpipe rejects show app_log.one" in done.stdout
    (reject,) = home.query("select artifact, position, reason from tailpipe.rejects")
    assert reject == {"artifact": str(path), "position": 2, "reason": 'size "huge" is not a valid INTEGER'}


def test_dry_run_shows_the_plan_and_does_nothing(home: Home) -> None:
    dated_logs(home)
    text = home.run("collect", "--dry-run", "--from", "2024-06-02")
    assert text.returncode == 0
    assert STARTING not in text.stderr
    assert "app_log.one  window 2024-06-02 00:00 to now" in text.stdout
    assert [words.split()[0] for words in text.stdout.splitlines() if words.startswith("  2024")] == [
        "2024-06-03",
        "2024-06-02",
    ]
    assert "2 units, 2 artifacts" in text.stdout

    plan = json.loads(home.run("collect", "--dry-run", "--from", "2024-06-02", "--output", "json").stdout)
    (partition,) = plan["partitions"]
    assert partition["partition"] == "app_log.one"
    assert partition["window"] == {"from": "2024-06-02T00:00:00+00:00", "to": None}
    assert [unit["unit"] for unit in partition["units"]] == ["2024-06-03", "2024-06-02"]
    assert not home.data.exists()


def test_json_summary_has_a_shape_that_scripts_can_rely_on(home: Home) -> None:
    dated_logs(home)
    home.write("2024-06-04.jsonl", "broken\n")
    home.write("notes.txt", "no log")
    done = home.run("collect", "--from", "2024-06-01", "--output", "json")
    summary = json.loads(done.stdout)
    assert set(summary) == {"engine", "seconds", "timings", "rows", "partitions"}
    assert summary["engine"] == "sail"
    assert summary["rows"] == {
        "in": 7,
        "stored": 6,
        "filtered": 0,
        "rejected": 1,
        "outside_window": 0,
        "stored_before": 0,
    }
    (partition,) = summary["partitions"]
    assert partition["partition"] == "app_log.one"
    assert partition["days"] == list(DAYS)
    assert partition["failed"] == []
    assert (partition["artifacts"], partition["files"]) == (4, 3)
    (source,) = partition["sources"]
    assert (source["listed"], source["planned"], source["skipped"]) == (5, 4, {"layout": 1})
    assert source["skip_examples"]["layout"] == str(home.logs / "notes.txt")


def test_progress_false_is_silent(home: Home) -> None:
    dated_logs(home)
    done = home.run("collect", "--from", "2024-06-01", "--progress=false")
    assert (done.returncode, done.stderr) == (0, "")
    assert "stored 6" in done.stdout


def test_partitions_are_chosen_by_table_name_and_pattern(home: Home) -> None:
    for name in ("a", "b", "c"):
        home.write(f"{name}/app.jsonl", line("2024-06-01T00:00:00Z", name))
    other = APP_TABLE.replace("app_log", "web_log")
    partitions = [("app_log", "prod", "a"), ("app_log", "dev", "b"), ("web_log", "prod", "c")]
    home.configure(
        APP_TABLE
        + other
        + "".join(
            f'partition "{table}" "{name}" {{ source "file" {{ paths = ["LOGS/{folder}"] }} }}\n'
            for table, name, folder in partitions
        )
    )

    def chosen(*patterns: str) -> list[str]:
        done = home.run("collect", "--dry-run", "--output", "json", *patterns)
        assert done.returncode == 0, done.stderr
        return [partition["partition"] for partition in json.loads(done.stdout)["partitions"]]

    everything = ["app_log.prod", "app_log.dev", "web_log.prod"]
    assert chosen() == everything
    assert chosen("app_log") == ["app_log.prod", "app_log.dev"]
    assert chosen("*.prod", "app_log.dev") == ["app_log.prod", "web_log.prod", "app_log.dev"]
    assert chosen("w*") == ["web_log.prod"]

    wrong = home.run("collect", "app_log.prd")
    assert wrong.returncode == 2
    assert (
        'no partition matches "app_log.prd". Configured: app_log.prod, app_log.dev, web_log.prod.'
        in wrong.stderr
    )
    assert "hint: did you mean app_log.prod?" in wrong.stderr


def test_window_flags(home: Home) -> None:
    dated_logs(home)
    summary = home.collect("--to", "2024-06-02")
    assert summary["partitions"][0]["days"] == ["2024-06-01", "2024-06-02"]
    for start, end, sentence in (
        ("2024-06-05", "2024-06-01", "--from 2024-06-05 is not before --to 2024-06-01"),
        ("June", None, '"June" is not a point in time'),
        ("T-5D", None, "did you mean T-5d?"),
    ):
        done = home.run("collect", "--from", start, *(["--to", end] if end else []))
        assert done.returncode == 2
        assert sentence in done.stderr
        assert "hint: " in done.stderr


def test_the_first_window_is_thirty_days_and_a_run_without_rows_says_why(home: Home) -> None:
    now = datetime.now(UTC)
    home.configure(APP)
    home.write(
        "app.jsonl",
        "".join(line((now - timedelta(days=days)).isoformat(), f"{days} days") for days in (1, 29, 31, 400)),
    )
    done = home.run("collect")
    assert "rows in 4 = stored 2 + filtered 2 + rejected 0" in done.stdout
    assert "2 rows outside the window" in done.stdout

    dated_logs(home)
    nothing = home.run("collect")
    assert nothing.returncode == 0
    assert "outside the window" in nothing.stdout
    assert "--from and --to choose another" in nothing.stdout
    assert "newest" in nothing.stdout


def test_engine_and_data_folder_from_the_workspace_block(home: Home, tmp_path: Path) -> None:
    dated_logs(home)
    config = tmp_path / "install" / "config" / "main.tpc"
    config.write_text(
        config.read_text()
        + f"""
        workspace "lab" {{
          engine   = "sail"
          cores    = 1
          data_dir = "{tmp_path}/elsewhere"
        }}
        """
    )
    plain = Home(tmp_path, {})
    summary = plain.collect("--workspace", "lab")
    assert summary["engine"] == "sail"
    assert (tmp_path / "elsewhere" / "app_log" / "_delta_log").is_dir()
    assert not plain.data.exists()
    named = Home(tmp_path, {"TAILPIPE_WORKSPACE": "lab"})
    assert named.query("select count(*)::int as n from app_log") == [{"n": 6}]

    wrong = plain.run("collect", "--workspace", "lb")
    assert wrong.returncode == 2
    assert 'workspace "lb" is not configured' in wrong.stderr
    assert 'did you mean "lab"?' in wrong.stderr
    wrong = Home(tmp_path, {"TAILPIPE_ENGINE": "flink"}).run("collect")
    assert wrong.returncode == 2
    assert 'engine "flink" is not known. Known: spark, sail.' in wrong.stderr


def test_a_failed_day_makes_exit_code_one_and_leaves_the_others(home: Home) -> None:
    dated_logs(home)
    good = (home.logs / "2024-06-02.jsonl").read_bytes()
    home.write("2024-06-02.jsonl", b"\x1f\x8b\x08\x00broken")
    done = home.run("collect", "--from", "2024-06-01")
    assert done.returncode == 1
    assert "failed: 2024-06-02: " in done.stdout
    assert "the day stays pending" in done.stdout
    assert "1 unit failed; the next run takes it up again" in done.stdout
    assert home.query("select count(*)::int as n from app_log") == [{"n": 4}]
    home.write("2024-06-02.jsonl", good)
    assert home.collect()["rows"]["stored"] == 2


def test_a_window_that_holds_no_folder_says_so(home: Home) -> None:
    home.write("2020/01/02/app.jsonl", line("2020-01-02T00:00:00Z"))
    home.configure(
        APP.replace(
            'source "file" { paths = ["LOGS"] }',
            """source "file" {
              paths       = ["LOGS"]
              file_layout = `%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.jsonl`
            }""",
        )
    )
    done = home.run("collect")
    assert done.returncode == 0
    assert "0 listed" in done.stdout
    assert "hint: the window is" in done.stdout


def test_an_end_before_the_lookback_asks_for_a_beginning(home: Home) -> None:
    home.configure(APP)
    home.write("app.jsonl", line("2024-06-01T00:00:00Z"))
    done = home.run("collect", "--to", "2024-06-30")
    assert done.returncode == 2
    assert "the window is empty: without --from it begins " in done.stderr
    assert "hint: give --from too" in done.stderr
    assert "takes it up again" not in done.stdout
    assert home.run("collect", "--from", "").returncode == 2
    home.collect()
    assert home.run("collect", "--to", "2024-01-01").returncode == 2
    assert "failed" not in home.run("coverage", "--from", "2024-06-01", "--to", "2024-06-02").stdout


def test_a_window_in_the_future_is_refused(home: Home) -> None:
    home.configure(APP)
    done = home.run("collect", "--from", "2999-01-01")
    assert done.returncode == 2
    assert "--from 2999-01-01 is in the future" in done.stderr


def test_a_log_that_goes_on_with_a_bad_line_is_no_failure(home: Home) -> None:
    """A file of which nothing could be read is one: its format does not fit."""
    home.configure(APP)
    path = home.write("app.jsonl", line("2024-06-01T10:00:00Z"))
    home.collect()
    path.write_text(path.read_text() + "bad\n")
    assert home.collect()["rows"]["rejected"] == 1
    home.write("other.jsonl", "bad\n")
    done = home.run("collect", "--from", "2024-01-01")
    assert done.returncode == 1
    assert "every record was rejected" in done.stdout
