"""Another user of the machine, who connects to ports and says what each protocol of an engine wants to hear.

Plain sockets, in a process that was forked and then gave up its rights: Python itself may lie where others cannot read.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import struct
from collections.abc import Callable, Iterable

import psutil

from object_store import SERVER

NOBODY = 65534
WAIT_SECONDS = 3.0
SECRET = "0" * 64


def listening_ports(pid: int) -> set[int]:
    """TCP ports of a process and of all below it, but for the object store that other tests may have started."""
    found = set()
    process = psutil.Process(pid)
    for each in (process, *process.children(recursive=True)):
        try:
            if each.name() == SERVER.name:
                continue
            sockets = each.net_connections(kind="tcp")
        except psutil.Error:
            continue
        found |= {one.laddr.port for one in sockets if one.status == psutil.CONN_LISTEN}
    return found


def served(ports: Iterable[int]) -> list[str]:
    """`port protocol` of everything that did what it was told."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    request = execute_request()
    process = context.Process(target=_try_all, args=(sorted(ports), request, theirs))
    process.start()
    theirs.close()
    try:
        answer: list[str] = ours.recv()
        return answer
    finally:
        process.join()


def execute_request() -> bytes:
    """What a Spark Connect client sends to run SQL."""
    from pyspark.sql.connect import proto

    request = proto.ExecutePlanRequest(session_id="00000000-0000-0000-0000-000000000001")
    request.user_context.user_id = "stranger"
    request.plan.root.sql.query = "select * from text.`/etc/passwd`"
    return request.SerializeToString()


def _try_all(ports: list[int], request: bytes, answer: object) -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    found = [f"{port} {name}" for port in ports for name, serves in _protocols(request) if serves(port)]
    answer.send(found)  # type: ignore[attr-defined]


def _protocols(request: bytes) -> Iterable[tuple[str, Callable[[int], bool]]]:
    yield "connect", lambda port: connect_serves(port, request)
    yield "gateway", _gateway_serves
    yield "rpc", _rpc_serves
    yield "blocks", _blocks_serves
    yield "worker", _worker_serves
    yield "accumulators", lambda port: b"\x01" in _exchange(port, SECRET.encode() + struct.pack("!i", 0))


def _exchange(port: int, sent: bytes) -> bytes:
    """All that comes back until the other side is silent or leaves."""
    parts = []
    try:
        with socket.create_connection(("127.0.0.1", port), WAIT_SECONDS) as stream:
            stream.sendall(sent)
            stream.settimeout(WAIT_SECONDS)
            while part := stream.recv(65536):
                parts.append(part)
    except OSError:
        pass
    return b"".join(parts)


def connect_serves(port: int, request: bytes) -> bool:
    """Whether an HTTP/2 DATA frame comes back: every answer of a Connect server starts with one."""
    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/spark.connect.SparkConnectService/ExecutePlan",
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    block = b"".join(b"\x10" + _short(name) + _short(value) for name, value in headers.items())
    message = struct.pack("!BI", 0, len(request)) + request
    sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(4, 0, 0, b"")
    answer = _exchange(port, sent + _frame(1, 4, 1, block) + _frame(0, 1, 1, message))
    return any(kind == 0 for kind in _frame_kinds(answer))


def _short(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def _frame_kinds(answer: bytes) -> list[int]:
    kinds, offset = [], 0
    while offset + 9 <= len(answer):
        kinds.append(answer[offset + 3])
        offset += 9 + int.from_bytes(answer[offset : offset + 3], "big")
    return kinds


def _gateway_serves(port: int) -> bool:
    """py4j: `!y` is success. Asks for a class of the JVM, first without a secret, then with a wrong one."""
    question = b"r\nu\njava.lang.System\nrj\ne\n"
    answers = (_exchange(port, question), _exchange(port, f"A\n{SECRET}\n".encode() + question))
    return any(b"!y" in answer for answer in answers)


def _rpc_serves(port: int) -> bool:
    """Spark's endpoints name their own package when they cannot read a message; a login never gets that far."""
    return b"org.apache.spark.rpc" in _exchange(port, _spark_message(b"\x00" * 16))


def _blocks_serves(port: int) -> bool:
    """A request to open no blocks, which a block manager answers with a stream (message type 4)."""
    text = _counted(b"local-1") + _counted(b"driver") + struct.pack("!i", 0)
    answer = _exchange(port, _spark_message(b"\x00" + text))
    return len(answer) > 8 and answer[8] == 4


def _counted(text: bytes) -> bytes:
    return struct.pack("!i", len(text)) + text


def _spark_message(body: bytes) -> bytes:
    """Spark's frame: length, type 3 (a request), number of the request, body."""
    header = struct.pack("!bqi", 3, 1, len(body))
    return struct.pack("!q", 8 + len(header) + len(body)) + header + body


def _worker_serves(port: int) -> bool:
    """A Python worker tells its number, wants a secret, and answers `ok` if it is the right one."""
    return b"ok" in _exchange(port, struct.pack("!i", len(SECRET)) + SECRET.encode())
