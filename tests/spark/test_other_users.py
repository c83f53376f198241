"""Other users of the machine can connect to our ports, and get nothing."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from stranger import connect_serves, execute_request, listening_ports, served
from tailpipe.engine.lone_connection import LoneConnection
from tailpipe.engine.session import Session
from tailpipe.errors import TailpipeError


def count_rows(session: Session) -> int:
    return int(
        session.spark.range(0, 10, 1, 2).mapInArrow(lambda batches: batches, "id long").toArrow().num_rows
    )


def test_nobody_else_is_served(engine: Session, capfd: pytest.CaptureFixture[str]) -> None:
    assert count_rows(engine) == 10
    ports = listening_ports(os.getpid())
    # Embedded Spark listens: a gateway, two ports of the driver, Python workers. Sail does not listen any more.
    assert bool(ports) is not engine.runs_all_tasks_at_once
    assert served(ports) == []
    assert "Traceback" not in capfd.readouterr().err
    assert count_rows(engine) == 10


@pytest.fixture
def server() -> Iterator[tuple[str, int]]:
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    yield server.listening_address
    server.stop()


def test_a_server_that_is_not_closed_serves_strangers(server: tuple[str, int]) -> None:
    """What the other tests rely on: the stranger knows how to ask."""
    assert connect_serves(server[1], execute_request())
    assert served([server[1]]) == [f"{server[1]} connect"]


def test_after_the_first_connection_others_are_refused(server: tuple[str, int]) -> None:
    connection = LoneConnection()
    connection.connect(server)
    connection.check_alone()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(server)
    connection.close()


def test_who_connected_before_is_cut_off_and_ends_the_run(server: tuple[str, int]) -> None:
    connection = LoneConnection()
    with socket.create_connection(server) as stranger:
        with pytest.raises(TailpipeError, match="another process connected"):
            connection.connect(server)
        stranger.settimeout(10)
        while stranger.recv(65536):
            pass
    connection.close()


def test_the_relay_lets_only_this_process_in(server: tuple[str, int]) -> None:
    connection = LoneConnection()
    connection.connect(server)
    relay = connection.relay()
    assert served([relay[1]]) == []
    with socket.create_connection(relay) as client:
        client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5))
        client.settimeout(10)
        assert client.recv(65536)
    connection.close()
