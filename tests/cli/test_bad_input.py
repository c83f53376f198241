"""Whatever is wrong gets one clear message and a fitting exit code, and nothing is lost."""

from __future__ import annotations

import gzip
import os
import random

from installed import APP, APP_TABLE, Home, line

GOOD = line("2024-06-01T00:00:00Z")
FROM = ("--from", "2024-05-01")


def count(home: Home, table: str = "app_log") -> int:
    (row,) = home.query(f"select count(*)::int as n from {table}")
    return int(row["n"])


def test_no_configuration(home: Home) -> None:
    done = home.run("collect")
    assert done.returncode == 2
    assert f"there is no configuration. Looked for: {home.folder}/install/config/*.tpc" in done.stderr
    assert "hint: " in done.stderr
    assert done.stdout == ""


def test_an_empty_configuration(home: Home) -> None:
    home.configure("")
    done = home.run("collect")
    assert done.returncode == 2
    assert "the configuration has no partition, so there is nothing to collect." in done.stderr
    assert 'hint: add a block such as `partition "nginx_access_log"' in done.stderr


def test_a_configuration_folder_that_does_not_exist(home: Home) -> None:
    done = home.run("collect", "--config-path", "nowhere")
    assert done.returncode == 2
    assert "--config-path: nowhere does not exist" in done.stderr
    assert "hint: " in done.stderr


def test_a_data_folder_that_delta_would_look_for_elsewhere(home: Home) -> None:
    home.configure(APP + f'workspace "odd" {{\n data_dir = "{home.folder}/a%20b"\n}}\n')
    home.write("a.jsonl", GOOD)
    done = home.run("collect", "--workspace", "odd")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f'{home.folder}/a%20b: a folder of tables must not have "%20" in its path.')
    assert "hint: " in done.stderr


def test_every_problem_of_the_configuration_in_one_run(home: Home) -> None:
    path = home.configure(
        APP_TABLE
        + """
        partition "app_log" "a" { source "fil" { paths = ["LOGS"] } }
        partition "app_logs" "b" { source "file" { path = ["LOGS"] } }
        """
    )
    for command in (("collect",), ("config", "check")):
        done = home.run(*command)
        assert done.returncode == 2
        assert 'did you mean "file"?' in done.stderr
        assert 'did you mean "app_log"?' in done.stderr
        assert 'did you mean "paths"?' in done.stderr
        assert done.stderr.count(f"{path}:") >= 3


def test_a_missing_folder_fails_its_partition_and_not_the_others(home: Home) -> None:
    home.write("good/app.jsonl", GOOD)
    home.configure(
        APP.replace('"LOGS"', '"LOGS/gone/deeper"')
        + 'partition "app_log" "two" { source "file" { paths = ["LOGS/good"] } }'
    )
    done = home.run("collect", *FROM)
    assert done.returncode == 3
    assert f"{home.logs}/gone/deeper: there is no such file or folder" in done.stdout
    assert f"hint: {home.logs} exists; check the rest of the path" in done.stdout
    assert count(home) == 1


def test_a_file_that_is_not_a_log(home: Home) -> None:
    home.configure(APP)
    home.write("image.png", random.Random(7).randbytes(300_000))
    done = home.run("collect", *FROM)
    assert done.returncode == 1
    assert "every record was rejected" in done.stdout
    assert "hint: does the format fit the logs?" in done.stdout
    (row,) = home.query("select count(*)::int as n from tailpipe.rejects where artifact like '%image.png'")
    assert row["n"] > 100
    assert f"rows in {row['n']:,} = stored 0 + filtered 0 + rejected {row['n']:,}" in done.stdout


def test_garbage_beside_good_lines_costs_only_itself(home: Home) -> None:
    garbage = bytes(byte for byte in range(256) if byte != ord("\n"))
    home.configure(
        APP.replace('"LOGS"', '"LOGS/app"')
        + 'partition "nginx_access_log" "web" { source "file" { paths = ["LOGS/web"] } }'
    )
    home.write("app/app.jsonl", GOOD.encode() + garbage + b"\n" + GOOD.encode() + b"\x00" * 1000 + b"\n")
    request = b'10.0.0.1 - - [01/Jun/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n'
    odd = request.replace(b"GET /", b"GET /\xff\xfe")
    home.write("web/access.log", request + garbage + b"\n" + odd + b"\x00" * 1000 + b"\n")
    done = home.run("collect", *FROM)
    assert done.returncode == 0
    assert count(home) == 2
    assert home.query("select request_uri from nginx_access_log order by 1") == [
        {"request_uri": "/"},
        {"request_uri": "/\ufffd\ufffd"},
    ]
    places = "select table_name, position from tailpipe.rejects order by all"
    assert [tuple(row.values()) for row in home.query(places)] == [
        ("app_log", 2),
        ("app_log", 4),
        ("nginx_access_log", 2),
        ("nginx_access_log", 4),
    ]


def test_a_truncated_gzip_names_the_file_and_loses_nothing(home: Home) -> None:
    home.configure(APP)
    home.write("good.jsonl", GOOD)
    whole = gzip.compress(os.urandom(50_000).hex().encode())
    path = home.write("cut.jsonl.gz", whole[:20_000])
    done = home.run("collect", *FROM)
    assert done.returncode == 1
    assert f"failed: {path}: gzip stream ends" in done.stdout
    assert "Nothing of it was stored." in done.stdout
    assert count(home) == 1
    path.write_bytes(gzip.compress(GOOD.encode() * 2))
    assert home.collect()["rows"]["stored"] == 2


def test_a_line_of_fifty_megabytes(home: Home) -> None:
    home.configure(APP)
    home.write("app.jsonl", GOOD + '{"at": "' + "x" * 50_000_000 + '"}\n' + GOOD)
    done = home.run("collect", *FROM)
    assert done.returncode == 0
    assert "rows in 3 = stored 2 + filtered 0 + rejected 1" in done.stdout
    (reject,) = home.query("select position, reason, length(raw)::int as kept from tailpipe.rejects")
    assert (reject["position"], reject["kept"]) == (2, 65_536)
    assert "line is 50,000,010 bytes, the limit is 8,388,608" in reject["reason"]


def test_a_filter_with_a_column_that_does_not_exist(home: Home) -> None:
    home.write("app.jsonl", GOOD)
    path = home.configure(APP.replace('"one" {', '"one" {\n  filter = "levl = \'x\'"\n'))
    done = home.run("collect", *FROM)
    assert done.returncode == 2
    assert f"{path}:" in done.stderr
    assert 'filter of partition app_log.one: there is no column "levl".' in done.stderr
    assert 'hint: did you mean "level"?' in done.stderr
    assert not home.data.exists()


def test_sql_with_an_error(home: Home) -> None:
    home.configure(APP)
    home.write("app.jsonl", GOOD)
    home.collect()
    for sql, sentence in (
        ("select levl from app_log", "level"),
        ("selec 1", "selec"),
        ("select * from app_lg", "app_log"),
    ):
        done = home.run("query", sql)
        assert done.returncode == 1, sql
        assert sentence in done.stderr
        assert done.stdout == ""


def test_a_workspace_that_cannot_be_written(home: Home) -> None:
    home.configure(APP)
    home.write("app.jsonl", GOOD)
    home.data.parent.parent.joinpath("data").write_text("a file in place of the folder")
    done = home.run("collect", *FROM)
    assert done.returncode == 4
    assert f"{home.data}: the workspace cannot be written: Not a directory" in done.stderr
    assert "hint: set data_dir in the workspace block" in done.stderr


def test_a_table_folder_that_cannot_be_written(home: Home) -> None:
    home.configure(APP)
    home.write("app.jsonl", GOOD)
    blocked = home.data / "app_log" / "_manifests"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file in place of the folder")
    done = home.run("collect", *FROM)
    assert done.returncode == 4
    assert "commit of one undated-1 failed" in done.stderr
    assert "Nothing of it is visible." in done.stderr
    assert "hint: check that the folder can be written" in done.stderr
    assert list(home.data.glob("app_log/tp_partition=*/**/*.parquet")) == []
    blocked.unlink()
    assert home.collect()["rows"]["stored"] == 1
    assert count(home) == 1


def test_two_collects_of_one_partition_at_the_same_time(home: Home) -> None:
    home.configure(
        APP.replace(
            'source "file" { paths = ["LOGS"] }',
            """source "file" {
              paths       = ["LOGS"]
              file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.jsonl`
            }""",
        )
    )
    for day in range(1, 9):
        home.write(f"2024-06-{day:02d}.jsonl", line(f"2024-06-{day:02d}T00:00:00Z") * 100)
    both = [home.start("collect", *FROM) for _ in range(2)]
    ends = [process.communicate(timeout=240) for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    assert all("Traceback" not in errors for _, errors in ends)
    (row,) = home.query("select count(*)::int as n, count(distinct tp_id)::int as ids from app_log")
    assert row == {"n": 800, "ids": 800}
    assert home.collect()["rows"]["in"] == 0


def test_what_else_lies_in_the_data_folder_is_left_alone(home: Home) -> None:
    home.configure(APP)
    home.write("app.jsonl", GOOD)
    home.data.mkdir(parents=True)
    note = home.data / "README.txt"
    note.write_text("mine")
    home.collect()
    assert note.read_text() == "mine"
    assert count(home) == 1
