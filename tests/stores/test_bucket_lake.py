"""The lake of a bucket on the driver: what is there, deletion beside commits, and stores that cannot be trusted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from traceback import format_exception

import pyarrow as pa
import pytest

from fault_proxy import Answer, FaultProxy, Forward, Rule, call
from object_store import ObjectStore
from tailpipe.aws_credentials import AwsConnection
from tailpipe.errors import ConflictError, LakeError
from tailpipe.lake.address import Lake
from tailpipe.lake.catalog import list_tables, stored_partitions
from tailpipe.lake.conditional_put import PROBE
from tailpipe.lake.folder import make_writable
from tailpipe.lake.log import TableLog
from tailpipe.lake.storage import Storage
from tailpipe.lake.table_deletion import delete_table, remove_deleted
from tailpipe.lake.transaction import Change

SCHEMA = pa.schema(
    [
        ("tp_timestamp", pa.timestamp("us")),
        ("tp_partition", pa.string()),
        ("tp_index", pa.string()),
        ("tp_date", pa.date32()),
    ]
)


def lake_at(store: ObjectStore, uri: str) -> Lake:
    return Lake(uri, Storage(AwsConnection(store.key, store.secret, endpoint_url=store.endpoint)))


@pytest.fixture
def lake(object_store: ObjectStore) -> Lake:
    return lake_at(object_store, object_store.new_uri())


@pytest.fixture
def proxied(lake: Lake, fault_proxy: FaultProxy) -> Iterator[Lake]:
    """The same lake, by way of the proxy."""
    fault_proxy.set()
    yield lake_at(fault_proxy.store, lake.uri)
    fault_proxy.set()


def commit(lake: Lake, table: str = "app_log", partition: str = "p", unit: str = "1") -> None:
    log = TableLog(lake.table(table), SCHEMA)
    state = log.version(partition)
    log.commit(Change(partition, "collect", unit, "run"), state)


def paths(lake: Lake) -> list[str]:
    return sorted(entry.path for entry in lake.files.walk())


def test_tables_and_partitions(lake: Lake) -> None:
    assert list_tables(lake) == []
    for table in ("b_log", "a_log", "ü log"):
        commit(lake, table)
    lake.files.write_new("a_log/tp_partition=x%20y/tp_index=i/f.parquet", b"")
    lake.files.write_new("no_table/tp_partition=x/f.parquet", b"")
    lake.files.write_new("half_a_table/_delta_log/_commits/x", b"")
    lake.files.write_new(".hidden/_delta_log/00000000000000000000.json", b"{}")
    lake.files.write_new("file", b"")
    assert list_tables(lake) == ["a_log", "b_log", "ü log"]
    assert stored_partitions(lake) == [("a_log", "x y")]


def test_tables_are_looked_for_side_by_side(
    lake: Lake, proxied: Lake, fault_proxy: FaultProxy, object_store: ObjectStore
) -> None:
    """Each look at a table waits until all have begun: one after another would never end."""
    names = [f"t{number}_log" for number in range(8)]
    for name in names:
        lake.files.write_new(f"{name}/_delta_log/00000000000000000000.json", b"{}")
    met = threading.Barrier(len(names), timeout=60)
    wait = call(before=lambda: met.wait() and None)
    fault_proxy.set(Rule(wait, "HEAD", r"_delta_log/0+\.json$", times=len(names)))
    assert list_tables(proxied) == names
    assert len(fault_proxy.requests) == len(names) + 1


def test_a_deleted_table_leaves_nothing(lake: Lake) -> None:
    commit(lake)
    commit(lake, "other_log")
    lake.files.write_new("app_log/tp_partition=p/data.parquet", b"")
    others = [path for path in paths(lake) if not path.startswith("app_log/")]
    delete_table(lake, "app_log")
    assert paths(lake) == others
    commit(lake)
    assert list_tables(lake) == ["app_log", "other_log"]
    assert TableLog(lake.table("app_log"), SCHEMA).state("p") is not None


def test_a_commit_that_comes_after_the_deletion_is_taken_back(
    lake: Lake, proxied: Lake, fault_proxy: FaultProxy
) -> None:
    """It was checked before and sent after: nothing of it may lie in the way of a table made later."""
    commit(lake)
    late = Rule(call(before=lambda: delete_table(lake, "app_log")), "PUT", r"_delta_log/0+2\.json$")
    fault_proxy.set(late)
    with pytest.raises(ConflictError):
        commit(proxied, unit="2")
    assert len(fault_proxy.faults) == 1
    assert [path for path in paths(lake) if "_delta_log" in path] == []
    commit(lake)
    assert lake.table("app_log").opened().version() == 1


def test_a_late_entry_whose_writer_died_is_removed_by_who_makes_the_table(lake: Lake) -> None:
    lake.files.write_new("app_log/_delta_log/00000000000000000001.json", b'{"commitInfo":{}}')
    lake.files.write_new("app_log/_delta_log/00000000000000000007.json", b'{"commitInfo":{}}')
    commit(lake)
    assert list_tables(lake) == ["app_log"]
    assert lake.table("app_log").opened().version() == 1
    assert not lake.files.entry("app_log/_delta_log/00000000000000000007.json")


def test_a_deletion_that_broke_off_is_finished(
    lake: Lake, proxied: Lake, fault_proxy: FaultProxy, object_store: ObjectStore
) -> None:
    commit(lake)
    lake.files.write_new("app_log/tp_partition=p/data.parquet", b"")
    fault_proxy.set(Rule(forbidden("AccessDenied"), "POST", first=3, times=1000))
    with pytest.raises(LakeError, match="the table is deleted, but files of it cannot be removed"):
        delete_table(proxied, "app_log")
    assert list_tables(lake) == []
    lake.files.write_new("app_log/tp_partition=p/of_the_next.parquet", b"")
    make_writable(lake)
    assert paths(lake) == [PROBE, "app_log/tp_partition=p/of_the_next.parquet"]


def test_a_deletion_that_never_began_leaves_the_table(lake: Lake) -> None:
    commit(lake)
    before = paths(lake)
    lake.files.write_new(".deleted-abc", b"app_log")
    assert remove_deleted(lake) == []
    assert paths(lake) == before


def test_a_deletion_that_is_refused_leaves_the_table(
    lake: Lake, proxied: Lake, fault_proxy: FaultProxy
) -> None:
    commit(lake)
    fault_proxy.set(Rule(forbidden("AccessDenied"), "POST", times=1))
    with pytest.raises(
        LakeError, match=r"does not let these credentials write \(AccessDenied\)\. It is as it was"
    ):
        delete_table(proxied, "app_log")
    assert list_tables(lake) == ["app_log"]


def test_a_store_is_asked_once_and_remembers(lake: Lake, proxied: Lake, fault_proxy: FaultProxy) -> None:
    make_writable(proxied)
    first = [request.method for request in fault_proxy.requests]
    fault_proxy.set()
    make_writable(proxied)
    later = [request.method for request in fault_proxy.requests]
    assert (first.count("PUT"), later.count("PUT")) == (2, 1)
    assert len(later) == 2
    assert list_tables(lake) == []


def stored(forward: Forward) -> Answer:
    """A store that looks at no condition."""
    return Answer(200, (("ETag", '"0"'),))


def forbidden(code: str, status: int = 403, more: str = "") -> Rule:
    body = (
        f"<?xml version='1.0'?><Error><Code>{code}</Code><AWSAccessKeyId>AKIA</AWSAccessKeyId>{more}</Error>"
    )
    answer = Answer(status, (("Content-Type", "application/xml"),), body.encode())
    return lambda forward: answer  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (stored, "ignores conditional puts"),
        (forbidden("NotImplemented", 501), "does not know conditional puts"),
    ],
)
def test_a_store_without_conditional_puts_is_refused(
    lake: Lake, proxied: Lake, fault_proxy: FaultProxy, fault: Rule, reason: str
) -> None:
    fault_proxy.set(Rule(fault, "PUT", times=1000))  # type: ignore[arg-type]
    with pytest.raises(LakeError, match=reason) as caught:
        make_writable(proxied)
    assert fault_proxy.store.endpoint in caught.value.message
    assert paths(lake) == []


SENTENCES = {
    ("InvalidAccessKeyId", 403): "the object store does not know the access key",
    ("SignatureDoesNotMatch", 403): "the secret key is not the one of the access key",
    ("ExpiredToken", 400): "the credentials have expired",
    ("InvalidToken", 400): "the session token is not valid",
    ("RequestTimeTooSkewed", 403): "the clock of this machine differs too much",
    ("NoSuchBucket", 404): "there is no such bucket",
    ("AccessDenied", 403): r"does not let these credentials (read|write) \(AccessDenied\)",
    ("PermanentRedirect", 301): "the bucket is in another region",
    ("AuthorizationHeaderMalformed", 400): "the bucket is in region eu-west-1",
    ("MethodNotAllowed", 405): "the object store answered 405 MethodNotAllowed",
}


@pytest.mark.parametrize("answer", SENTENCES)
def test_what_the_store_answers_is_told(
    proxied: Lake, fault_proxy: FaultProxy, answer: tuple[str, int]
) -> None:
    code, status = answer
    fault = forbidden(code, status, "<Region>eu-west-1</Region><StringToSign>AKIA</StringToSign>")
    fault_proxy.set(*(Rule(fault, method, times=1000) for method in ("GET", "HEAD", "PUT", "POST")))  # type: ignore[arg-type]
    for use in (list_tables, make_writable, lambda lake: lake.table("app_log").opened()):
        with pytest.raises(LakeError, match=SENTENCES[answer]) as caught:
            use(proxied)
        assert caught.value.hint
        assert "AKIA" not in "".join(format_exception(caught.value))
        assert proxied.uri in caught.value.message


def test_a_store_that_is_not_there(lake: Lake) -> None:
    connection = AwsConnection("a", "b", endpoint_url="http://127.0.0.1:1")
    gone = Lake(lake.uri, Storage(connection))
    with pytest.raises(
        LakeError, match=r"http://127\.0\.0\.1:1 (refused the connection|cannot be reached)"
    ) as caught:
        list_tables(gone)
    assert "endpoint_url" in (caught.value.hint or "")


def test_an_endpoint_of_the_environment_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://user:hunter2@127.0.0.1:1")
    with pytest.raises(LakeError, match="must not hold a user or a password") as told:
        list_tables(Lake("s3://lake/x", Storage()))
    assert "hunter2" not in repr(told.value)
