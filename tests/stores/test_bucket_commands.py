"""Every command on a lake in a bucket, as installed: the same answers as on a folder, and no secret in any of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fault_proxy import FaultProxy
from installed import APP, APP_TABLE, Home, line
from object_store import ObjectStore

MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("collect", "--from", "2024-01-01"),
    ("collect", "--from", "2024-01-01", "--dry-run"),
    ("collect", "--from", "2024-01-01"),
    ("query", "select level, size, tp_date, tp_id, tp_index from app_log order by all"),
    ("query", "select id, raw, reason from tailpipe.rejects"),
    ("query", "select table_name, partition, kind, status, stored, rejected from tailpipe.runs"),
    ("query", "select location, rows, stored from tailpipe.artifacts"),
    ("query", "select count(*) from app_log", "--partition", "one", "--from", "2024-06-02"),
    ("query", "select count(*) from app_log", "--partition", "none"),
    ("query", "show all tables"),
    ("coverage", "--output", "json"),
    ("rejects", "list", "--output", "json"),
    ("rejects", "show", "app_log.one", "--output", "json"),
    ("rejects", "retry", "app_log.one", "--output", "json"),
    ("rejects", "drop", "app_log.one", "--force"),
    ("partition", "list"),
    ("partition", "show", "app_log.one", "--output", "json"),
    ("partition", "delete", "app_log.one", "--from", "2024-06-02", "--force"),
    ("query", "select level, size from app_log"),
    ("table", "list"),
    ("table", "show", "app_log"),
    ("table", "rewrite", "app_log"),
    ("history", "app_log"),
    ("config", "check"),
    ("table", "delete", "app_log", "--force"),
    ("table", "list"),
    ("query", "from app_log"),
)


def workspace(store: ObjectStore, uri: str) -> str:
    """Keys and all come from a connection; the environment says nothing."""
    return f"""
connection "aws" "store" {{
  access_key   = "{store.key}"
  secret_key   = "{store.secret}"
  endpoint_url = "{store.endpoint}"
  region       = "{store.region}"
}}
workspace "bucket" {{
  data_dir   = "{uri}"
  connection = connection.aws.store
}}
"""


@pytest.fixture
def home(tmp_path: Path, object_store: ObjectStore) -> Home:
    home = Home(tmp_path)
    home.configure(APP + workspace(object_store, f"{object_store.new_uri()}/our lake/ü"))
    rows = [line("2024-06-01T00:00:00Z"), line("2024-06-02T01:00:00Z", "warn", 2), line("no time")]
    home.write("a.jsonl", "".join(rows))
    return home


def answers(home: Home, place: str) -> list[tuple[tuple[str, ...], int, str]]:
    found = []
    for command in COMMANDS:
        done = home.run(*command, "--workspace", place)
        assert "only for tests" not in done.stdout + done.stderr
        found.append((command, done.returncode, steady(done.stdout)))
    return found


def steady(text: str) -> str:
    """Times differ from run to run."""
    text = MOMENT.sub("…", text)
    return re.sub(r'\(\d+\.\d s.*?\)|"\w*seconds": [\d.]+|"run": "\w+"', "…", text)


def test_commands_answer_as_on_a_folder(home: Home) -> None:
    folder, bucket = answers(home, "default"), answers(home, "bucket")
    assert [(command, code) for command, code, _ in bucket] == [
        (command, code) for command, code, _ in folder
    ]
    for (command, _, theirs), (_, _, ours) in zip(folder, bucket, strict=True):
        assert ours == theirs, command


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory, object_store: ObjectStore) -> Home:
    """A lake beside which lie other objects of the bucket."""
    home = Home(tmp_path_factory.mktemp("home"), {**Home(Path()).environment, "TAILPIPE_WORKSPACE": "bucket"})
    uri = f"{object_store.new_uri()}/lake"
    home.configure(APP + workspace(object_store, uri))
    home.write("a.jsonl", line("2024-06-01T00:00:00Z"))
    home.collect()
    object_store.client(uri.removesuffix("/lake")).put("beside/secret.csv", b"a\n1\n")
    (home.folder / "uri").write_text(uri)
    return home


REFUSED = {
    "from duckdb_secrets()": "function duckdb_secrets is not allowed",
    "drop secret tailpipe_lake": "DROP SECRET is not allowed",
    "create secret mine (type s3, key_id 'a', secret 'b')": "CREATE SECRET is not allowed",
    "copy (select 1) to 'LAKE/app_log/x.csv'": "COPY is not allowed",
    "from read_csv('LAKE/../beside/secret.csv')": "",
    "from read_csv('BESIDE/secret.csv')": "is not in the lake",
    "from glob('BESIDE/*')": "is not in the lake",
    "from read_text('http://127.0.0.1:1/x')": "is not in the lake",
    "set s3_endpoint = 'evil'": "setting s3_endpoint is not allowed",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_sql_may_not_do(collected: Home, sql: str) -> None:
    uri = (collected.folder / "uri").read_text()
    text = sql.replace("LAKE", uri).replace("BESIDE", uri.removesuffix("lake") + "beside")
    done = collected.run("query", f"select count(*) from app_log; {text}")
    assert done.returncode == 1
    assert REFUSED[sql] in done.stderr, done.stderr
    assert "only for tests" not in done.stderr


@pytest.mark.parametrize("tables", ["from app_log", "from range(1)"])
def test_no_other_host_hears_of_a_query(collected: Home, object_store: ObjectStore, tables: str) -> None:
    uri = (collected.folder / "uri").read_text()
    with FaultProxy(object_store).running() as other:
        host = other.store.endpoint.removeprefix("http://")
        told = f"'{uri}/' || getvariable('told') || '?s3_endpoint={host}&s3_use_ssl=false'"
        sql = f"set variable told = (select count(*) {tables}); from read_text({told})"
        assert collected.run("query", sql).returncode == 1
        assert other.requests == []


WRITES = {
    "copy (select 1) to 'LAKE/app_log/x.csv'": True,
    "copy (select 1) to 's3a://BUCKET/PREFIX/x.csv'": True,
    "copy (select 1) to 'S3://BUCKET/other/../PREFIX/x.csv'": True,
    "copy (select 1) to 's3://BUCKET//PREFIX/x.csv'": True,
    "export database 'LAKE/new'": True,
    "attach 'LAKE/new.db'": True,
    "from duckdb_secrets()": True,
    "copy (select 1) to 'OUT/x.csv'; select 1": False,
    "create secret mine (type s3, key_id 'a', secret 'b'); select 1": False,
}


@pytest.mark.parametrize("sql", WRITES)
def test_only_collection_writes_into_the_lake(collected: Home, object_store: ObjectStore, sql: str) -> None:
    uri = (collected.folder / "uri").read_text()
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    before = object_store.paths(uri)
    text = sql.replace("LAKE", uri).replace("BUCKET", bucket).replace("PREFIX", prefix)
    text = text.replace("OUT", str(collected.folder))
    done = collected.run("query", "--allow-external", f"select count(*) from app_log; {text}")
    assert (done.returncode == 1) is WRITES[sql], done.stderr
    if WRITES[sql] and "duckdb_secrets" not in sql:
        assert "is in the lake. Only collection writes there." in done.stderr
    assert object_store.paths(uri) == before


def test_rows_are_read_beside_what_lies_outside(collected: Home) -> None:
    (collected.folder / "levels.csv").write_text("level\ninfo\n")
    sql = f"select count(*) as n from app_log join read_csv('{collected.folder}/levels.csv') using (level)"
    done = collected.run("query", "--allow-external", sql, "--output", "json")
    assert json.loads(done.stdout)["rows"] == [{"n": 1}]


KEYS = ("AKIAHUNTER2", "hunter2secret", "hunter2token")


@pytest.mark.parametrize(
    "command", [("collect",), ("query", "from app_log"), ("table", "list"), ("coverage",)]
)
def test_wrong_keys_are_told_and_not_shown(
    collected: Home, object_store: ObjectStore, command: tuple[str, ...]
) -> None:
    uri = (collected.folder / "uri").read_text()
    named = dict(zip(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"), KEYS, strict=True))
    environment = {**collected.environment, **named, "AWS_ENDPOINT_URL": object_store.endpoint}
    config = collected.folder / "wrong.tpc"
    place = f'workspace "bucket" {{\n  data_dir = "{uri}"\n}}\n'
    config.write_text(APP.replace("LOGS", str(collected.logs)) + place)
    home, options = Home(collected.folder, environment), ("--config-path", str(config))
    done = home.run(*command, *options)
    assert done.returncode == 4, done.stderr
    assert f"{uri}: " in done.stderr
    assert "the object store does not know the access key\nhint: check access_key" in done.stderr
    told = Home(collected.folder, {**environment, "TAILPIPE_LOG_LEVEL": "trace"}).start(*command, *options)
    shown = "".join((*told.communicate(timeout=240), done.stdout, done.stderr))
    assert "Traceback" in shown
    assert [key for key in KEYS if key in shown] == []


def test_no_credentials_at_all(collected: Home) -> None:
    config = collected.folder / "none.tpc"
    config.write_text('workspace "bucket" {\n  data_dir = "s3://lake/x"\n}\n')
    environment = {**collected.environment, "AWS_EC2_METADATA_DISABLED": "true"}
    done = Home(collected.folder, environment).run("query", "select 1", "--config-path", str(config))
    assert done.returncode == 4
    assert done.stderr.startswith("there are no AWS credentials.\nhint: set AWS_ACCESS_KEY_ID")


def test_keys_of_a_connection_are_not_shown(collected: Home) -> None:
    done = collected.run("connection", "show", "aws.store")
    assert done.returncode == 0
    assert done.stdout.count("(secret)") == 2
    assert "only for tests" not in done.stdout


VALUES = (
    "a b",
    "ü",
    "a/b",
    "a%20b",
    "x?y#z*",
    "q'uote",
    "plus+and&",
    "..",
    "日本",
    "a\\b",
    "[x]{y}",
    '"<>|:',
)


def test_any_value_and_any_prefix_can_be_spelled(tmp_path: Path, object_store: ObjectStore) -> None:
    """Four libraries spell addresses of objects, each in its own way."""
    home = Home(tmp_path, {**Home(tmp_path).environment, "TAILPIPE_WORKSPACE": "bucket"})
    uri = object_store.new_uri() + "/o dd+&=@:,'~/ü(1)!;"
    table = APP_TABLE.replace("app_log", "ü log")
    partition = 'partition "ü log" "one" {\n tp_index = "level"\n source "file" { paths = ["LOGS"] }\n}\n'
    home.configure(table + partition + workspace(object_store, uri))
    home.write("a.jsonl", "".join(line("2024-06-01T00:00:00Z", value) for value in VALUES))
    assert home.collect()["rows"]["stored"] == len(VALUES)
    rows = home.query('select tp_index, sum(size) as n from "ü log" group by all')
    assert {row["tp_index"]: row["n"] for row in rows} == dict.fromkeys(VALUES, 1)
    assert home.run("table", "delete", "ü log", "--force").returncode == 0
    assert object_store.paths(uri) == [".tailpipe-conditional-put"]
