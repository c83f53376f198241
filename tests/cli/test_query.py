"""`tailpipe query` as installed: what it prints, where, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

COMMAND = str(Path(sys.executable).with_name("tailpipe"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation with data of a table that no configuration mentions."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "config").mkdir()
    rows = pa.table(
        {
            "message": pa.array(["one", None, "three"]),
            "tp_timestamp": pa.array([datetime(2024, 1, day, 12) for day in (1, 2, 3)], pa.timestamp("us")),  # noqa: DTZ001
            "tp_partition": pa.array(["prod", "prod", "dev"]),
            "tp_index": pa.array(["default"] * 3),
            "tp_date": pa.array([date(2024, 1, day) for day in (1, 2, 3)]),
        },
        schema=pa.schema(
            [
                pa.field("message", pa.string(), metadata={"tailpipe.type": "VARCHAR"}),
                pa.field("tp_timestamp", pa.timestamp("us"), metadata={"tailpipe.type": "TIMESTAMP"}),
                pa.field("tp_partition", pa.string(), metadata={"tailpipe.type": "VARCHAR"}),
                pa.field("tp_index", pa.string(), metadata={"tailpipe.type": "VARCHAR"}),
                pa.field("tp_date", pa.date32(), metadata={"tailpipe.type": "DATE"}),
            ]
        ),
    )
    location = folder / "data" / "default" / "app_log"
    write_deltalake(str(location), rows, partition_by=["tp_partition", "tp_index", "tp_date"])
    return folder


def query(home: Path, *arguments: str, standard_input: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TAILPIPE_INSTALL_DIR": str(home)}
    return subprocess.run(
        [COMMAND, "query", *arguments],
        env=environment,
        input=standard_input if standard_input is not None else "",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_answer_goes_to_standard_output_and_nothing_else_anywhere(home: Path) -> None:
    done = query(home, "select message from app_log order by tp_timestamp", "--output", "csv")
    assert (done.returncode, done.stdout, done.stderr) == (0, 'message\none\n""\nthree\n', "")


def test_json_has_columns_and_rows(home: Path) -> None:
    done = query(home, "select tp_timestamp, 1 as a, 2 as a from app_log order by 1 limit 1", "--output=json")
    answer = json.loads(done.stdout)
    assert [column["name"] for column in answer["columns"]] == ["tp_timestamp", "a", "a_1"]
    assert [column["original_name"] for column in answer["columns"]] == ["tp_timestamp", "a", "a"]
    assert answer["columns"][0]["data_type"] == "TIMESTAMP"
    assert answer["rows"] == [{"tp_timestamp": "2024-01-01T12:00:00Z", "a": 1, "a_1": 2}]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--from", "2024-01-02"], "2"),
        (["--to", "2024-01-02"], "2"),
        (["--to", "2024-01-02T00:00:00Z"], "1"),
        (["--from", "1/2/2024", "--to", "1/2/2024"], "1"),
        (["--partition", "prod"], "2"),
        (["--partition", "app_log.dev,app_log.none"], "1"),
        (["--partition", "*", "--index", "d*"], "3"),
        (["--index", "other"], "0"),
        (["--from", "T-1d"], "0"),
    ],
)
def test_restrictions(home: Path, options: list[str], count: str) -> None:
    done = query(home, "select count(*) from app_log", "--output", "plain", "--header=false", *options)
    assert (done.returncode, done.stdout) == (0, f"{count}\n")


def test_a_partition_that_is_nowhere_is_warned_of(home: Path) -> None:
    done = query(home, "select count(*) from app_log", "--partition", "prdo")
    assert (
        'warning: --partition "prdo" matches no partition. There are: app_log.dev, app_log.prod.'
        in done.stderr
    )


def test_sql_from_files_and_standard_input(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.sql"
    file.write_text("-- two statements\nselect 1;\nselect 2;", encoding="utf-8")
    options = ("--output", "plain", "--header=false")
    assert query(home, str(file), *options).stdout == "1\n\n2\n"
    assert query(home, *options, standard_input="select 3").stdout == "3\n"
    assert query(home, "-", *options, standard_input="select 4").stdout == "4\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["select * from app_lg"], 1, 'There is no table "app_lg".'),
        (["select * from app_lg"], 1, 'hint: did you mean "app_log"?'),
        (["select mesage from app_log"], 1, 'hint: did you mean "message"?'),
        (["select message::int from app_log"], 1, "Could not convert string"),
        (["selct 1"], 1, "LINE 1: selct 1\n        ^"),
        (["select 1", "--output", "tabel"], 2, "hint: did you mean table?"),
        (["select 1", "--from", "yesterday"], 2, '"yesterday" is not a point in time.'),
        (["select 1", "--separator", ""], 2, "Expected one character."),
        (["missing.sql"], 2, "missing.sql: there is no such file."),
        ([""], 2, "the SQL is empty."),
    ],
)
def test_what_is_wrong_is_said_with_its_exit_code(
    home: Path, arguments: list[str], code: int, message: str
) -> None:
    done = query(home, *arguments)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == code


def test_a_reader_that_stops_early_ends_it_quietly(home: Path) -> None:
    environment = {**os.environ, "TAILPIPE_INSTALL_DIR": str(home)}
    sql = "select i, repeat('x', 100) from range(100000000) t(i)"
    with subprocess.Popen(
        [COMMAND, "query", sql, "--output", "csv"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "i,\"repeat('x', 100)\"\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_interrupted_it_ends_at_once(home: Path) -> None:
    environment = {**os.environ, "TAILPIPE_INSTALL_DIR": str(home)}
    sql = "select count(*) from range(10000000000000) t(i) where i % 7 = 3"
    with subprocess.Popen(
        [COMMAND, "query", sql],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        try:
            _, complaint = process.communicate(timeout=20)
        finally:
            process.kill()
    assert "Traceback" not in complaint
    assert process.returncode == 130


def test_nothing_is_left_in_the_working_directory(home: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "TAILPIPE_INSTALL_DIR": str(home)}
    command = [COMMAND, "query", "create table t as from range(1000); select count(*) from t"]
    subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=True)
    assert list(tmp_path.iterdir()) == []


def test_a_query_cannot_write_the_lake_and_asks_before_it_writes_elsewhere(
    home: Path, tmp_path: Path
) -> None:
    stored = next((home / "data/default/app_log").glob("tp_partition=prod/*/*/*.parquet"))
    content = stored.read_bytes()
    for flags in ((), ("--allow-external",)):
        done = query(home, f"copy (select 1) to '{stored}'", *flags)
        assert done.returncode == 1
        assert "hint:" in done.stderr
        assert stored.read_bytes() == content
    out = tmp_path / "rows.csv"
    copy = f"copy (select count(*) as rows from app_log) to '{out}'"
    assert query(home, copy).returncode == 1
    assert not out.exists()
    assert query(home, copy, "--allow-external").returncode == 0
    assert out.read_text() == "rows\n3\n"
