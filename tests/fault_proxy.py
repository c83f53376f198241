"""An object store that fails when it is told to: a proxy in front of a real one.

Clients sign requests for the address that they call, so the Host header goes through as it came.
"""

from __future__ import annotations

import http.client
import re
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from object_store import ObjectStore

SERVER_SECONDS = 60
# Each connection has its own way on, so what is said of connections is not passed on.
OF_CONNECTIONS = ("connection", "keep-alive", "transfer-encoding", "content-length")


@dataclass(frozen=True)
class Request:
    """`path` is decoded, and begins with the bucket."""

    method: str
    path: str


@dataclass(frozen=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def raw(self, is_head: bool) -> bytes:
        length = [] if is_head else [("Content-Length", str(len(self.body)))]
        head = "".join(f"{name}: {value}\r\n" for name, value in [*self.headers, *length])
        status = f"HTTP/1.1 {self.status} {http.client.responses.get(self.status, '')}\r\n"
        return f"{status}{head}\r\n".encode("latin-1") + self.body


Forward = Callable[[], Answer]
# What becomes of a request: the answer, or how much of it is sent before the connection is cut.
Fault = Callable[[Forward], Answer | tuple[Answer, float] | None]


def answer(status: int) -> Fault:
    """The server does nothing, and says so."""
    code = {429: "TooManyRequests", 409: "ConditionalRequestConflict"}.get(status, "SlowDown")
    body = f"<Error><Code>{code}</Code><Message>told to fail</Message></Error>".encode()
    return lambda forward: Answer(status, (("Content-Type", "application/xml"),), body)


def cut(forward: Forward) -> None:
    """The connection ends before the server hears of the request."""


def lose_answer(forward: Forward) -> None:
    """The server does what it was asked for, and nobody hears of it."""
    forward()


def cut_answer(forward: Forward) -> tuple[Answer, float]:
    """The connection ends in the middle of the answer."""
    return forward(), 0.5


def delay(seconds: float) -> Fault:
    def fault(forward: Forward) -> Answer:
        time.sleep(seconds)
        return forward()

    return fault


def call(before: Callable[[], None] | None = None, after: Callable[[], None] | None = None) -> Fault:
    """Something else happens before the server hears of the request, or before its client hears the answer."""

    def fault(forward: Forward) -> Answer:
        if before:
            before()
        answer = forward()
        if after:
            after()
        return answer

    return fault


@dataclass(frozen=True)
class Rule:
    """Of the requests with this method whose path has the pattern, those from `first` on, `times` in all, meet it."""

    fault: Fault
    method: str = "PUT"
    pattern: str = ""
    first: int = 1
    times: float = 1

    def matches(self, request: Request) -> bool:
        return request.method == self.method and bool(re.search(self.pattern, request.path))


class FaultProxy:
    """`requests` are all that came, `faults` those that met a rule; both in the order of their coming."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._rules: list[Rule] = []
        self._matched: Counter[int] = Counter()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.requests: list[Request] = []
        self.faults: list[Request] = []

    @property
    def store(self) -> ObjectStore:
        """The same store, reached through this proxy."""
        return replace(self._store, endpoint=f"http://127.0.0.1:{self._server.server_port}")

    def set(self, *rules: Rule) -> None:
        """In place of those before; counts begin anew, and so do both lists."""
        with self._lock:
            self._rules = list(rules)
            self._matched.clear()
            self.requests.clear()
            self.faults.clear()

    def fault_for(self, request: Request) -> Fault | None:
        """Every rule counts every request that it matches; the first whose turn it is wins."""
        with self._lock:
            self.requests.append(request)
            found = None
            for number, rule in enumerate(self._rules):
                if rule.matches(request):
                    self._matched[number] += 1
                    if found is None and 0 <= self._matched[number] - rule.first < rule.times:
                        found = rule.fault
            if found:
                self.faults.append(request)
            return found

    def forward(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> Answer:
        host = urllib.parse.urlsplit(self._store.endpoint).netloc
        connection = http.client.HTTPConnection(host, timeout=SERVER_SECONDS)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in headers:
                connection.putheader(name, value)
            connection.endheaders(body)
            response = connection.getresponse()
            content = response.read()
            dropped = OF_CONNECTIONS[:-1] if method == "HEAD" else OF_CONNECTIONS
            kept = [(name, value) for name, value in response.getheaders() if name.lower() not in dropped]
            return Answer(response.status, tuple(kept), content)
        finally:
            connection.close()

    @contextmanager
    def running(self) -> Iterator[FaultProxy]:
        thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()


def _handler(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = SERVER_SECONDS
        disable_nagle_algorithm = True

        def handle_one_request(self) -> None:
            # A client that dies, or that is tired of waiting, is no error of the proxy.
            with suppress(ConnectionError, TimeoutError):
                return super().handle_one_request()
            self.close_connection = True
            return None

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Request(self.command, urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)[1:])

            def forward() -> Answer:
                return proxy.forward(self.command, self.path, self.headers.items(), body)

            fault = proxy.fault_for(request)
            self.send(fault(forward) if fault else forward())

        def send(self, answered: Answer | tuple[Answer, float] | None) -> None:
            answer, share = answered if isinstance(answered, tuple) else (answered, 1.0)
            raw = answer.raw(self.command == "HEAD") if answer else b""
            self.wfile.write(raw[: int(len(raw) * share)])
            self.close_connection = answer is None or share < 1 or self.close_connection

        def log_message(self, *_: object) -> None:
            pass

    for method in ("GET", "HEAD", "PUT", "POST", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.pass_on)
    return Handler
